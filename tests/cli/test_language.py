"""`regard generate`, `regard evaluate` and training by `--task language`, run as a user runs them."""

import io
import json
import re
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

import pytest

from regard.cli import main
from regard.cli.train import run_training
from regard.errors import ArgumentError
from regard.tasks.task import TASKS
from regard.tasks.training import find_settings
from unit.tasks.texts import SIZES, write_text


@pytest.fixture
def run(unchecked, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["regard", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of a small Transformer, which no test may change."""
    path = tmp_path_factory.mktemp("language")
    write_text(path / "a.txt")
    chosen = {
        "data": {"corpus": str(path / "a.txt"), "length": 32},
        "tokenizer": {"kind": "character"},
        "model": SIZES["transformer"],
        "train": {"steps": 40, "batch_tokens": 512, "validate_every": 40, "schedule": {"rate": 1e-2, "warm_up": 5}},
    }
    out, error = io.StringIO(), io.StringIO()
    with mock.patch("jaxtyping.config.jaxtyping_disable", True), redirect_stdout(out), redirect_stderr(error):
        run_training("language", chosen, "transformer", path / "run", as_json=True)
    told = json.loads(out.getvalue())
    assert told["tokenization"] == "character of 22"
    assert told["valid_perplexity"] < 3
    assert told["metrics"] == str(path / "run" / "metrics.jsonl")
    assert "valid loss" in error.getvalue()
    return path / "run"


def test_generate(run, folder):
    code, out, _ = run("generate", folder, "the d", "--temperature", "0", "--max-tokens", "8")
    assert (code, out[:5], len(out)) == (0, "the d", 14)
    drawn = [run("generate", folder, "--seed", seed, "--json", "--max-tokens", "20")[1] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(json.loads(drawn[0])["text"]) == 20
    code, out, _ = run("generate", folder, "the d", "--next")
    assert code == 0
    assert out.startswith("next\n")
    assert "attends to" in out
    assert "⏎" in out
    found = json.loads(run("generate", folder, "the d", "--next", "--json")[1])
    assert [one["text"] for one in found["attended_to"]] == ["</s>", *"the d"]
    assert 0 < found["never_output"] < 1


def test_tokens_are_spelled_alike_wherever_they_are_shown(run, folder):
    looked = run("generate", folder, "a b", "--next")[1]
    drawn = run("inspect", folder, "a b")[1]
    for shown in (looked, drawn):
        assert {"⏎", "␣", "a", "b"} <= set(shown.split())
    likely = [line.split()[0] for line in looked.splitlines()[1:6]]
    assert [one.split()[0] for one in drawn.splitlines()[-1].removeprefix("likely: ").split(", ")] == likely


def test_tokens_that_training_never_saw_are_told(run, unchecked, tmp_path, capsys):
    (tmp_path / "a.txt").write_text("ab\n" * 20)
    run_training(
        "language",
        {"data": {"corpus": str(tmp_path / "a.txt")}, "tokenizer": {"kind": "byte"}},
        "bag",
        tmp_path / "run",
    )
    capsys.readouterr()
    out = run("generate", tmp_path / "run", "--next")[1]
    what = "<unk> and marks that no text has, tokens that the training text lacks, bytes that cannot follow"
    assert re.search(rf"^  and 0\.\d{{3}} for what is never output: {what}$", out, re.MULTILINE)
    assert sorted(line.split()[0] for line in out.splitlines()[1:-1] if "0.000" not in line) == ["a", "b", "⏎"]


def test_evaluate_takes_texts(run, folder, monkeypatch):
    text = folder.parent / "a.txt"
    code, out, _ = run("evaluate", folder)
    assert code == 0
    assert out.startswith(f"run on valid text of {folder}: ")
    code, out, _ = run("evaluate", folder, text)
    assert code == 0
    assert "character of 22; " in out
    assert " 0 of them unknown; ends of lines counted" in out
    assert "note:" not in out
    whole, found = (json.loads(run("evaluate", folder, text, "--set", f"stride={n}", "--json")[1]) for n in (0, 8))
    assert max(whole["perplexity"], found["perplexity"]) < 3
    assert whole["perplexity"] != found["perplexity"]
    assert "|window:32|stride:8|" in found["signature"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("the dog barks\nZ\n"))
    code, out, _ = run("evaluate", folder, text, "-")
    assert code == 0
    assert [line.split("  ")[0] for line in out.splitlines()[1:4]] == [str(text), "standard input", "all"]
    assert "cannot be compared: what is unknown was not spelled" in out


def test_what_is_left_out_is_said(run, unchecked, tmp_path, capsys):
    text = write_text(tmp_path / "a.txt")
    tokens = {"kind": "space", "vocabulary_size": 6}  # two words; all others are unknown
    run_training(
        "language", {"data": {"corpus": str(text)}, "tokenizer": tokens}, "ngram", tmp_path / "run", as_json=True
    )
    assert "|vocabulary:6|model:ngram|order:5|" in json.loads(capsys.readouterr().out)["signature"]
    code, out, _ = run("generate", tmp_path / "run", "the", "--next")
    assert code == 0
    assert re.search(r"^  and 0\.\d{3} for what is never output: <unk> and marks that no text has$", out, re.MULTILINE)
    (tmp_path / "wide.txt").write_text("the  dog\na bird\n")
    _, out, _ = run("evaluate", tmp_path / "run", tmp_path / "wide.txt")
    assert "note: 1 line differs from what the tokens write" in out


def test_evaluate_refuses_what_does_not_fit(run, folder, tmp_path):
    text = folder.parent / "a.txt"
    code, _, error = run("evaluate", folder, "--source", "a.es", "--target", "a.en")
    assert code == 2
    assert (
        "`--source` must be left out for a language model, which is measured on plain text, `--data`; received a.es"
        in error
    )
    assert (
        "`--split` must be left out with `--data`, which is read whole"
        in run("evaluate", folder, text, "--split", "valid")[2]
    )
    assert "strid: unknown key. Did you mean stride?" in run("evaluate", folder, text, "--set", "strid=3")[2]
    code, _, error = run("evaluate", "--hypotheses", "out.txt", "--source", "a", "--target", "b")
    assert "Text files" not in error
    other = shutil.copytree(folder, tmp_path / "run")
    (other / "model" / "config.json").write_text('{"source_vocabulary": 9, "target_vocabulary": 9}')  # a translator's
    code, _, error = run("evaluate", other, text)
    assert code == 2
    assert f"Text files must be left out but for a language model; received {text}" in error


def test_mistakes_end_in_a_paragraph(run, folder):
    code, _, error = run("generate", folder, "a", "--temperature", "-1")
    assert code == 2
    assert "`--temperature` must be 0 for the likeliest tokens, or above; received -1.0" in error
    assert run("generate", folder.parent, "a")[0] == 2
    assert run("generate", folder, "the", "--max-tokens", "0")[1] == ""  # not even the prompt


def test_settings_of_the_command_line(run):
    task = TASKS["language"]
    assert find_settings(task, {"data": {"corpus": "a.txt"}}, "gru").data.text == "a.txt"
    shown = run("train", "--task", "language", "--data", "a.txt", "--preset", "gru", "--print-config")[1]
    assert 'text = "a.txt"' in shown
    with pytest.raises(ArgumentError, match="`source` must be left out for a language model, which takes one corpus"):
        find_settings(task, {"data": {"source": "a", "target": "b"}}, "")


def test_a_prompt_may_be_piped_in(run, folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("the d\n"))
    code, out, error = run("generate", folder, "--temperature", "0", "--max-tokens", "8")
    assert (code, out[:5], error) == (0, "the d", "")
    assert out == run("generate", folder, "the d", "--temperature", "0", "--max-tokens", "8")[1]


def test_what_is_unknown_is_named(run, folder):
    code, _, error = run("generate", folder, "ZZ9", "--max-tokens", "1")
    assert (code, error) == (0, "regard: not in the text that the model was trained on: 'Z', '9'\n")


def test_what_may_follow_is_not_drawn(run, folder):
    code, _, error = run("generate", folder, "a", "--next", "--temperature", "0.1")
    assert code == 2
    assert "`--next` must go without --max-tokens, --temperature, --top-k, --top-p and --seed: it shows" in error


def test_arguments_are_called_as_on_the_command_line(run, folder):
    assert (
        "regard: `--max-tokens` must be at least 1; received 0." in run("generate", folder, "a", "--max-tokens", "0")[2]
    )
    assert "regard: `--top-p` must be above 0" in run("generate", folder, "a", "--top-p", "0")[2]
    assert "regard: `--device` must be cpu, auto" in run("generate", folder, "a", "--device", "toaster")[2]
    assert "regard: `MODEL` must be a model folder" in run("generate", folder.parent, "a")[2]
