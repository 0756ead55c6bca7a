"""The loop on a small task: it learns, reports, keeps what it should, and answers what goes wrong."""

import errno
import sys
from dataclasses import replace

import pytest
import torch
from safetensors import SafetensorError

from regard.config.train import PictureTrain, TokenTrain, Train
from regard.errors import DataError, Interrupted, MissingExtraError, TrainingError
from regard.training import checkpoint as checkpoint_module
from regard.training.checkpoint import Checkpoints
from regard.training.interruption import Interruption
from regard.training.metrics import MetricsFile, read_metrics
from regard.training.parameters import load_tensors, mean_tensors, named_tensors
from regard.training.state import State
from regard.training.watch import TensorBoard, Validated, Watchers
from unit.training.copying import SETTINGS, Copier, Copying, Silent, make_trainer


def weights(trainer):
    return {name: one.clone() for name, one in named_tensors(trainer.model).items()}


def assert_same(first, second):
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


class Stop(Interruption):
    """Asks to stop in the step after the one given."""

    def __init__(self, job, batches):
        super().__init__()
        inner, count = job.loss, [0]

        def loss(model, batch):
            count[0] += 1
            if count[0] == batches:
                self.signal = 2
            return inner(model, batch)

        job.loss = loss


def test_the_task_is_learned_and_reported(tmp_path):
    watcher = Silent()
    trainer = make_trainer(tmp_path, replace(SETTINGS, steps=200, validate_every=50), watcher=watcher)
    state = trainer.train()
    assert state.step == 200
    assert watcher.starts == [(0, 200)]
    assert [one.step for one in watcher.measures] == list(range(5, 201, 5))
    assert watcher.measures[0].cross_entropy > 2 > 0.3 > watcher.measures[-1].cross_entropy
    assert watcher.validations[-1][0].loss < 0.1
    assert [one.step for one, _ in watcher.validations] == [50, 100, 150, 200]
    assert watcher.validations[0][1]
    last = watcher.measures[-1]
    assert last.tokens == state.tokens > 5000
    assert last.memory > 0
    assert last.tokens_per_second > 0
    assert last.rate == 0.01
    assert not watcher.notes


@pytest.mark.parametrize("batches", [1, 7, 13, 28])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_run_that_is_stopped_ends_the_same_bit_for_bit(tmp_path, batches, accumulate):
    settings = replace(SETTINGS, accumulate=accumulate, result="average", average=3)
    whole = make_trainer(tmp_path / "whole", settings)
    whole.train()
    job = Copying()
    stopped = make_trainer(tmp_path / "parts", settings, job=job, interruption=Stop(job, batches))
    with pytest.raises(
        Interrupted, match=r"Stopped after step \d+, which is saved. The same command goes on."
    ) as caught:
        stopped.train()
    assert caught.value.signal == 2
    torch.rand(100)  # the streams of this process have moved on
    resumed = make_trainer(tmp_path / "parts", settings)
    resumed.train()
    assert_same(weights(whole), weights(resumed))
    assert [one["loss"] for one in whole.state.validations] == [one["loss"] for one in resumed.state.validations]


def test_a_finished_run_gives_its_result_again(tmp_path):
    first = make_trainer(tmp_path)
    first.train()
    again = make_trainer(tmp_path)
    again.train()
    assert_same(weights(first), weights(again))


def test_the_newest_good_checkpoint_is_used_and_damage_is_told(tmp_path):
    whole = make_trainer(tmp_path / "a")
    whole.train()
    job = Copying()
    with pytest.raises(Interrupted):
        make_trainer(tmp_path / "b", job=job, interruption=Stop(job, 17)).train()
    checkpoints = Checkpoints(tmp_path / "b" / "checkpoints")
    newest = checkpoints.steps()[-1]
    damaged = checkpoints.folder / f"step-{newest:08d}" / "tensors.safetensors"
    content = bytearray(damaged.read_bytes())
    content[-9] ^= 1
    damaged.write_bytes(content)
    watcher = Silent()
    resumed = make_trainer(tmp_path / "b", watcher=watcher)
    resumed.train()
    assert watcher.starts == [(15, 30)]
    assert len(watcher.notes) == 1
    assert watcher.notes[0].startswith("A checkpoint is damaged, and training goes on from step 15: ")
    assert "must have the checksum written beside it; received another." in watcher.notes[0]
    assert_same(weights(whole), weights(resumed))


