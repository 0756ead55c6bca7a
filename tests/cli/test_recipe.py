"""Recipes, as a user trains and experiments with them."""

import os
import subprocess
import sys
import time

import pytest

from regard.cli import main
from unit.tasks.small_run import write_files

RECIPE = """
[recipe]
preset = "bahdanau"
files = "They are at example.org."
[data]
source = "data/a.es"
target = "data/a.en"
[model]
embedding_size = 8
hidden_size = 8
[train]
steps = 50
threads = 1
valid_sentences = 2
"""
pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.fixture
def regard(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(RECIPE)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["regard", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_a_recipe_is_trained_into_a_folder_of_its_name_and_options_go_over_it(regard, tmp_path):
    write_files(tmp_path / "data", 60)
    code, shown, error = regard("train", "small.toml", "--set", "train.steps=2", "--preset", "dot")
    assert code == 0, error
    assert "model   runs/small/model" in shown
    assert "nrefs:1|case:lc|eff:no|tok:13a" in shown
    text = (tmp_path / "runs/small/config.toml").read_text()
    assert "steps = 2" in text
    assert 'kind = "dot"' in text
    card = (tmp_path / "runs/small/model/README.md").read_text()
    assert "regard train small.toml --set train.steps=2 --preset dot" in card
    code, again, _ = regard("train", "small.toml", "--set", "train.steps=2", "--preset", "dot")
    assert (code, again) == (0, shown)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["train", "small.toml"],
            "data.source: must be a file that small.toml reads, plain or compressed; received data/a.es, which is not "
            "there. They are at example.org.",
        ),
        (["train", "small.toml", "--config", "a"], "`RECIPE` must be named once; received small.toml and --config a."),
        (
            ["train", "small.toml", "--task", "classify"],
            "`--task` must be translate, that of small.toml, or be left out; received classify.",
        ),
        (
            ["experiment", "scaling", "small.toml"],
            "`RECIPE` must go with four-curves or luong-table; received small.toml with scaling.",
        ),
        (
            ["experiment", "luong-table", "--jobs", "2"],
            "`--jobs` and `--set` must go with a recipe, whose text models are trained on; received none.",
        ),
        (
            ["experiment", "luong-table", "small.toml", "--set", "experiment.pairs=-1"],
            "experiment: `pairs` must be at least 0; received -1.",
        ),
    ],
)
def test_bad_input_is_one_paragraph(regard, words, message):
    assert regard(*words) == (2, "", f"regard: {message}\n")


def test_models_in_training_end_with_the_experiment(tmp_path):
    (tmp_path / "small.toml").write_text(RECIPE)
    write_files(tmp_path / "data", 60)
    (tmp_path / "data" / "test.es").write_text("La última frase.\n")
    (tmp_path / "data" / "test.en").write_text("The last sentence.\n")
    settings = ["data.test_source=data/test.es", "data.test_target=data/test.en"]
    settings += ["train.steps=100000", "train.log_every=1"]
    words = ["experiment", "four-curves", "small.toml", "--jobs", "2", *(x for one in settings for x in ("--set", one))]
    process = subprocess.Popen(
        [sys.executable, "-m", "regard", *words],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    begun = time.monotonic()
    while len(list(tmp_path.glob("runs/experiments/four-curves/runs/*/metrics.jsonl"))) < 2:
        if process.poll() is not None or time.monotonic() - begun > 120:
            raise AssertionError(process.communicate())
        time.sleep(0.05)
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in errors) == (143, False)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
