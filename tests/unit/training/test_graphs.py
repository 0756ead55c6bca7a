"""Captured steps: on a CPU a recording is stood in for by one that computes the step again on the same tensors."""

from dataclasses import replace

import pytest
import torch

from regard.data.batches.pairs import Batches, Examples
from regard.data.batches.ragged import Ragged
from regard.errors import TrainingError
from regard.training import graphs
from regard.training.graphs import Captured, StepGraphs, tensors_of
from regard.training.optimizer import make_optimizer, step_on_device
from regard.training.parameters import named_tensors
from unit.training.copying import SETTINGS, Copying, Silent, make_trainer


class Recordings:
    """Stands in for `graphs.capture`: a replay calls the step on the tensors that were there when it was captured."""

    def __init__(self, error=None):
        self.captured = self.replayed = 0
        self.error = error

    def __call__(self, step, batch, tensors, device, *, pool):
        if self.error is not None:
            raise self.error
        self.captured += 1
        inputs = {name: item.clone() for name, item in tensors.items()}
        here, scale, figures = batch._replace(**inputs), torch.ones(()), torch.zeros(3)

        def replay():
            self.replayed += 1
            figures.copy_(step(here, scale))

        return Captured(inputs, scale, figures, replay)


def few_shapes(job):
    """Let the job's batches have few shapes."""
    job.batches._few_shapes = True
    return job


def deferring(trainer, *, captures=True):
    """Let a trainer on the CPU do what it does on a GPU."""
    updater = trainer._updater
    updater.deferred = True
    if captures:
        updater._graphs = updater._make_graphs()
    return trainer


def train(folder, *, captures, settings=SETTINGS, job=None):
    watcher = Silent()
    trainer = make_trainer(folder, settings, job=job or few_shapes(Copying(noisy=False)), watcher=watcher)
    deferring(trainer, captures=captures).train()
    return trainer, watcher


def test_captured_steps_are_the_same_steps(tmp_path, monkeypatch):
    recordings = Recordings()
    monkeypatch.setattr(graphs, "capture", recordings)
    plain, told = train(tmp_path / "a", captures=False)
    captured, told_too = train(tmp_path / "b", captures=True)
    assert 0 < recordings.captured < 4  # a shape is computed as ever, once, before it is captured
    assert recordings.replayed + recordings.captured + 1 >= SETTINGS.steps
    for name, item in named_tensors(plain.model).items():
        assert torch.equal(item, named_tensors(captured.model)[name]), name
    assert [item.loss for item in told.measures] == [item.loss for item in told_too.measures]
    assert [item.gradient_norm for item in told.measures] == [item.gradient_norm for item in told_too.measures]


def test_a_captured_run_that_is_stopped_ends_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(graphs, "capture", Recordings())
    whole, _ = train(tmp_path / "whole", captures=True)
    train(tmp_path / "parts", captures=True, settings=replace(SETTINGS, steps=13))
    parts, _ = train(tmp_path / "parts", captures=True)
    for name, item in named_tensors(whole.model).items():
        assert torch.equal(item, named_tensors(parts.model)[name]), name


def test_figures_are_read_when_they_are_reported(tmp_path, monkeypatch):
    """Between two reports nothing asks for what a step gave."""
    trainer, _ = train(tmp_path, captures=False, settings=replace(SETTINGS, steps=1))
    updater, state = trainer._updater, trainer.state
    batches = iter(trainer.job.batches)
    asked = []
    for name in ("item", "tolist", "__bool__", "__float__", "__int__", "cpu"):
        inner = getattr(torch.Tensor, name)

        def noting(self, *args, _inner=inner, _name=name, **kwargs):
            asked.append((_name, self.is_floating_point()))
            return _inner(self, *args, **kwargs)

        monkeypatch.setattr(torch.Tensor, name, noting)
    for _ in range(3):
        updater.update([next(batches)], state)
    assert not any(floating for _, floating in asked)
    assert len(updater.finished(state)) == 3
    assert ("tolist", True) in asked
    assert updater.finished(state) == []


def test_what_cannot_be_captured_is_noted_once_and_computed_as_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(graphs, "capture", Recordings(RuntimeError("operation not permitted when stream is capturing")))
    trainer, watcher = train(tmp_path / "b", captures=True)
    assert watcher.notes == [
        "Steps are not captured as CUDA graphs from here on, and so are slower: operation not permitted when stream is "
        "capturing."
    ]
    plain, _ = train(tmp_path / "a", captures=False)
    assert torch.equal(trainer.model.hidden.weight, plain.model.hidden.weight)


def test_memory_that_is_short_is_said_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr(graphs, "capture", Recordings(torch.OutOfMemoryError("CUDA out of memory. Tried …")))
    _, watcher = train(tmp_path, captures=True)
    assert watcher.notes == ["Steps are not captured as CUDA graphs from here on, and so are slower: memory is short."]


@pytest.mark.parametrize(
    ("change", "uncaptured", "note"),
    [({"accumulate": 2}, "", "train.accumulate is 2"), ({}, "it carries a state", "it carries a state")],
)
def test_a_run_says_why_it_does_not_capture(tmp_path, change, uncaptured, note):
    job = Copying(noisy=False)
    job.uncaptured = uncaptured
    _, watcher = train(tmp_path, captures=True, settings=replace(SETTINGS, steps=2, **change), job=job)
    assert watcher.notes == [f"Steps are not captured as CUDA graphs, and so are slower: {note}."]


