"""A run puts its model in place when it is whole, and is finished when all that follows is done."""

import json
import math
import signal

import pytest

from regard.errors import DataError, Interrupted, TrainingError
from regard.training.group import Group
from regard.training.interruption import Interruption
from regard.training.run import Run
from regard.training.run_folder import RunFolder
from regard.training.watch import Watchers


class Notes(Watchers):
    """Keeps what is noted."""

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "texts", [])

    def noted(self, text):
        self.texts.append(text)


def save(folder):
    (folder / "config.json").write_text("{}")


def finish(run, measure=lambda: {"steps": 3}, *, figures=dict, page=lambda result: "page", card=lambda result: "card"):
    return run.finish(measure, figures=figures, page=page, card=card)


def failing(*_):
    raise RuntimeError("the sky has fallen.\nAll of it.")


def test_a_model_is_there_when_it_is_whole(tmp_path):
    run = Run(folder=RunFolder(tmp_path), watcher=Notes())
    run.folder.data.mkdir()

    def broken(folder):
        (folder / "model.safetensors").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(TrainingError, match=r"must have space for the model; it is full. Make room, and give the same"):
        run.put_model(broken)
    assert not run.folder.model.exists()
    assert run.folder.data.exists()  # to go on from
    assert run.figures_again() is None
    run.put_model(save)
    assert [path.name for path in run.folder.model.iterdir()] == ["config.json"]
    assert run.folder.data.exists()  # until the run is finished
    assert run.figures_again() is None
    assert finish(run) == {"steps": 3}
    assert sorted(path.name for path in run.folder.model.iterdir()) == ["README.md", "config.json", "figures.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "report.html"]
    assert run.figures_again() == {"steps": 3}
    assert run.watcher.texts == [f"The run in {tmp_path} is finished; these are its figures."]


LATE = {
    "measure": ("it could not be measured (RuntimeError: the sky has fallen)", False, False),
    "page": ("its report could not be written (RuntimeError: the sky has fallen)", False, True),
    "card": ("its card could not be written (RuntimeError: the sky has fallen)", True, False),
    "figures": ("its figures could not be written (RuntimeError: the sky has fallen)", True, True),
}


@pytest.mark.parametrize("stage", LATE)
def test_whatever_fails_after_training_the_model_is_there_and_the_rest_is_done(tmp_path, stage):
    run = Run(folder=RunFolder(tmp_path))
    run.put_model(save)
    failure, report, card = LATE[stage]
    with pytest.raises(TrainingError) as caught:
        finish(run, **{stage: failing})
    assert str(caught.value) == (
        f"The model is in {tmp_path}/model and can be used, but not all that follows training was done: {failure}. The "
        "same command tries again."
    )
    assert (run.folder.model / "config.json").is_file()
    assert run.folder.report.exists() == report
    assert (run.folder.model / "README.md").exists() == card
    again = Run(folder=RunFolder(tmp_path))
    assert again.figures_again() is None
    again.put_model(save)
    assert finish(again) == {"steps": 3}
    assert again.figures_again() == {"steps": 3}


def test_several_failures_are_all_given(tmp_path):
    run = Run(folder=RunFolder(tmp_path), failures=["it is another"])
    run.put_model(save)
    with pytest.raises(
        TrainingError, match=r"done: it is another; its report could .* fallen\); its card could .*\)\. "
    ):
        finish(run, page=failing, card=failing)


def test_a_first_signal_after_training_is_heeded_at_once(tmp_path):
    interruption = Interruption()
    run = Run(folder=RunFolder(tmp_path), interruption=interruption)
    run.put_model(save)

    def measure():
        interruption.request(signal.SIGTERM)
        raise AssertionError("it went on")

    message = rf"Stopped after training: the model is in {tmp_path}/model and can be used, but it is not measured. The"
    with pytest.raises(Interrupted, match=message) as caught:
        finish(run, measure)
    assert caught.value.signal == signal.SIGTERM
    assert run.figures_again() is None


def test_a_signal_in_the_last_step_is_heeded_once_the_model_is_there(tmp_path):
    interruption = Interruption()
    interruption.request(signal.SIGINT)
    run = Run(folder=RunFolder(tmp_path), interruption=interruption)
    run.put_model(save)
    with pytest.raises(Interrupted, match="Stopped after training") as caught:
        finish(run, failing)
    assert caught.value.signal == signal.SIGINT


def test_a_folder_that_went_before_the_model_was_put_is_told(tmp_path):
    run = Run(folder=RunFolder(tmp_path / "gone"))
    run.put_model(save)
    with pytest.raises(
        TrainingError, match=r"done: .*/gone was moved or removed before the model was saved there\. The"
    ):
        finish(run)
    assert (tmp_path / "gone" / "model" / "config.json").is_file()


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_what_stands_where_the_model_is_written_is_moved_out_of_the_way(tmp_path, kind):
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").write_text("")
    run = Run(folder=RunFolder(tmp_path / "run"))
    aside = run.folder.path / ".model-writing"
    run.folder.path.mkdir()
    {"file": aside.touch, "folder": aside.mkdir, "link": lambda: aside.symlink_to(other)}[kind]()
    run.put_model(save)
    assert [path.name for path in run.folder.path.iterdir()] == ["model"]
    assert [path.name for path in other.iterdir()] == ["kept"]


def test_only_the_first_of_several_processes_gets_the_figures_of_a_finished_run(tmp_path):
    first, second = (
        Run(folder=RunFolder(tmp_path), watcher=Notes(), group=Group(rank=rank, ranks=2)) for rank in (0, 1)
    )
    assert second.figures_again() is None  # there is work to do
    first.put_model(save)
    finish(first)
    assert (first.figures_again(), second.figures_again()) == ({"steps": 3}, {})
    assert (len(first.watcher.texts), second.watcher.texts) == (1, [])


def test_a_new_model_takes_the_evaluation_of_the_old_away(tmp_path):
    run = Run(folder=RunFolder(tmp_path))
    run.folder.evaluation.write_text("{}")
    run.put_model(save)
    assert not run.folder.evaluation.exists()


def test_figures_that_are_no_numbers_are_written_as_null(tmp_path):
    run = Run(folder=RunFolder(tmp_path))
    run.put_model(save)
    finish(run, lambda: {"figures": {"valid_loss": math.nan, "steps": 3}})
    text = (run.folder.model / "figures.json").read_text()
    assert json.loads(text, parse_constant=failing) == {"figures": {"valid_loss": None, "steps": 3}}
    assert math.isnan(run.figures_again()["figures"]["valid_loss"])


@pytest.mark.parametrize(
    ("text", "received"),
    [("{", "must be JSON"), ("[1]", "must hold a table"), ("[" * 100_000, "must be JSON of at most 100 tables")],
)
def test_damaged_figures_are_a_paragraph(tmp_path, text, received):
    run = Run(folder=RunFolder(tmp_path))
    run.folder.model.mkdir()
    (run.folder.model / "figures.json").write_text(text)
    message = rf"figures.json must hold the table that .* wrote; received: .*{received}.*\. Remove it, and the"
    with pytest.raises(DataError, match=message):
        run.figures_again()