def test_with_no_good_checkpoint_the_run_starts_over(tmp_path):
    whole = make_trainer(tmp_path)
    whole.train()
    for path in (tmp_path / "checkpoints").glob("*/state.json"):
        path.unlink()
    watcher = Silent()
    again = make_trainer(tmp_path, watcher=watcher)
    again.train()
    assert watcher.starts == [(0, 30)]
    assert "goes on from the beginning" in watcher.notes[0]
    assert_same(weights(whole), weights(again))


def job_that_is_best_at_the_second():
    """Make a job whose second validation of several is the best."""
    job, losses = Copying(), iter([3.0, 1.0, 2.0, 1.0, 2.5, 2.0])
    job.validate = lambda model: Validated(loss=next(losses))
    return job


def test_the_best_parameters_are_the_result(tmp_path):
    settings = replace(SETTINGS, result="best", ema=0.0, steps=60, keep_checkpoints=1)
    trainer = make_trainer(tmp_path, settings, job=job_that_is_best_at_the_second())
    state = trainer.train()
    assert state.best_step("loss") == 20
    assert trainer.checkpoints.steps() == [20, 60]
    tensors = trainer.checkpoints.load(20).tensors
    assert all(torch.equal(tensors[f"model/{name}"], one) for name, one in weights(trainer).items())


def test_a_lost_best_is_told(tmp_path):
    settings = replace(SETTINGS, result="best", ema=0.0, steps=60)
    make_trainer(tmp_path, settings, job=job_that_is_best_at_the_second()).train()
    (tmp_path / "checkpoints" / "step-00000020" / "state.json").write_text("{}")
    watcher = Silent()
    make_trainer(tmp_path, settings, watcher=watcher).train()
    assert watcher.notes[0].startswith("A checkpoint is damaged, and the last parameters take its place: ")


def test_the_mean_of_checkpoints_is_the_result(tmp_path):
    settings = replace(SETTINGS, result="average", average=3, ema=0.0, checkpoint_every=10)
    trainer = make_trainer(tmp_path, settings)
    trainer.train()
    assert trainer.checkpoints.steps() == [10, 20, 30]
    saved = [trainer.checkpoints.load(step).tensors for step in (10, 20, 30)]
    mean = sum(one["model/hidden.weight"].double() for one in saved) / 3
    torch.testing.assert_close(weights(trainer)["hidden.weight"], mean.float())


def test_training_stops_when_validations_no_longer_improve(tmp_path):
    settings = replace(SETTINGS, steps=1000, patience=3)
    state = make_trainer(tmp_path, settings, job=job_that_is_best_at_the_second()).train()
    assert state.step == 50
    assert state.scores("loss") == [-3.0, -1.0, -2.0, -1.0, -2.5]


def test_a_metric_the_task_does_not_measure_is_refused(tmp_path):
    with pytest.raises(TrainingError, match=r"train.metric must be one that the task measures; received chrf."):
        make_trainer(tmp_path, replace(SETTINGS, metric="chrf")).train()


def test_divided_batches_are_one_batch(tmp_path):
    """Two halves with different numbers of tokens give the gradient of the whole."""
    found = []
    for largest in (0, 30):
        trainer = make_trainer(tmp_path, job=Copying(noisy=False), dropout=0.0)
        batch = next(iter(trainer.job.batches))
        trainer._updater.update([batch], State(largest=largest))
        found.append([one.grad.clone() for one in trainer.model.parameters()])
    torch.testing.assert_close(found[0], found[1], atol=1e-6, rtol=1e-5)


