"""A first model for whoever has none."""

import json
import sys

import pytest

from regard.studio import preparing
from regard.studio.models import Models
from regard.studio.preparing import SYSTEM, Preparation, cache_folder
from regard.tasks.demo import Data
from unit.studio.visiting import ask, visitor
from unit.tasks.translators import make_folder


@pytest.fixture
def quick(monkeypatch):
    """Draw nothing, and run a program of the test's own in place of the training."""
    monkeypatch.setattr(preparing, "draw_pairs", lambda plan: Data(train=[], valid=[], test=[]))
    monkeypatch.setattr(preparing, "write_pairs", lambda data, folder: None)

    def run(program):
        monkeypatch.setattr(preparing, "training_command", lambda *_, **__: [sys.executable, "-c", program])

    return run


def test_the_cache_is_where_it_should_be(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder().is_relative_to(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder().is_relative_to(tmp_path / "home" / ".cache" / "regard")


def test_the_page_sees_training_go_on_and_the_model_come(quick, tmp_path):
    quick("import sys; sys.stdin.read()")
    preparation = Preparation(tmp_path).start()
    models = Models(preparation=preparation)
    client = visitor(models)
    run = tmp_path / SYSTEM
    run.mkdir(exist_ok=True)
    (run / "metrics.jsonl").write_text(json.dumps({"event": "train", "step": 40, "loss": 2.5}) + '\n{"event": "tr')
    preparation._thread.join(30)
    told = ask(client, "overview")["preparing"]
    assert (told["stage"], told["step"], told["loss"], told["error"]) == ("training", 40, 2.5, None)
    assert told["steps"] > 40
    make_folder(run / "model")
    told = ask(client, "overview")
    assert told["preparing"] is None
    assert [one["name"] for one in told["models"]] == [SYSTEM]


def test_a_model_that_is_there_is_taken(quick, tmp_path):
    quick("raise SystemExit(3)")
    make_folder(tmp_path / SYSTEM / "model")
    models = Models(preparation=Preparation(tmp_path).start())
    models.refresh()
    assert [one.name for one in models.all()] == [SYSTEM]


def test_training_that_fails_is_told(quick, tmp_path):
    quick("import sys; print('no room left', file=sys.stderr); raise SystemExit(3)")
    preparation = Preparation(tmp_path).start()
    preparation._thread.join(30)
    assert preparation.result() is None
    said = preparation.progress().error
    assert said.startswith("Training ended with 3: no room left The whole of it is in ")


def test_a_model_whose_report_failed_is_taken_all_the_same(quick, tmp_path):
    program = "import pathlib; pathlib.Path({!r}).mkdir(parents=True); pathlib.Path({!r}).touch(); raise SystemExit(1)"
    model = tmp_path / SYSTEM / "model"
    quick(program.format(str(model), str(model / "config.json")))
    preparation = Preparation(tmp_path).start()
    preparation._thread.join(30)
    assert preparation.result() == tmp_path / SYSTEM
    assert preparation.progress().error is None


def test_the_last_report_is_read_past_samples_with_ends_of_lines_and_losses_that_are_none(quick, tmp_path):
    quick("import sys; sys.stdin.read()")
    preparation = Preparation(tmp_path).start()
    preparation._thread.join(30)
    lines = [
        {"event": "train", "step": 40, "loss": None},
        {
            "event": "valid",
            "step": 40,
            "samples": [{"source": 'a\u2028{"event": "train", "step": 99, "loss": 1}\u2028'}],
        },
    ]
    (tmp_path / SYSTEM).mkdir(exist_ok=True)
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (tmp_path / SYSTEM / "metrics.jsonl").write_text(text, encoding="utf-8")
    told = preparation.progress()
    assert (told.step, told.loss) == (40, None)


def test_a_folder_that_cannot_be_written_is_told(quick, tmp_path):
    (tmp_path / "file").write_text("")
    preparation = Preparation(tmp_path / "file" / "inside").start()
    preparation._thread.join(30)
    assert preparation.progress().error.startswith("The small model could not be trained: ")


def test_stopping_ends_the_training(quick, tmp_path):
    quick("import time; time.sleep(600)")
    preparation = Preparation(tmp_path).start()
    while preparation._process is None:
        preparation._thread.join(0.01)
    preparation.stop()
    preparation._thread.join(30)
    assert preparation._process.returncode != 0
    assert preparation.progress().error is None


def test_a_model_that_cannot_be_used_is_no_result(quick, tmp_path):
    make_folder(tmp_path / SYSTEM / "model")
    preparation = Preparation(tmp_path).start()
    assert preparation.result() is not None
    preparation.fail("It is damaged.")
    assert preparation.result() is None
    assert preparation.progress().error == (
        f"It is damaged. Remove {tmp_path} to train another, or name one: regard studio FOLDER."
    )
