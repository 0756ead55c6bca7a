"""`regard course`, run as a user runs it."""

import json
from functools import partial

import pytest


@pytest.fixture
def run(run):
    """Run one command."""
    return partial(run, "course")


def test_the_list_has_every_exercise_or_those_of_a_chapter(run):
    everything = run("list")
    assert everything.returncode == 0
    assert len(everything.stdout.splitlines()) == 1 + 86
    chapter = run("list", "7").stdout.splitlines()
    assert [line.split()[0] for line in chapter[1:]] == ["7.1", "7.2", "7.3"]
    values = json.loads(run("list", "p", "--json").stdout)["exercises"]
    assert len(values) == 21
    assert values[4]["signature"] == "def causal_mask(n: int) -> Tensor:"


def test_an_unknown_chapter_is_refused(run):
    done = run("list", "30")
    assert done.returncode == 2
    assert done.stderr == "regard: `CHAPTER` must be from 1 to 21, or p for the puzzles; received 30.\n"


def test_an_exercise_is_shown_and_begun(run, tmp_path):
    path = tmp_path / "answer.py"
    done = run("show", "7.3", "--out", path)
    assert done.returncode == 0
    assert done.stdout.startswith("7.3 Local-p weights (Luong, global and local)\n\ndef local_weights(scores: Tensor")
    assert done.stdout.endswith(f"Check an answer: regard course check 7.3 {path}\n")
    assert path.read_text().startswith("import torch\nfrom torch import Tensor\n")
    again = run("show", "7.3", "--out", path)
    assert again.returncode == 2
    assert "must be a file that is not there yet" in again.stderr


def test_a_puzzle_names_its_operations(run):
    assert "One line, from operators, indices and arange alone." in run("show", "p.5").stdout
    assert "One line, from operators, indices alone." in run("show", "p.9").stdout


def test_hints_come_one_after_the_other(run):
    assert "1 of 2. Further: regard course hint 7.3 2" in run("hint", "7.3").stdout
    assert "2 of 2. Further: regard course solution 7.3" in run("hint", "7.3", "2").stdout
    done = run("hint", "7.3", "3")
    assert done.returncode == 2
    assert "`WHICH` must be from 1 to 2, the hints of 7.3; received 3." in done.stderr


def test_the_solution_is_a_file_that_is_right(run, tmp_path):
    path = tmp_path / "answer.py"
    path.write_text(run("solution", "7.3").stdout)
    assert "def local_weights(" in path.read_text()


@pytest.mark.slow
def test_an_answer_is_checked_and_the_exit_code_tells(run, tmp_path):
    path = tmp_path / "answer.py"
    path.write_text(run("solution", "7.3").stdout)
    done = run("check", "7.3", path)
    assert (done.returncode, done.stdout) == (0, "7.3 is right: 3 cases.\n")
    path.write_text("def local_weights(scores, center, half_width):\n    return scores\n")
    done = run("check", "7.3", path, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["right"] is False


def test_a_file_that_is_not_there_is_one_paragraph(run, tmp_path):
    done = run("check", "7.3", tmp_path / "none.py")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "`FILE` must be a Python file with the function local_weights" in done.stderr


def test_a_file_that_is_not_utf_8_is_one_paragraph(run, tmp_path):
    path = tmp_path / "answer.py"
    path.write_bytes(b"# caf\xe9\n")
    done = run("check", "7.3", path)
    assert done.returncode == 2
    assert "must be text in UTF-8" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
