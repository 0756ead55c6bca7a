"""RESULTS.md names only recipes that exist, all of them, and no figure that its page does not record."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from regard.cli import app
from regard.experiments import find
from regard.tasks.recipe import read_recipe
from regard.tasks.task import TASKS

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "RESULTS.md").read_text(encoding="utf-8")
README = (ROOT / "recipes/README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^(regard [^#\n]+?)\s*(?:#.*)?$", TEXT, re.MULTILINE) + re.findall(r"`(regard [^`]+)`", TEXT)
LINKS = re.findall(r"\[([^\]]+)\]\(([^)#]+)(?:#[^)]*)?\)", TEXT)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_names_a_recipe_that_is_there(command: str) -> None:
    program, verb, *words = shlex.split(command)
    known = get_command(app).commands[verb]  # type: ignore[attr-defined]
    with known.make_context(verb, list(words), resilient_parsing=True) as context:
        given = context.params
    if "recipe" not in given:
        assert verb in ("align", "evaluate")
        return
    recipe = read_recipe(ROOT / given["recipe"])
    if verb == "experiment":
        assert find(given["name"]).on_text
    else:
        assert (program, verb) == ("regard", "train")
        assert (given["preset"] or recipe.preset) in TASKS[recipe.task].presets


def test_every_recipe_has_a_command() -> None:
    missing = [path.name for path in (ROOT / "recipes").glob("*.toml") if f"recipes/{path.name}" not in TEXT]
    assert missing == []


@pytest.mark.parametrize(("figure", "page"), [link for link in LINKS if re.match(r"\d", link[0])])
def test_every_figure_is_recorded_on_its_page(figure: str, page: str) -> None:
    assert f"| {figure} |" in (ROOT / page).read_text(encoding="utf-8")


def test_links_lead_somewhere() -> None:
    assert len(LINKS) > 20
    for _, target in LINKS:
        assert (ROOT / target).exists(), target
    for target in re.findall(r"\]\((?!http)([^)#]+)", README):
        assert (ROOT / "recipes" / target).exists(), target


def test_every_folder_that_a_recipe_reads_is_explained() -> None:
    for path in (ROOT / "recipes").glob("*.toml"):
        for name in re.findall(r'= "data/([^"]+)"', path.read_text(encoding="utf-8")):
            assert f"| {name.split('/')[0]}/" in README, f"{path.name}: {name}"
