"""One message, two spellings: arguments from Python, flags at the command line."""

import sys

import pytest
from typer.main import get_command

import regard
from regard.cli import app, main
from regard.cli.flags import spell_flags
from regard.errors import RegardError


@pytest.mark.parametrize(
    ("command", "message", "shown"),
    [
        ("train", "`out` must be a folder.", "`--out` must be a folder."),
        ("train", "Leave out `start`.", "Leave out `--from`."),
        ("evaluate", 'Take `split="valid"`, or `trust=True`.', "Take `--split valid`, or `--trust`."),
        ("train", '`settings={"data.text": "a", "train.steps": 5}`', "`--set data.text=a --set train.steps=5`"),
        ("train", "`settings` must be a table.", "`--set` must be a table."),
        ("runs", "`out` and `settings={1: 2}` and `x=1`", "`out` and `settings={1: 2}` and `x=1`"),
        ("compare", "`systems` must be two or more.", "`SYSTEMS` must be two or more."),
    ],
)
def test_arguments_become_the_flags_of_the_command(command, message, shown):
    assert spell_flags(message, get_command(app), [command]) == shown


@pytest.mark.parametrize(
    ("arguments", "words", "python", "shell"),
    [
        (
            {"task": "classify", "data": "builtin:topics", "out": "file"},
            ["--task", "classify", "--data", "builtin:topics", "--out", "file"],
            "`out` must be a folder; received the file file.",
            "`--out` must be a folder; received the file file.",
        ),
        (
            {"task": "classify", "out": "run"},
            ["--task", "classify", "--out", "run"],
            'Such as: `data="reviews.csv"`, with `settings={"data.text": "review", "data.label": "stars"}`.',
            "Such as: `--data reviews.csv`, with `--set data.text=review --set data.label=stars`.",
        ),
        (
            {"task": "translate", "out": "run"},
            ["--out", "run"],
            'Give two plain files, `source="a.es"` and `target="a.en"`, or one corpus: `data="pairs.tsv"`,',
            "Give two plain files, `--source a.es` and `--target a.en`, or one corpus: `--data pairs.tsv`,",
        ),
        (
            {"task": "language", "start": "a", "preset": "lstm", "out": "run"},
            ["--task", "language", "--from", "a", "--preset", "lstm", "--out", "run"],
            "`preset` must be left out with `start`, whose model is trained further; received lstm.",
            "`--preset` must be left out with `--from`, whose model is trained further; received lstm.",
        ),
        (
            {"task": "classify", "data": ["builtin:topics", "b.csv"], "out": "run"},
            ["--task", "classify", "--data", "builtin:topics", "--data", "b.csv", "--out", "run"],
            "`data` must be named once for a built-in corpus",
            "`--data` must be named once for a built-in corpus",
        ),
    ],
)
def test_a_mistake_in_training_is_told_in_the_words_of_the_caller(
    unchecked, monkeypatch, tmp_path, capsys, arguments, words, python, shell
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(RegardError) as caught:
        regard.train(arguments.pop("task"), **arguments)
    assert python in str(caught.value)
    assert "--" not in str(caught.value)
    monkeypatch.setattr(sys, "argv", ["regard", "train", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    error = capsys.readouterr().err
    assert ended.value.code == 2
    assert shell in error.splitlines()[-1]


def test_a_new_run_needs_a_task(tmp_path):
    message = r"`task` must be named for a new run, such as translate; \S+run holds no run to go on with\."
    with pytest.raises(RegardError, match=message):
        regard.train(out=tmp_path / "run")
