"""`regard evaluate` and `regard compare`, run as a user runs them."""

import json
import shutil

import pytest

from regard.cli import tables
from regard.cli.draw_lengths import bar, draw_lengths
from regard.studio.models import Models
from regard.tasks.evaluation.held_out import Choice, find_held_out
from unit.studio.visiting import ask, visitor
from unit.tasks.small_run import make_run, write_files

QUICK = ("--set", "search.beam=1", "--set", "samples=40")


RUN = "RUN"
"""Stands for the folder of a run."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    files = write_files(folder)
    return [make_run(folder / preset, files, preset=preset).path for preset in ("fixed", "bahdanau")]


def test_a_run_is_evaluated_on_what_it_held_out(run, runs, tmp_path):
    done = run("evaluate", runs[1], *QUICK, "--bins", "8,14", "--tokenize", "words", "--figure", tmp_path / "a.png")
    assert done.returncode == 0, done.stderr
    folder, pairs = runs[1].parent, len(find_held_out(Choice(), runs[1]).pairs)
    data = f"{folder}/a.es + {folder}/a.en, test pairs of {runs[1]}: {pairs} pairs"
    assert done.stdout.startswith(f"bahdanau on {data}\n")
    for part in ("tok:regard-words", "perplexity", "bits a character", "sentences/s"):
        assert part in done.stdout
    for part in ("By source length", "0–7", "8–13", "14+", "layer 0, head 0", "weight on </s>"):
        assert part in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr == "regard: not kept in evaluation.json: search, bins, tokenize, samples not as usual\n"
    assert (tmp_path / "a.png").is_file()
    assert done.stdout.endswith(f"figure  {tmp_path / 'a.png'}\n")


def test_what_was_measured_on_a_runs_own_pairs_is_kept_for_the_studio(run, runs, monkeypatch):
    kept = runs[0] / "evaluation.json"
    kept.unlink(missing_ok=True)
    run("evaluate", runs[0], "--data", "builtin:hi-en", "--set", "data.size=5", "--json", *QUICK)
    assert not kept.exists()
    for other in ("search.beam=1", "bins=[5]", "samples=40"):
        done = run("evaluate", runs[0], "--json", "--set", other)
        name = other.partition("=")[0].partition(".")[0]
        assert done.stderr == f"regard: not kept in evaluation.json: {name} not as usual\n"
        assert not kept.exists()
    done = run("evaluate", runs[0], "--json")
    assert done.stderr == f"regard: kept in {kept}\n"
    assert json.loads(kept.read_text(encoding="utf-8")) == json.loads(done.stdout)
    client = visitor(Models([runs[0]]))
    result = ask(client, "compare/lengths", models=["fixed"])["results"]["fixed"]
    assert (result["source"], result["sentences"]) == ("evaluation.json", json.loads(done.stdout)["sentences"])

    def full(path, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("regard.files.write_text", full)
    done = run("evaluate", runs[0] / "model")
    assert (done.returncode, done.stderr) == (0, f"regard: {kept} cannot be written (No space left on device).\n")


def test_figures_for_machines(run, runs):
    done = run(
        "evaluate", runs[0], "--data", "builtin:hi-en", "--split", "long", "--set", "data.size=5", "--json", *QUICK
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["test_set"], found["sentences"]) == ("builtin:hi-en, split long, seed 0", 5)
    assert found["attention"] == []
    assert found["perplexity"]["per_token"] > 1


def test_any_output_is_scored_without_a_model(run, tmp_path):
    (tmp_path / "a.es").write_text("uno dos\ntres\n")
    (tmp_path / "a.en").write_text("one two\nthree\n")
    (tmp_path / "out").write_text("one two\nthree\n")
    files = ("--source", tmp_path / "a.es", "--target", tmp_path / "a.en")
    done = run("evaluate", "--hypotheses", tmp_path / "out", *files, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "chrF  100.00" in done.stdout
    assert "fewer than 10 sentences" in done.stdout
    assert "perplexity" not in done.stdout
    assert "Attention" not in done.stdout


def test_runs_and_files_are_compared(run, runs, tmp_path):
    perfect = tmp_path / "perfect.txt"
    perfect.write_text("\n".join(find_held_out(Choice(), runs[0]).references), encoding="utf-8")
    done = run("compare", *runs, perfect, *QUICK, "--figure", tmp_path / "c.svg")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].endswith(" pairs; baseline fixed")
    rows = {line.split()[0]: line.split() for line in lines[3:6]}
    assert rows["fixed"][3] == "–"
    assert rows["perfect.txt"][1:4] == ["100.00", "100.0–100.0", "0.024*"]
    assert rows["perfect.txt"][-3:] == ["–", "–", "–"]
    assert "words  n" in done.stdout
    assert (tmp_path / "c.svg").read_text().startswith("<?xml")
    found = json.loads(run("compare", *runs, "--json", *QUICK).stdout)
    assert [one["name"] for one in found["systems"]] == ["fixed", "bahdanau"]
    assert 0 < found["systems"][1]["difference"]["BLEU"]["p_value"] <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate"], "Either a model or `--hypotheses` must be given; received neither."),
        (["evaluate", "a", "--hypotheses", "b"], "Either a model or `--hypotheses` must be given; received both."),
        (
            ["evaluate", "a", "--bins", "10,x"],
            "`--bins` must be whole numbers with commas, such as 10,20,30; received 10,x.",
        ),
        (
            ["evaluate", "a", "--figure", "a.bmp"],
            "`--figure` must end in .png, .svg or .pdf; received a.bmp.",
        ),
        (["evaluate", RUN, "--set", "serach.beam=1"], "serach: unknown key. Did you mean search?"),
        (
            ["evaluate", RUN, "--tokenize", "word"],
            'tokenize: must be one of auto, 13a, none, words, intl, char, zh; received "word". Did you mean words?',
        ),
        (
            ["compare", "a"],
            "`SYSTEMS` must be two or more; received 1. For one, evaluate it.",
        ),
    ],
)
def test_bad_input_is_one_paragraph(run, runs, arguments, message):
    done = run(*(runs[0] if word == RUN else word for word in arguments))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"regard: {message}\n")


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_help_has_an_example(run, command):
    done = run(command, "--help")
    assert done.returncode == 0
    assert f"Example: regard {command} runs/" in " ".join(done.stdout.split())


def test_bars_are_as_long_as_their_numbers():
    scores = {"a": [(50.0, 45.0, 55.0), (100.0, 100.0, 100.0)], "longer": [(0.0, 0.0, 1.0), (25.0, 20.0, 30.0)]}
    lines = draw_lengths(scores, bins=["0–9", "10+"], sentences=[1200, 7], width=60)
    assert max(map(len, lines)) == 60
    assert [line.count("█") for line in lines[1:]] == [11, 0, 23, 5]  # and an eighth or more at the end of some
    assert "▌" in lines[1]
    assert lines[0].split() == ["words", "n", "BLEU,", "95", "%"]
    assert lines[3].startswith("10+        7  a ")
    assert bar(0.0, top=0.0, cells=5) == ""


def test_a_terminal_gets_a_table_with_lines(monkeypatch, capsys):
    monkeypatch.setattr(tables.sys.stdout, "isatty", lambda: True, raising=False)
    tables.print_table(["", "BLEU"], [["[red]a", "9.1"]], title="scores")
    shown = capsys.readouterr().out
    assert "─" in shown
    assert "[red]a" in shown


def test_a_run_from_elsewhere_opens_its_data_only_when_it_is_trusted(run, tmp_path):
    make_run(tmp_path / "own", write_files(tmp_path / "data", 60))
    shutil.copytree(tmp_path / "own", tmp_path / "copy")
    settings = ("--json", "--set", "search.beam=1", "--set", "search.max_length=4", "--set", "samples=40")
    own = run("evaluate", tmp_path / "own", *settings)
    assert own.returncode == 0, own.stderr
    done = run("evaluate", tmp_path / "copy", *settings)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"regard: `--trust` must be given before what {tmp_path}/copy/config.toml names is op"
    )
    done = run("compare", tmp_path / "own", tmp_path / "copy", *settings)
    assert (done.returncode, done.stderr.startswith("regard: `--trust` must be given before")) == (2, True)
    done = run("evaluate", tmp_path / "copy", "--trust", *settings)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scores"] == json.loads(own.stdout)["scores"]