def test_out_of_memory_divides_the_batch_with_the_same_result(tmp_path):
    settings = replace(SETTINGS, steps=6, ema=0.0)
    plain = make_trainer(tmp_path / "a", settings, job=Copying(noisy=False), dropout=0.0)
    plain.train()
    job, watcher = Copying(noisy=False), Silent()
    inner = job.loss

    def loss(model, batch):
        if batch.source.numel() > 40:
            raise RuntimeError(
                "[enforce fail at alloc_cpu.cpp:119] DefaultCPUAllocator: can't allocate memory: you tried"
            )
        return inner(model, batch)

    job.loss = loss
    trainer = make_trainer(tmp_path / "b", settings, job=job, dropout=0.0, watcher=watcher)
    trainer.train()
    assert watcher.notes[0].startswith("Step 1: out of memory. Batches of more than ")
    assert 0 < trainer.state.largest <= 80
    for name, one in weights(plain).items():
        torch.testing.assert_close(one, weights(trainer)[name], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        (
            TokenTrain(batch_tokens=4096),
            r" \(train.batch_tokens = 2048 with train.accumulate = 2 makes the same steps\)",
        ),
        (PictureTrain(batch_size=64), r" \(train.batch_size = 32 with train.accumulate = 2 makes the same steps\)"),
        (Train(), ""),
    ],
)
def test_a_sentence_that_does_not_fit_ends_the_run_with_advice(tmp_path, settings, advice):
    job = Copying()

    def loss(model, batch):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    job.loss = loss
    message = (
        r"Step 1 must fit into memory; it does not: CUDA out of memory. Tried to allocate 2.00 GiB. The last "
        rf"checkpoint is kept. Take smaller batches{advice}, shorter sentences"
    )
    with pytest.raises(TrainingError, match=message):
        make_trainer(tmp_path, settings, job=job).train()


def test_other_errors_are_not_taken_for_memory(tmp_path):
    job = Copying()

    def loss(model, batch):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    job.loss = loss
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        make_trainer(tmp_path, job=job).train()


def test_an_update_that_is_not_finite_is_left_out(tmp_path):
    job, watcher, calls = Copying(), Silent(), []
    inner = job.loss

    def loss(model, batch):
        calls.append(0)
        found = inner(model, batch)
        return found._replace(total=found.total * float("nan")) if len(calls) == 3 else found

    job.loss = loss
    trainer = make_trainer(tmp_path, job=job, watcher=watcher)
    trainer.train()
    assert len(watcher.notes) == 1
    assert watcher.notes[0].startswith("Step 3: the gradient is not finite, so the update is left out. The batch holds")
    assert all(one.isfinite().all() for one in weights(trainer).values())
    assert trainer.state.skipped == 0


def test_many_updates_that_are_not_finite_end_the_run_with_good_parameters(tmp_path):
    job = Copying()
    inner = job.loss
    job.loss = lambda model, batch: inner(model, batch)._replace(total=inner(model, batch).total * float("nan"))
    trainer = make_trainer(tmp_path, job=job)
    before = weights(trainer)
    message = r"in 10 steps in a row, to step 10, it was not. .* lower rate \(train.schedule.rate = 0.0033\)"
    with pytest.raises(TrainingError, match=message):
        trainer.train()
    assert_same(before, weights(trainer))


LIMIT = "takes no file so large (a limit such as `ulimit -f`, or of the file system). Raise the limit"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "is full. Make room"),
        (SafetensorError("I/O error: No space left on device (os error 28)"), "is full. Make room"),
        (OSError(errno.EFBIG, "File too large"), LIMIT),
        (SafetensorError("I/O error: File too large (os error 27)"), LIMIT),
    ],
)
def test_a_full_disk_is_told_and_the_next_checkpoint_tried(tmp_path, monkeypatch, error, words):
    watcher, count = Silent(), [0]
    save = checkpoint_module.save_file

    def failing(tensors, path):
        count[0] += 1
        if count[0] == 2:
            path.write_bytes(b"half")
            raise error
        save(tensors, path)

    monkeypatch.setattr(checkpoint_module, "save_file", failing)
    trainer = make_trainer(tmp_path, watcher=watcher)
    trainer.train()
    assert len(watcher.notes) == 1
    assert watcher.notes[0] == (
        f"Step 10: this checkpoint is not saved, since the disk of {tmp_path}/checkpoints {words} before the end: "
        "training goes on, and tries again at the next one."
    )
    assert trainer.checkpoints.steps()[-1] == 30
    assert not list((tmp_path / "checkpoints").glob(".*"))


def test_metrics_of_steps_made_again_are_written_once(tmp_path):
    path = tmp_path / "metrics.jsonl"
    job = Copying()
    with pytest.raises(Interrupted):
        make_trainer(tmp_path, job=job, interruption=Stop(job, 12), watcher=Watchers([MetricsFile(path)])).train()
    with path.open("a") as file:
        file.write('{"event": "train", "step": 14}\n{"event": "tra')
    make_trainer(tmp_path, watcher=Watchers([MetricsFile(path)])).train()
    lines = read_metrics(path)
    assert [line["step"] for line in lines if line["event"] == "train"] == [5, 10, 15, 20, 25, 30]
    valid = [line for line in lines if line["event"] == "valid"]
    assert [line["step"] for line in valid] == [10, 20, 30]
    assert valid[0]["samples"] == [{"source": "a", "hypothesis": "b", "reference": "c", "looks": None}]


