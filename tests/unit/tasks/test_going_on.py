"""Of every task: a run that goes on counts all its time; one whose folder is taken away saves what can be saved."""

import shutil

import pytest
import torch
from safetensors.torch import load_file

from regard.errors import Interrupted, TrainingError
from regard.training.interruption import Interruption
from regard.training.metrics import read_metrics
from regard.training.run_folder import RunFolder
from unit.tasks.every_task import TASKS, run_task
from unit.training.copying import Silent

pytestmark = pytest.mark.usefixtures("unchecked")  # for speed


class At(Silent):
    """Does something after a step."""

    def __init__(self, step, action):
        super().__init__()
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "action", action)

    def stepped(self, step):
        if step == self.step:
            self.action()


def stop_after(step):
    interruption = Interruption()
    return {"watcher": At(step, lambda: interruption.request(15)), "interruption": interruption}


@pytest.mark.parametrize("task", TASKS)
def test_the_seconds_of_a_resumed_run_are_those_of_all_its_parts(tmp_path, task):
    with pytest.raises(Interrupted, match="Stopped after step 3"):
        run_task(task, tmp_path, **stop_after(3))
    figures = run_task(task, tmp_path).figures
    lines = [line for line in read_metrics(tmp_path / "metrics.jsonl") if line["event"] == "train"]
    assert [line["step"] for line in lines] == [2, 4]
    assert figures["seconds"] == lines[-1]["seconds"] > lines[0]["seconds"]


def test_a_stop_in_the_last_step_is_heeded_when_the_model_is_there(tmp_path):
    with pytest.raises(Interrupted, match=rf"Stopped after training: the model is in {tmp_path}/model and") as caught:
        run_task("classify", tmp_path, **stop_after(4))
    assert caught.value.signal == 15
    assert (tmp_path / "model" / "model.safetensors").is_file()
    assert run_task("classify", tmp_path).figures["steps"] == 4


#: When it is noticed: at a line of metrics, at a checkpoint, or at both.
SETTINGS = [
    {"checkpoint_every": 100, "log_every": 2, "validate_every": 100},
    {"checkpoint_every": 2, "log_every": 100, "validate_every": 100},
    {"checkpoint_every": 2, "log_every": 2, "validate_every": 2},
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("how", ["moved", "removed", "with the folder above it"])
def test_a_folder_that_is_taken_away_is_made_again_with_what_was_learned(tmp_path, how, settings):
    settings = {"steps": 6, "metric": "loss", "result": "last", **settings}
    run_task("classify", tmp_path / "whole", settings=settings)
    out = tmp_path / "above" / "run"

    def take():
        if how == "moved":
            out.rename(tmp_path / "elsewhere")
        else:
            shutil.rmtree(out if how == "removed" else out.parent)

    with pytest.raises(TrainingError) as caught:
        run_task("classify", out, settings=settings, watcher=At(3, take))
    assert str(caught.value) == (
        f"{out} must stay where it is while it trains; by step 4 it was moved or removed. A new folder there holds "
        "what was learned to step 4, and the same command goes on from it; the old one, if it was moved, holds the "
        "checkpoints before."
    )
    watcher = Silent()
    run_task("classify", out, settings=settings, watcher=watcher)
    assert watcher.starts == [(4, 6)]
    first, second = (load_file(one / "model" / "model.safetensors") for one in (tmp_path / "whole", out))
    assert all(torch.equal(one, second[name]) for name, one in first.items())


def test_a_folder_that_cannot_be_made_again_is_a_paragraph_too(tmp_path, monkeypatch):
    def refused(folder, beginnings):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(RunFolder, "restore", refused)
    message = (
        r"by step 4 it was moved or removed. It cannot be made again \(PermissionError: .*Permission denied\). Put it "
        r"back, and start again.$"
    )
    out = tmp_path / "run"
    with pytest.raises(TrainingError, match=message):
        run_task("classify", out, watcher=At(3, lambda: shutil.rmtree(out)), settings=SETTINGS[0])
