"""A run puts its model in place when it is whole, and is then finished."""

import pytest

from regard.tasks.run import Run
from regard.tasks.run_folder import RunFolder
from regard.training.group import Group
from regard.training.watch import Watchers


class Notes(Watchers):
    """Keeps what is noted."""

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "texts", [])

    def noted(self, text):
        self.texts.append(text)


def test_a_model_is_there_when_it_is_whole(tmp_path):
    run = Run(folder=RunFolder(tmp_path), watcher=Notes())
    run.folder.data.mkdir()

    def broken(folder):
        (folder / "model.safetensors").write_bytes(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left on device"):
        run.put_model(broken, card="", figures={})
    assert not run.folder.model.exists()
    assert run.folder.data.exists()  # to go on from
    assert run.figures_again() is None
    run.put_model(lambda folder: (folder / "config.json").write_text("{}"), card="# A model", figures={"steps": 3})
    assert sorted(path.name for path in run.folder.model.iterdir()) == ["README.md", "config.json", "figures.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]
    assert run.figures_again() == {"steps": 3}
    assert run.watcher.texts == [f"The run in {tmp_path} is finished; these are its figures."]


def test_only_the_first_of_several_processes_gets_the_figures_of_a_finished_run(tmp_path):
    first, second = (
        Run(folder=RunFolder(tmp_path), watcher=Notes(), group=Group(rank=rank, ranks=2)) for rank in (0, 1)
    )
    assert second.figures_again() is None  # there is work to do
    first.put_model(lambda folder: None, card="", figures={"steps": 3})
    assert (first.figures_again(), second.figures_again()) == ({"steps": 3}, {})
    assert (len(first.watcher.texts), second.watcher.texts) == (1, [])


def test_a_new_model_takes_the_evaluation_of_the_old_away(tmp_path):
    run = Run(folder=RunFolder(tmp_path))
    run.folder.evaluation.write_text("{}")
    run.put_model(lambda folder: None, card="", figures={})
    assert not run.folder.evaluation.exists()
