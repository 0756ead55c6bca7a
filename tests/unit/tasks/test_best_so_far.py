"""Of every task: a run has a model to use from its first validation on, and ends as if nobody had looked."""

import errno
import logging

import pytest
import torch
from safetensors.torch import load_file

import regard
from regard.errors import DataError, Interrupted
from regard.tasks.model_folder import find_model, usable_now
from regard.tasks.task import TASKS as ROWS
from regard.training.run import Run
from regard.training.run_folder import RunFolder
from unit.tasks.every_task import TASKS, run_task
from unit.tasks.test_going_on import At, stop_after
from unit.training.copying import Silent

pytestmark = pytest.mark.usefixtures("unchecked")  # for speed


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("task", TASKS)
def test_a_stopped_run_is_used_and_then_ends_with_the_same_files_and_bits(tmp_path, task, caplog):
    run_task(task, tmp_path / "whole")
    out = tmp_path / "parts"
    with pytest.raises(Interrupted):
        run_task(task, out, **stop_after(3))
    assert not (out / "model").exists()
    with caplog.at_level(logging.WARNING, logger="regard"):
        model = regard.load(out)
    assert not getattr(model, "model", model.models[0] if hasattr(model, "models") else model).training
    assert [record.getMessage() for record in caplog.records] == [
        f"{out} has not made all its steps: this is its best model so far, of step 2."
    ]
    assert usable_now(out) == f" Until then `{ROWS[task].command} {out}` uses the model of step 2."
    saved = load_file(out / "best" / "model.safetensors")
    checkpoint = load_file(out / "checkpoints" / "step-00000002" / "tensors.safetensors")
    shared = [name for name in saved if f"model/{name}" in checkpoint]
    assert len(shared) > 5
    assert all(torch.equal(saved[name], checkpoint[f"model/{name}"]) for name in shared)
    run_task(task, out)
    assert files(out) == files(tmp_path / "whole")
    assert usable_now(out) == ""
    first, second = (load_file(one / "model" / "model.safetensors") for one in (tmp_path / "whole", out))
    assert all(torch.equal(one, second[name]) for name, one in first.items())


def test_before_the_first_validation_there_is_no_model(tmp_path):
    with pytest.raises(Interrupted):
        run_task("classify", tmp_path, **stop_after(1))
    with pytest.raises(DataError, match=r"a run that has come to step 1 and has no model yet: the first validation"):
        regard.load(tmp_path)
    assert usable_now(tmp_path) == ""


def test_only_a_better_validation_replaces_the_best(tmp_path):
    kept = {}
    out = RunFolder(tmp_path)

    class Kept(Silent):
        def stepped(self, step):
            kept[step] = out.best_step()

    settings = {"steps": 8, "validate_every": 1, "patience": 0, "metric": "accuracy"}
    settings["schedule"] = {"kind": "constant", "rate": 0.5}
    watcher = Kept()
    run_task("classify", tmp_path, settings=settings, watcher=watcher)
    best = [found.step for found, better in watcher.validations if better]
    assert len(best) < 8
    assert kept == {step: max((one for one in best if one < step), default=None) for step in range(1, 9)}


def test_the_average_is_what_is_used(tmp_path):
    with pytest.raises(Interrupted):
        run_task("classify", tmp_path, settings={"ema": 0.9}, **stop_after(3))
    saved = load_file(tmp_path / "best" / "model.safetensors")
    checkpoint = load_file(tmp_path / "checkpoints" / "step-00000002" / "tensors.safetensors")
    assert all(torch.equal(saved[name], checkpoint[f"average/{name}"]) for name in saved)
    assert any(not torch.equal(saved[name], checkpoint[f"model/{name}"]) for name in saved)


def test_a_full_disk_leaves_the_best_before_and_training_goes_on(tmp_path, monkeypatch):
    from regard.tasks.classification.model import Classifier

    save, calls = Classifier.save, []

    def full(self, folder):
        calls.append(folder.name)
        if folder.name == ".best-writing":
            raise OSError(errno.ENOSPC, "No space left on device")
        save(self, folder)

    monkeypatch.setattr(Classifier, "save", full)
    watcher = Silent()
    run_task("classify", tmp_path, watcher=watcher)
    assert watcher.notes[0] == (
        f"Step 2: the model of this validation is not saved, since the disk of {tmp_path} is full. Make room: training "
        "goes on, and tries again at the next one that is better."
    )
    assert calls[-1] == ".model-writing"


def test_a_run_folder_that_is_gone_is_not_made_by_its_best_model(tmp_path):
    run = Run(folder=RunFolder(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError):
        run._put_best(lambda folder: None, 3)
    assert not (tmp_path / "gone").exists()


def test_every_file_has_the_permissions_that_the_umask_leaves(tmp_path, monkeypatch):
    import os

    modes = {}

    def look():
        modes.update({path: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_file()})

    before = os.umask(0o022)
    try:
        run_task("translate", tmp_path, watcher=At(3, look))
        look()
    finally:
        os.umask(before)
    names = {path.name for path in modes}
    assert {"model.safetensors", "tensors.safetensors", "state.json", "step.json", "figures.json"} <= names
    assert {path.name: oct(mode) for path, mode in modes.items() if mode != 0o644} == {}
    assert find_model(tmp_path) == tmp_path / "model"