def test_metrics_wait_while_the_disk_is_full(tmp_path, monkeypatch):
    from pathlib import Path

    file = MetricsFile(tmp_path / "metrics.jsonl")
    with monkeypatch.context() as context:
        context.setattr(Path, "open", lambda *_, **__: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        file.noted("one")
    file.noted("two")
    assert [line["text"] for line in read_metrics(tmp_path / "metrics.jsonl")] == ["one", "two"]


def test_parameters_of_another_model_are_refused():
    with pytest.raises(DataError, match=r"received 5 that differ, such as calls"):
        load_tensors(
            Copier(),
            {"x": torch.ones(1)} | {k: v for k, v in named_tensors(Copier()).items() if "o" in k and "h" not in k},
        )
    wrong = named_tensors(Copier()) | {"hidden.bias": torch.zeros(3)}
    with pytest.raises(DataError, match=r"hidden.bias must have the shape \(16,\); received \(3,\)"):
        load_tensors(Copier(), wrong)


def test_means_keep_types():
    found = mean_tensors(
        [{"a": torch.tensor([1.0, 2.0]), "n": torch.tensor(1)}, {"a": torch.tensor([3.0, 4.0]), "n": torch.tensor(2)}]
    )
    assert found["a"].tolist() == [2.0, 3.0]
    assert found["a"].dtype == torch.float32
    assert found["n"].item() == 2


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_other_precisions_train(tmp_path, precision):
    before = torch.get_float32_matmul_precision()
    watcher = Silent()
    make_trainer(tmp_path, replace(SETTINGS, precision=precision), watcher=watcher).train()
    assert watcher.measures[-1].cross_entropy < watcher.measures[0].cross_entropy
    assert torch.get_float32_matmul_precision() == before


def test_a_resumed_run_keeps_its_number_of_threads(tmp_path):
    job = Copying()
    with pytest.raises(Interrupted):
        make_trainer(tmp_path, job=job, interruption=Stop(job, 3)).train()
    try:
        torch.set_num_threads(2)
        make_trainer(tmp_path, replace(SETTINGS, threads=0)).train()
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(1)


def test_a_run_of_two_processes_goes_on_alone(tmp_path):
    trainer = make_trainer(tmp_path, replace(SETTINGS, steps=2))
    trainer.train()
    found = trainer.checkpoints.load(2)
    for name in ("random", "tallies"):
        found.state[name] *= 2
    found.state.update(ranks=2, per_update=2)
    found.tensors["rank-1/random/cpu"] = found.tensors["rank-0/random/cpu"].clone()
    trainer.checkpoints.save(found)
    watcher = Silent()
    alone = make_trainer(tmp_path, replace(SETTINGS, steps=4), watcher=watcher)
    alone.train()
    assert watcher.notes == [
        "The run was saved by 2 processes and goes on with 1. An update takes 2 batches, as before."
    ]
    before, after = found.state["batches"], alone.checkpoints.load(4).state
    per_epoch = len(Copying().batches)
    passed = (after["batches"]["epoch"] - before["epoch"]) * per_epoch + after["batches"]["batch"]
    assert passed == 2 * before["batch"] + 2 * 2  # where both stood, and two updates of two batches
    assert (after["ranks"], after["per_update"]) == (1, 2)


INCOMPLETE = {
    "no run": lambda state: state.pop("run"),
    "a run of strings": lambda state: state["run"].update(step="5"),
    "a setting nobody knows": lambda state: state["run"].update(pace=3),
    "validations of numbers": lambda state: state["run"].update(validations=[1]),
    "validations of strings": lambda state: state["run"].update(validations=[{"step": 1, "loss": 2.0, "bleu": "x"}]),
    "validations without a step": lambda state: state["run"].update(validations=[{"loss": 2.0}]),
    "no batches": lambda state: state.update(batches=None),
    "batches of strings": lambda state: state["batches"].update(epoch="x"),
    "no streams": lambda state: state.update(random=[]),
    "streams of numbers": lambda state: state.update(random=[3]),
    "a list of ranks": lambda state: state.update(ranks=[1]),
    "sums of strings": lambda state: state.update(tallies=[{"loss": "x"}]),
    "too few sums": lambda state: state.update(tallies=[]),
}


@pytest.mark.parametrize("damage", INCOMPLETE)
def test_a_checkpoint_that_lacks_something_is_passed_over(tmp_path, damage):
    """Its checksums may be right all the same: whoever wrote it wrote them too."""
    whole = make_trainer(tmp_path)
    whole.train()
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    newest = checkpoints.load(30)
    INCOMPLETE[damage](newest.state)
    checkpoints.save(newest)
    watcher = Silent()
    resumed = make_trainer(tmp_path, watcher=watcher)
    resumed.train()
    assert watcher.starts == [(25, 30)]
    assert watcher.notes[0].startswith(
        "A checkpoint is damaged, and training goes on from step 25: The checkpoint of step 30 must be whole; received "
    )
    assert_same(weights(whole), weights(resumed))


def test_older_checkpoints_without_sums_are_good(tmp_path):
    whole = make_trainer(tmp_path)
    whole.train()
    checkpoints = Checkpoints(tmp_path / "checkpoints")
    newest = checkpoints.load(25)
    newest.state.pop("tallies")
    checkpoints.save(newest)
    checkpoints.prune([25])
    watcher = Silent()
    resumed = make_trainer(tmp_path, watcher=watcher)
    resumed.train()
    assert (watcher.starts, watcher.notes) == ([(25, 30)], [])
    assert_same(weights(whole), weights(resumed))


def test_a_validation_that_is_no_number_is_never_the_best(tmp_path):
    job, losses = Copying(), iter([float("nan"), 2.0, float("nan")])
    job.validate = lambda model: Validated(loss=next(losses))
    trainer = make_trainer(tmp_path, replace(SETTINGS, result="best"), job=job)
    assert trainer.train().best_step("loss") == 20


def test_memory_that_runs_out_outside_the_gradient_is_a_paragraph(tmp_path, monkeypatch):
    trainer = make_trainer(tmp_path)

    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr(trainer._average, "update", full)
    with pytest.raises(TrainingError, match=r"Step 1 must fit into memory; it does not: CUDA out of memory. Tried to"):
        trainer.train()


class Portions(Copying):
    """Measures in portions, of which those above a size do not fit into memory."""

    def __init__(self, fits: int, error: Exception) -> None:
        super().__init__()
        self.at_once, self.fits, self.error = 16, fits, error

    def validate(self, model):
        if self.at_once > self.fits:
            raise self.error
        return super().validate(model)


ERRORS = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    RuntimeError("[enforce fail at alloc_cpu.cpp:119] DefaultCPUAllocator: can't allocate memory: you tried"),
    MemoryError(),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_memory_that_runs_out_in_a_validation_halves_its_portions(tmp_path, error):
    whole = make_trainer(tmp_path / "whole")
    whole.train()
    job, watcher = Portions(4, error), Silent()
    trainer = make_trainer(tmp_path / "less", job=job, watcher=watcher)
    trainer.train()
    assert job.at_once == 4
    assert (
        watcher.notes
        == ["Out of memory while measuring: from here on half as much is measured at once, with the same result."] * 2
    )
    assert trainer.state.validations == whole.state.validations
    assert_same(weights(whole), weights(trainer))


@pytest.mark.parametrize(("job", "tries"), [(Portions(0, ERRORS[0]), 4), (Copying(), 0)])
def test_one_example_that_does_not_fit_into_a_validation_is_a_paragraph(tmp_path, job, tries):
    watcher = Silent()

    def full(model):
        raise ERRORS[0]

    if not tries:
        job.validate = full
    message = (
        r"What is held out must fit into memory, one example at a time; it does not: CUDA out of memory. Tried to "
        r"allocate 2.00 GiB. The last checkpoint is kept. Hold out shorter examples, or take a smaller model, in a new"
    )
    with pytest.raises(TrainingError, match=message):
        make_trainer(tmp_path, job=job, watcher=watcher).train()
    assert len(watcher.notes) == tries


def test_tensorboard_is_asked_for_by_name_when_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(
        MissingExtraError, match=r"needs the package tensorboard, which is not installed. Install it: pip"
    ):
        TensorBoard(tmp_path)
