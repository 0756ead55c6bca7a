"""Of every task: whatever fails after training, there is a model to use, and the same command does the rest."""

import pytest
import torch
from safetensors.torch import load_file
from torch._subclasses.fake_tensor import FakeTensorMode

import regard
from regard.errors import TrainingError
from regard.training import loop
from regard.training.parameters import mean_tensors
from unit.tasks.every_task import TASKS, run_task

FAILURES = {
    "_measure": "it could not be measured",
    "_page": "its report could not be written",
    "_card": "its card could not be written",
}
pytestmark = pytest.mark.usefixtures("unchecked")  # for speed


def failing(*_, **__):
    raise RuntimeError("Expected all tensors to be on the same device")


def parameters(folder):
    return load_file(folder / "model" / "model.safetensors")


@pytest.mark.parametrize("task", TASKS)
def test_a_late_failure_leaves_a_model_and_the_same_command_finishes(tmp_path, monkeypatch, task):
    before = None
    for stage, failure in FAILURES.items():  # each start goes on from the last step
        with monkeypatch.context() as broken:
            broken.setattr(f"regard.tasks.{TASKS[task]}.train.{stage}", failing)
            with pytest.raises(TrainingError) as caught:
                run_task(task, tmp_path)
        assert str(caught.value) == (
            f"The model is in {tmp_path}/model and can be used, but not all that follows training was done: {failure} "
            "(RuntimeError: Expected all tensors to be on the same device). The same command tries again."
        )
        assert regard.load(tmp_path) is not None
        assert before is None or all(torch.equal(one, parameters(tmp_path)[name]) for name, one in before.items())
        before = parameters(tmp_path)
        assert (tmp_path / "report.html").is_file() == (stage == "_card")
    assert run_task(task, tmp_path).figures["steps"] == 4
    assert {"README.md", "figures.json"} <= {path.name for path in (tmp_path / "model").iterdir()}


@pytest.mark.parametrize("task", TASKS)
def test_where_no_mean_can_be_taken_the_best_is_the_model(tmp_path, monkeypatch, task):
    """As on a GPU once, where the last parameters were, and those of checkpoints were not."""
    mean = loop.mean_tensors

    def failing_mean(several):
        if len(several) > 1:
            raise RuntimeError("Expected all tensors to be on the same device")
        return mean(several)

    monkeypatch.setattr(loop, "mean_tensors", failing_mean)
    settings = {"result": "average", "average": 3, "metric": "loss", "keep_checkpoints": 4}
    with pytest.raises(TrainingError) as caught:
        run_task(task, tmp_path, settings=settings)
    assert (
        'but not all that follows training was done: train.result = "average" failed (RuntimeError: Expected all '
        "tensors to be on the same device), so the model is that of step "
    ) in str(caught.value)
    step = int(str(caught.value).rpartition("of step ")[2].split(".")[0])
    saved = load_file(tmp_path / "checkpoints" / f"step-{step:08d}" / "tensors.safetensors")
    own = parameters(tmp_path)
    assert all(torch.equal(one, saved[f"model/{name}"]) for name, one in own.items() if f"model/{name}" in saved)
    assert sum(f"model/{name}" in saved for name in own) > 5
    assert regard.load(tmp_path) is not None
    assert (tmp_path / "report.html").is_file()  # of this model
    assert not (tmp_path / "model" / "figures.json").exists()
    monkeypatch.setattr(loop, "mean_tensors", mean)
    assert run_task(task, tmp_path, settings=settings).figures["steps"] == 4
    changed = [name for name, one in own.items() if not torch.equal(one, parameters(tmp_path)[name])]
    assert changed  # it is a mean now


def test_what_is_not_there_to_fall_back_on_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "load_tensors", failing)
    with pytest.raises(RuntimeError, match="on the same device"):
        run_task("classify", tmp_path)
    assert (tmp_path / "checkpoints").is_dir()


def test_parameters_on_two_devices_have_a_mean():
    """Tensors that hold nothing but a shape and a device: torch refuses to add up what is not on one."""
    with FakeTensorMode():
        saved, last = ({"a": torch.ones(3, device=device)} for device in ("cpu", "cuda"))
        with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
            saved["a"] + last["a"]
        assert mean_tensors([saved, last])["a"].device.type == "cpu"
        assert mean_tensors([last, saved])["a"].device.type == "cpu"
    found = mean_tensors([{"a": torch.ones(3)}, {"a": torch.full((3,), 2.0)}])
    assert found["a"].tolist() == [1.5, 1.5, 1.5]
