"""Runs as a user handles them: listed, gone on with by their folder alone, given more steps, fine-tuned."""

import json
import sys

import pytest

from regard.cli import main

SMALL = {
    "data.size": 60,
    "train.steps": 4,
    "train.validate_every": 2,
    "train.checkpoint_every": 1,
    "train.valid_sentences": 4,
    "train.threads": 1,
    "train.batch_tokens": 300,
}
NARROW = {"model.embedding_size": 16, "model.hidden_size": 16}
pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture
def regard(monkeypatch, capsys):
    """Run the command line in this process, and give the exit code, what it wrote and what it said."""

    def run(*words, settings=None):
        sets = [word for key, value in (settings or {}).items() for word in ("--set", f"{key}={value}")]
        monkeypatch.setattr(sys, "argv", ["regard", *map(str, words), *sets])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def train(regard, out):
    words = ("train", "--preset", "bahdanau", "--data", "builtin:es-en", "--out", out)
    code, _, said = regard(*words, settings=SMALL | NARROW)
    assert code == 0, said
    return out


def test_a_run_goes_on_and_is_listed_and_fine_tuned(regard, tmp_path, monkeypatch):
    out = train(regard, tmp_path / "runs" / "a")
    code, written, said = regard("train", "--out", out)
    assert code == 0
    assert "is finished; these are its figures" in said
    code, _, said = regard("train", "--out", out, settings={"train.steps": 6})
    assert code == 0, said
    assert "The run goes on after step 4 (train.steps was 4, now 6); its other settings stay as they were." in said
    data = ("--data", "builtin:es-en", "--out", tmp_path / "runs" / "b")
    code, _, said = regard("train", "--from", out, *data, settings=SMALL | {"data.seed": 3})
    assert code == 0, said
    code, written, _ = regard("runs", tmp_path / "runs")
    assert code == 0
    heading, first, second = written.splitlines()
    assert heading.split()[:5] == ["run", "task", "model", "steps", "state"]
    assert first.split()[1:5] == ["translate", "recurrent-gru-additive", "6/6", "finished"]
    assert f"train.start={out}" in second
    code, written, _ = regard("runs", tmp_path / "runs", "--json")
    found = json.loads(written)["runs"]
    assert [(run["steps"], run["state"]) for run in found] == [(6, "finished"), (4, "finished")]
    assert found[1]["settings"]["data.seed"] == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--from", "A", "--preset", "luong"), "`--preset` must be left out with `--from`, whose model is trained"),
        (
            ("--from", "A", "--set", "model.hidden_size=8"),
            "model.hidden_size is 16 there, here 8. Leave these settings",
        ),
        (("--from", "A", "--task", "classify"), "must be the folder of a text classifier"),
        (("--from", "nowhere"), "must be a model folder or a run folder; received nowhere, which is not there."),
    ],
)
def test_mistakes_with_a_start_are_one_paragraph_and_leave_nothing(regard, tmp_path, run, words, message):
    words = [str(run) if word == "A" else word for word in words]
    out = tmp_path / "new"
    code, _, said = regard("train", *words, "--data", "builtin:es-en", "--out", out, settings={"data.size": 60})
    assert code == 2
    assert message in said.splitlines()[-1]
    assert not out.exists()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    from unit.tasks.every_task import run_task

    out = tmp_path_factory.mktemp("start") / "a"
    run_task("translate", out, table={"model": {"embedding_size": 16, "hidden_size": 16}})
    return out


def test_a_folder_without_runs_is_refused(regard, tmp_path):
    code, _, said = regard("runs", tmp_path)
    assert (code, said.count("\n")) == (2, 1)
    assert f"must hold runs; {tmp_path} holds none. `regard train --out {tmp_path}/a` makes one." in said
    code, _, said = regard("runs", tmp_path / "nowhere")
    assert code == 2
    assert "must be a folder of runs; received" in said


def test_a_new_folder_alone_still_needs_data(regard, tmp_path):
    code, _, said = regard("train", "--out", tmp_path / "new")
    assert code == 2
    assert "--data" in said
