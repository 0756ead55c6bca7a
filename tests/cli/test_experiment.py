"""`regard experiment`, run as a user runs it."""

import json
from functools import partial

import pytest

from regard.cli import tables
from regard.cli.experiment import show_value
from regard.experiments import EXPERIMENTS


@pytest.fixture
def run(run):
    """Run one command."""
    return partial(run, "experiment")


def test_the_list_names_each_with_its_idea(run):
    done = run("--list")
    assert done.returncode == 0, done.stderr
    for one in EXPERIMENTS:
        assert any(
            line.startswith(one.name) and one.idea in line and one.shows in line for line in done.stdout.split("\n")
        )
    assert [one["name"] for one in json.loads(run("--list", "--json").stdout)] == [one.name for one in EXPERIMENTS]


def test_an_experiment_prints_its_table_and_writes_its_files(run, tmp_path):
    done = run("scaling", "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.split("\n")
    assert lines[0] == "Random queries over 32 keys"
    assert " ".join(lines[1].split()) == "score width variance largest weight entropy, bits softmax gradient"
    assert "From width 4 to 1024 the variance of dot products goes from" in done.stdout
    assert "\x1b" not in done.stdout
    assert all(len(line) <= 100 for line in lines)
    assert "scaling: done in" in done.stderr
    files = {path.name for path in (tmp_path / "scaling").iterdir()}
    assert files == {"table.csv", "table.json", "figure.png", "figure.svg"}


@pytest.mark.slow
def test_numbers_for_machines_are_those_of_the_seed(run, tmp_path):
    first, other = (
        json.loads(run("kernel-regression", "--quick", "--seed", seed, "--json", "--out", tmp_path).stdout)
        for seed in (1, 2)
    )
    assert first["name"] == "kernel-regression"
    assert first["signature"].startswith("experiment:kernel-regression|seed:1|quick:yes|version:")
    assert len(first["reading"]) == 3
    assert first["tables"] != other["tables"]
    assert json.loads((tmp_path / "kernel-regression" / "table.json").read_text())["tables"] == other["tables"]


@pytest.mark.slow
def test_on_a_terminal_a_narrow_one_too_no_number_is_lost(run, tmp_path, monkeypatch):
    monkeypatch.setattr(tables.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    assert "the scaled dot product" in run("--list").stdout
    done = run("scaling", "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "softmax gradient" in done.stdout
    assert "…" not in done.stdout


@pytest.mark.slow
def test_all_runs_one_after_the_other(run, tmp_path, monkeypatch):
    import regard.experiments

    few = tuple(one for one in EXPERIMENTS if one.name in ("scaling", "kernel-regression"))
    monkeypatch.setattr(regard.experiments, "EXPERIMENTS", few)
    done = run("--all", "--quick", "--json", "--out", tmp_path)
    assert [found["name"] for found in json.loads(done.stdout)] == [one.name for one in few]
    assert done.stderr.count("done in") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "`regard experiment` must be given one of a name, --list and --all; received none."),
        (
            ("scaling", "--all"),
            "`regard experiment` must be given one of a name, --list and --all; received more than one.",
        ),
        (("scalign",), "`NAME` must be an experiment; received scalign. Did you mean scaling?"),
    ],
)
def test_wrong_arguments_end_in_one_paragraph(run, arguments, message):
    done = run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr.replace("\n", " ")
    assert done.stdout == ""


def test_a_file_is_no_folder_for_results(run, tmp_path):
    (tmp_path / "file").write_text("")
    done = run("scaling", "--quick", "--out", tmp_path / "file")
    assert done.returncode == 2
    assert done.stderr == f"regard: `--out` must be a folder; received the file {tmp_path / 'file'}.\n"


def test_numbers_are_short():
    shown = [show_value(value) for value in (0.5, 250000.0, 3e6, -0.25, 7, "word", 0.0)]
    assert shown == ["0.500", "250,000", "3.0e+06", "-0.250", "7", "word", "0.00"]