def spoiled(job, *, first, count):
    """Let the loss of some steps be no number."""
    inner, made = job.loss, [0]

    def loss(model, batch):
        made[0] += 1
        result = inner(model, batch)
        bad = first <= made[0] < first + count
        return result._replace(total=result.total * torch.nan) if bad else result

    job.loss = loss
    return job


def test_an_update_that_is_not_finite_is_left_out_and_noted_later(tmp_path):
    job = spoiled(few_shapes(Copying(noisy=False)), first=7, count=2)
    trainer, watcher = train(tmp_path, captures=False, settings=replace(SETTINGS, steps=12), job=job)
    assert [note.partition(" The batch")[0] for note in watcher.notes] == [
        f"Step {step}: the gradient is not finite, so the update is left out." for step in (7, 8)
    ]
    assert "-1" not in watcher.notes[0]
    assert all(item.isfinite().all() for item in trainer.model.parameters())
    steps = [item["step"].item() for item in trainer._updater.optimizer.state.values()]
    assert set(steps) == {10.0}


def test_too_many_in_a_row_end_the_run(tmp_path):
    job = spoiled(few_shapes(Copying(noisy=False)), first=3, count=100)
    with pytest.raises(TrainingError, match=r"in 10 steps in a row, to step 12, it was not"):
        train(tmp_path, captures=False, job=job)


@pytest.mark.parametrize("clip", [0.0, 0.5, 100.0])
def test_a_step_on_the_device_is_the_clipped_step(clip):
    models = [torch.nn.Linear(3, 2) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    makes = [make_optimizer(item, rate=0.1, weight_decay=0.1, betas=(0.9, 0.99)) for item in models]
    inputs = torch.randn(5, 3)
    for _ in range(3):
        for model in models:
            model.zero_grad()
            model(inputs).square().sum().backward()
        norm = torch.nn.utils.get_total_norm([item.grad for item in models[0].parameters()])
        step_on_device(makes[0], norm, clip=clip)
        if clip:
            torch.nn.utils.clip_grad_norm_(models[1].parameters(), clip)
        makes[1].step()
        torch.testing.assert_close(models[0].state_dict(), models[1].state_dict())


def test_shapes_beyond_the_limit_are_computed_as_ever(monkeypatch):
    monkeypatch.setattr(graphs, "capture", Recordings())
    monkeypatch.setattr(graphs, "MOST", 1)
    corpus = Ragged.from_lists([[5] * count for count in (3, 12, 30)])
    batches = list(Batches(Examples(source=corpus, target=corpus), tokens=32, few_shapes=True))
    steps = StepGraphs(lambda batch, scale: (scale * batch.source.size(1)).repeat(3), torch.device("cpu"), noted=print)
    for batch in batches:
        assert steps.run(batch, 1.0) is None
    assert [steps.run(batch, 1.0) is not None for batch in batches] == [True, False]
    assert steps.run(batches[0], 2.0)[0] == 2 * batches[0].source.size(1)


def test_tensors_of_named_tuples_and_dataclasses():
    from regard.data.images.batches import ImageBatch

    image = ImageBatch(torch.zeros(1, 1, 2, 2, dtype=torch.uint8), torch.zeros(1).long(), torch.zeros(1).long())
    assert list(tensors_of(image)) == ["pixels", "labels", "indices"]
    batch = next(iter(Copying().batches))
    assert list(tensors_of(batch)) == [name for name in batch._fields if name != "links"]


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_on_a_gpu_replayed_steps_are_eager_steps(tmp_path, precision):
    from regard.training.group import Group

    results = []
    for captures in (True, False):
        settings = replace(SETTINGS, steps=40, graphs=captures, precision=precision)
        job, watcher = few_shapes(Copying(noisy=False)), Silent()
        trainer = make_trainer(
            tmp_path / str(captures), settings, job=job, watcher=watcher, group=Group(device=torch.device("cuda", 0))
        )
        trainer.train()
        assert not watcher.notes
        results.append({name: item.cpu() for name, item in named_tensors(trainer.model).items()})
        if captures:
            assert trainer._updater._graphs._captured
    torch.testing.assert_close(results[0], results[1], rtol=1e-4, atol=1e-5)


@pytest.mark.gpu
def test_on_a_gpu_a_capture_that_fails_does_no_harm(tmp_path):
    """A step that asks the device cannot be captured; dropout, which draws random numbers there, goes on."""
    from regard.training.group import Group

    job, watcher = few_shapes(Copying(noisy=False)), Silent()
    inner = job.loss

    def loss(model, batch):
        result = inner(model, batch)
        result.total.item()
        return result

    job.loss = loss
    group = Group(device=torch.device("cuda", 0))
    trainer = make_trainer(tmp_path, replace(SETTINGS, steps=40), job=job, watcher=watcher, group=group)
    trainer.train()
    assert len(watcher.notes) == 1
    assert watcher.notes[0].startswith("Steps are not captured as CUDA graphs from here on, and so are slower: ")
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
