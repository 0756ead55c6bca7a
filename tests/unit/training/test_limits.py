"""A limit in minutes beside that in steps, and signals that come while something is written."""

import os
import signal
import time
from dataclasses import replace

import pytest
import torch

from regard.config.train import Cosine, InverseSquareRoot
from regard.errors import Interrupted
from regard.training.checkpoint import Checkpoints
from regard.training.interruption import listening
from regard.training.precision import find_precision
from regard.training.schedule import learning_rate
from regard.training.state import State
from unit.training.copying import SETTINGS, Copying, Silent, make_trainer


class Clock:
    """Goes on by a second whenever somebody asks for the time."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    return clock


LONG = replace(SETTINGS, steps=1000, validate_every=250, minutes=1.0, schedule=Cosine(rate=1.0, warm_up=100))


def test_a_run_ends_when_its_minutes_are_spent_and_validates_then(tmp_path, clock):
    watcher = Silent()
    trainer = make_trainer(tmp_path, LONG, watcher=watcher)
    state = trainer.train()
    assert 10 < state.step < 60
    assert state.share >= 1
    assert watcher.validations[-1][0].step == state.step
    assert len(watcher.validations) == 4  # as often as a run of all its steps
    assert watcher.measures[-1].step == state.step
    assert watcher.measures[-1].rate == pytest.approx(0.0, abs=1e-12)  # where the cosine ends
    assert max(measure.rate for measure in watcher.measures) > 0.5


def test_a_run_that_goes_on_counts_the_minutes_it_has_spent(tmp_path, clock):
    whole = make_trainer(tmp_path / "whole", LONG).train()
    with listening() as interruption:
        job = Copying()
        loss, calls = job.loss, []

        def stopping(model, batch):
            calls.append(1)
            if len(calls) == 8:
                os.kill(os.getpid(), signal.SIGTERM)
            return loss(model, batch)

        job.loss = stopping
        with pytest.raises(Interrupted, match="Stopped after step 8"):
            make_trainer(tmp_path / "parts", LONG, job=job, interruption=interruption).train()
    state = make_trainer(tmp_path / "parts", LONG).train()
    assert abs(state.step - whole.step) <= 2
    assert make_trainer(tmp_path / "parts", LONG).train().step == state.step  # it is finished
    longer = make_trainer(tmp_path / "parts", replace(LONG, minutes=2.0)).train()
    assert longer.step > state.step + 10


def test_without_minutes_time_decides_nothing(tmp_path, clock):
    watcher = Silent()
    state = make_trainer(tmp_path, watcher=watcher).train()
    assert (state.step, state.share) == (30, 0.0)
    assert state.spent > 0
    assert [found.step for found, _ in watcher.validations] == [10, 20, 30]


def test_the_schedule_follows_whichever_limit_comes_first():
    state = State(step=10, steps=1000, minutes=1.0)
    assert state.progress() == 10
    state.share = 0.5
    assert state.progress() == 500
    state.step = 700
    assert state.progress() == 700
    schedule = InverseSquareRoot(rate=1.0, warm_up=100)
    assert learning_rate(schedule, 400.0, steps=1000) == learning_rate(schedule, 400, steps=1000) == 0.5


def test_limits_that_are_raised_reopen_a_run():
    state = State(step=10, steps=10, minutes=1.0, spent=90.0, share=1.0, validations=[{"step": 5, "loss": 1.0}])
    state.set_limits(10, 1.0)
    assert (state.share, state.earlier) == (1.0, 0)
    state.set_limits(10, 3.0)
    assert (state.share, state.earlier, state.minutes) == (0.5, 1, 3.0)
    state.set_limits(10, 0.0)
    assert state.share == 0.0


def twice():
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGINT)


def test_a_second_signal_waits_for_the_checkpoint_that_is_written(tmp_path, monkeypatch):
    save = Checkpoints._save

    def interrupted(self, checkpoint, shards):
        if checkpoint.step == 5:
            twice()
        save(self, checkpoint, shards)

    monkeypatch.setattr(Checkpoints, "_save", interrupted)
    with listening() as interruption, pytest.raises(Interrupted) as caught:
        make_trainer(tmp_path, interruption=interruption).train()
    assert str(caught.value) == "Stopped after step 5, which is saved. The same command goes on."
    assert caught.value.signal == signal.SIGINT
    assert Checkpoints(tmp_path / "checkpoints").load(5).step == 5


@pytest.mark.parametrize(
    ("step", "lost"),
    [
        (3, "what was learned so far is lost."),
        (8, "what was learned since step 5 is lost. The same command goes on from there."),
    ],
)
def test_what_a_second_signal_within_a_step_loses_is_named(tmp_path, step, lost):
    job = Copying()
    loss, calls = job.loss, []

    def interrupted(model, batch):
        calls.append(1)
        if len(calls) == step:
            twice()
        return loss(model, batch)

    job.loss = interrupted
    with listening() as interruption, pytest.raises(Interrupted) as caught:
        make_trainer(tmp_path, job=job, interruption=interruption).train()
    assert str(caught.value) == f"Stopped at once, within step {step}: {lost}"
    assert caught.value.signal == signal.SIGINT


def test_one_signal_while_a_checkpoint_is_written_stops_after_it(tmp_path, monkeypatch):
    save = Checkpoints._save

    def interrupted(self, checkpoint, shards):
        os.kill(os.getpid(), signal.SIGTERM)
        save(self, checkpoint, shards)

    monkeypatch.setattr(Checkpoints, "_save", interrupted)
    with listening() as interruption, pytest.raises(Interrupted, match="Stopped after step 6, which is saved"):
        make_trainer(tmp_path, interruption=interruption).train()


@pytest.mark.parametrize("supported", [True, False])
def test_precision_is_bf16_on_a_gpu_that_has_it_unless_chosen(monkeypatch, supported):
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: supported)
    gpu, cpu = torch.device("cuda"), torch.device("cpu")
    assert find_precision("auto", gpu) == ("bf16" if supported else "fp32")
    assert find_precision("auto", cpu) == "fp32"
    assert [find_precision(name, gpu) for name in ("fp32", "tf32", "bf16")] == ["fp32", "tf32", "bf16"]
