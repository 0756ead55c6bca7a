"""`--engine`: what commands refuse, and `regard tokenize`; over Ray itself in one long test."""

import importlib.util
import os
import subprocess
import sys

import pytest

from unit.scale.tiny import make_model, write_lines, write_pairs


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("tiny") / "run")


def regard(*arguments):
    command = [sys.executable, "-m", "regard", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=os.environ)


WRONG = {
    "unknown": (
        ["translate", "x", "--input", "a", "--output", "b", "--engine", "rya"],
        "`--engine` must be torch, ctranslate2, ray or ray:ADDRESS, such as ray:10.0.0.1:6379; received rya. Did you "
        "mean ray?",
    ),
    "no output": (
        ["translate", "x", "--input", "a", "--engine", "ray"],
        "`--engine ray` must have files for its input and its --output; received none.",
    ),
    "a sentence": (
        ["translate", "x", "una casa", "--engine", "ray"],
        "`--engine ray` must have files for its input and its --output; received none.",
    ),
    "weights": (
        ["align", "x", "--source", "a", "--target", "b", "--output", "c", "--engine", "ray", "--json"],
        "`--json` must be left out with --engine ray; received it. Leave out one of them.",
    ),
    "counting": (
        ["align", "ibm-1", "--source", "a", "--target", "b", "--output", "c", "--engine", "ray"],
        "`--engine ray` must have models that attend; received ibm-1. Leave out one.",
    ),
    "links elsewhere": (
        ["align", "x", "--source", "a", "--target", "b", "--output", "c"],
        "`--output` and `--overwrite` must go with --engine ray; links go to standard output.",
    ),
    "figures elsewhere": (
        ["evaluate", "x", "--output", "c"],
        "`--output` and `--overwrite` must go with --engine ray; received them alone.",
    ),
    "a figure": (
        ["evaluate", "x", "--source", "a", "--target", "b", "--output", "c", "--engine", "ray", "--figure", "f.png"],
        "`--figure` must be left out with --engine ray; received it. Leave out one of them.",
    ),
    "a side": (["tokenize", "x", "a", "--side", "left"], "`--side` must be source or target; received left."),
    "nothing": (["tokenize", "x"], "Either sentences or `--input` must be given; received neither."),
    "no file": (
        ["tokenize", "x", "--input", "a"],
        "`--input` and `--output` must go together; received one of them.",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_mistakes_are_one_paragraph(arguments, message, monkeypatch, capsys):
    from regard import cli

    monkeypatch.setattr(sys, "argv", ["regard", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"regard: {message}\n"


def test_tokens_of_a_sentence_and_of_a_file(model, tmp_path, monkeypatch, capsys):
    from regard import cli

    source = write_lines(tmp_path / "a.txt", 50)
    output = tmp_path / "tokens.txt"
    for arguments in (["una casa"], ["--input", str(source), "--output", str(output), "--numbers"]):
        monkeypatch.setattr(sys, "argv", ["regard", "tokenize", str(model), *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code
    assert "casa" in capsys.readouterr().out
    assert len(output.read_text().splitlines()) == 50


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs regard[ray]")
def test_commands_over_ray_write_what_they_print_without(model, tmp_path):
    source, target = write_pairs(tmp_path, 30)
    done = regard("align", model, "--source", source, "--target", target, "--output", tmp_path / "l", "--engine", "ray")
    assert done.returncode == 0, done.stderr
    plain = regard("align", model, "--source", source, "--target", target)
    assert (tmp_path / "l").read_text() == plain.stdout
    asked = ["translate", model, "--input", source, "--beam", "1", "--device", "cpu"]
    done = regard(*asked, "--output", tmp_path / "t", "--engine", "ray")
    assert done.returncode == 0, done.stderr
    assert "30 lines in" in done.stderr
    assert (tmp_path / "t").read_text() == regard(*asked).stdout
    asked = ["evaluate", model, "--source", source, "--target", target, "--set", "samples=50"]
    done = regard(*asked, "--output", tmp_path / "c", "--engine", "ray")
    assert done.returncode == 0, done.stderr
    assert next(line for line in done.stdout.splitlines() if "BLEU" in line) in regard(*asked).stdout
