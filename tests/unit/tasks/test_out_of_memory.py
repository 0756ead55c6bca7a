"""What does not fit into memory: measured in smaller portions, or the end of a run with advice in its task's words."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from regard.errors import TrainingError
from regard.tasks.captions.job import CaptionJob
from regard.tasks.images.job import ImageJob
from regard.tasks.language.data import gather_text
from regard.tasks.language.job import LanguageJob
from regard.tasks.language.train import train_language_model
from regard.tasks.questions.job import QuestionJob
from regard.training.run import Run
from regard.training.run_folder import RunFolder
from unit.tasks.every_task import TASKS, run_task
from unit.tasks.image_run import make_images
from unit.tasks.picture_run import make_answerer, make_captioner
from unit.tasks.texts import settings, write_text
from unit.training.copying import Silent


@pytest.fixture
def little(request):
    """Let no more than two examples at once fit into memory while a model is measured."""
    reader = nn.Conv2d if request.getfixturevalue("task") in ("images", "questions", "captions") else nn.Embedding

    def check(module, inputs):
        if isinstance(module, reader) and not module.training and not torch.is_grad_enabled() and inputs[0].size(0) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    handle = nn.modules.module.register_module_forward_pre_hook(check)
    yield
    handle.remove()


@pytest.fixture(scope="module")
def figures_with_room(tmp_path_factory):
    return lambda task: run_task(task, tmp_path_factory.mktemp(task)).figures


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("task", TASKS)
def test_what_is_held_out_is_measured_in_portions_that_fit(figures_with_room, tmp_path, monkeypatch, request, task):
    expected = figures_with_room(task)
    request.getfixturevalue("little")
    monkeypatch.setattr(f"regard.tasks.{TASKS[task]}.train._page", lambda *_: "")  # its figures are read all at once
    watcher = Silent()
    figures = run_task(task, tmp_path, watcher=watcher).figures
    note = "Out of memory while measuring: from here on half as much is measured at once, with the same result."
    assert set(watcher.notes) == {note}
    kept = [name for name in expected if "seconds" not in name]
    assert {name: figures[name] for name in kept} == pytest.approx({name: expected[name] for name in kept}, rel=1e-5)


@pytest.fixture
def full(monkeypatch):
    """Let the first loss of a job find no memory."""

    def loss(self, model, batch):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    return lambda job: monkeypatch.setattr(job, "loss", loss)


def test_images_may_be_smaller(full, tmp_path):
    full(ImageJob)
    for number in range(12):
        path = tmp_path / "images" / "ab"[number % 2] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((16, 16, 3), 20 * number, dtype=np.uint8)).save(path)
    with pytest.raises(TrainingError, match=r"same steps\), smaller images \(data\.image_size\) or a smaller model"):
        make_images(tmp_path / "run", tmp_path / "images", "resnet")


@pytest.mark.parametrize(("job", "make"), [(QuestionJob, make_answerer), (CaptionJob, make_captioner)])
def test_pictures_may_be_smaller(full, tmp_path, job, make):
    full(job)
    with pytest.raises(TrainingError, match=r"same steps\), smaller pictures \(data\.image_size\) or a smaller model"):
        make(tmp_path / "run")


def test_stretches_of_text_may_be_shorter(full, tmp_path):
    full(LanguageJob)
    config = settings(write_text(tmp_path / "a.txt"), "lstm")
    message = r"same steps\), shorter stretches of text \(data\.length\) or a smaller model"
    with pytest.raises(TrainingError, match=message):
        train_language_model(config, gather_text(config.data), Run(folder=RunFolder(tmp_path / "run")))
