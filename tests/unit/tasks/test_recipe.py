"""Recipes: files of settings that hold all of a run, and say where their data comes from."""

import gzip
from pathlib import Path

import pytest

import regard
from regard.errors import ArgumentError, DataError
from regard.tasks.recipe import read_recipe
from regard.tasks.task import TASKS
from unit.tasks.small_run import write_files

ROOT = Path(__file__).parents[3]
RECIPES = sorted((ROOT / "recipes").glob("*.toml"))
SMALL = """
[recipe]
preset = "bahdanau"
files = "They are at example.org; put them into data."

[data]
source = "data/a.es"
target = "data/a.en"

[model]
embedding_size = 8
hidden_size = 8

[train]
steps = 2
threads = 1
"""


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_is_read_strictly(path):
    recipe = read_recipe(path)
    task = TASKS[recipe.task]
    assert recipe.preset in task.presets
    assert len(recipe.files) > 20
    assert str(recipe.out) == f"runs/{path.stem}"
    config = task.compose(recipe.settings, task.typical, recipe.preset)
    assert task.needs_data(config) or recipe.task != "translate"
    assert config.train.steps == recipe.settings.get("train", {}).get("steps", config.train.steps)
    head = path.read_text(encoding="utf-8").partition("[recipe]")[0]
    assert all(line.startswith("#") for line in head.strip().splitlines())
    assert f"#   regard train recipes/{path.name}" in head
    named = [value for value in recipe.settings["data"].values() if isinstance(value, str) and "/" in value]
    assert all(name.startswith("data/") for name in named)


def test_there_are_recipes_of_every_task():
    assert {read_recipe(path).task for path in RECIPES} == set(TASKS)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


def test_files_are_found_compressed_or_not_and_else_where_to_get_them(here):
    recipe = read_recipe("small.toml")
    with pytest.raises(
        DataError, match=r"^data.source: must be a file that small.toml reads, .*; received data/a.es, "
    ):
        recipe.prepare({})
    with pytest.raises(DataError, match=r"which is not there. They are at example.org; put them into data.$"):
        recipe.prepare({})
    write_files(here / "data", 60)
    (here / "data/a.es.gz").write_bytes(gzip.compress((here / "data/a.es").read_bytes()))
    (here / "data/a.es").unlink()
    found = recipe.prepare({"train": {"steps": 3}})
    assert (found["data"]["source"], found["data"]["target"]) == ("data/a.es.gz", "data/a.en")
    assert found["train"] == {"steps": 3, "threads": 1}
    assert recipe.prepare({"data": {"source": "builtin:x"}})["data"]["source"] == "builtin:x"


def test_a_recipe_trains_from_python(here):
    write_files(here / "data", 60)
    translator = regard.train(recipe="small.toml", out="runs/a", settings={"train.seed": 3})
    assert repr(translator).startswith("Translator(recurrent, ")
    text = (here / "runs/a/config.toml").read_text()
    assert "seed = 3" in text
    assert 'source = "data/a.es"' in text
    card = (here / "runs/a/model/README.md").read_text()
    assert "regard.train('translate', recipe='small.toml', out='runs/a', settings={'train.seed': 3})" in card


def test_what_is_no_recipe_is_refused(here):
    (here / "bad.toml").write_text("[recipe]\ntsak = 3\n")
    with pytest.raises(ArgumentError, match=r"recipe.tsak: unknown key. Did you mean task\?"):
        read_recipe("bad.toml")
    with pytest.raises(ArgumentError, match=r"`recipe` must be a TOML file of settings; absent.toml cannot be read"):
        read_recipe("absent.toml")
    with pytest.raises(ArgumentError, match=r"`task` must be translate, that of small.toml, or be left out; received"):
        read_recipe("small.toml", task="classify")
    (here / "plain.toml").write_text("[train]\nsteps = 3\n")
    assert read_recipe("plain.toml", task="classify").settings == {"train": {"steps": 3}}
