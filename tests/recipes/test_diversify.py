"""Data diversification: which runs it starts, on which files, and what it joins."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import diversify
import pytest

RECIPE = """
[recipe]
task = "translate"

[data]
source = "{0}/train.en"
target = "{0}/train.de"
valid_source = "{0}/valid.en"
valid_target = "{0}/valid.de"
test_source = "{0}/test.en"
test_target = "{0}/test.de"

[train]
steps = 7
"""


class Jobs:
    """Stands for the processes: notes the commands, finishes every run, and translates a line by its name."""

    def __init__(self) -> None:
        self.commands: dict[str, Sequence[str]] = {}

    def __call__(self, jobs: Mapping[str, Sequence[str]], folder: Path) -> None:
        self.commands |= jobs
        for name, command in jobs.items():
            if command[0] == "train":
                model = folder / name / "model"
                model.mkdir(parents=True)
                (model / "figures.json").write_text(json.dumps({"steps": 7, "test_bleu": 41.25}))
            else:
                source, output = (Path(command[command.index(flag) + 1]) for flag in ("--input", "--output"))
                made = name.removesuffix(".output").rstrip("0123456789")  # alike by all models of a direction
                output.write_text("".join(f"{made} {line}\n" for line in source.read_text().splitlines()))

    def settings(self, name: str) -> set[str]:
        command = self.commands[name]
        return {command[index + 1] for index, word in enumerate(command) if word == "--set"}


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Jobs:
    jobs = Jobs()
    monkeypatch.setattr(diversify, "run_at_once", jobs)
    return jobs


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    for part in ("train", "valid", "test"):
        (tmp_path / f"{part}.en").write_text("one\ntwo\n")
        (tmp_path / f"{part}.de").write_text("eins\nzwei\n")
    path = tmp_path / "small.toml"
    path.write_text(RECIPE.format(tmp_path))
    return path


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    monkeypatch.setattr(sys, "argv", ["diversify.py", *words])
    diversify.main()


def test_models_of_both_directions_translate_and_others_learn_from_all(
    recipe: Path, jobs: Jobs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, other = recipe.parent / "out", recipe.with_name("other.toml")
    other.write_text(recipe.read_text())
    run(monkeypatch, str(recipe), str(out), "--also", str(other), "--models", "2", "1", "--all", "model.dropout=0.2")
    first = {"forward-1", "forward-2", "forward-3", "backward-1", "backward-2"}
    assert set(jobs.commands) == {*first, *(f"{name}.output" for name in first), "all-1", "all-2", "all-other-1"}
    folder = recipe.parent
    turned = {f"data.source={folder}/train.de", f"data.target={folder}/train.en", f"data.test_source={folder}/test.de"}
    assert turned <= jobs.settings("backward-2")
    assert {f"data.source={folder}/train.en", "train.seed=3", "train.minutes=2"} <= jobs.settings("forward-3")
    joined = {f"data.source={out}/all.source", f"data.valid_source={folder}/valid.en", "train.steps=14"}
    assert joined | {"train.seed=2", "train.minutes=6", "model.dropout=0.2"} <= jobs.settings("all-2")
    assert "model.dropout=0.2" not in jobs.settings("forward-1")
    sides = ((out / f"all.{side}").read_text().splitlines() for side in ("source", "target"))
    assert list(zip(*sides, strict=True)) == [
        *(("one", "eins"), ("two", "zwei")),
        *(("one", "forward- one"), ("two", "forward- two")),
        *(("backward- eins", "eins"), ("backward- zwei", "zwei")),
    ]
    printed = capsys.readouterr().out
    assert "6 pairs of 2" in printed
    assert "all-other-1: steps 7, test_bleu 41.25" in printed


def test_a_last_stage_reads_the_text_alone_once_more(recipe: Path, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    out = recipe.parent / "out"
    run(monkeypatch, str(recipe), str(out), "--models", "1", "--minutes", "1", "1", "0.5")
    assert jobs.commands["last-1"][:3] == ["train", "--from", str(out / "all-1")]
    assert {f"data.source={recipe.parent}/train.en", "train.minutes=0.5"} <= jobs.settings("last-1")


def test_what_is_finished_is_not_done_again(recipe: Path, jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch, str(recipe), str(recipe.parent / "out"))
    jobs.commands.clear()
    run(monkeypatch, str(recipe), str(recipe.parent / "out"))
    assert jobs.commands == {}


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (
            ["--models", "1", "2", "3"],
            "--models must be one number, or with --also one for each recipe; received 1 2 3.",
        ),
        (["--minutes", "0", "1", "1"], "--minutes must be more than 0, and at least 0 for the last stage"),
    ],
)
def test_bad_settings_are_refused(
    recipe: Path,
    jobs: Jobs,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    wrong: str,
) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, str(recipe), str(recipe.parent / "out"), *words)
    assert stopped.value.code == 2
    assert wrong in capsys.readouterr().err
    assert not jobs.commands
