"""The table of layers is complete, and its links and pictures are there."""

import re
from pathlib import Path

from torch import nn

import regard.layers

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/layers.md").read_text()


def test_every_layer_has_a_row() -> None:
    rows = {name for row in re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    public = {name for name in regard.layers.__all__ if isinstance(getattr(regard.layers, name), type)}
    layers = {name for name in public if issubclass(getattr(regard.layers, name), nn.Module)}
    assert layers - rows == {"LearnedScore"}  # the others' root
    assert rows <= set(regard.layers.__all__)


def test_links_and_pictures_are_there() -> None:
    targets = re.findall(r"\]\((?!http)([^)#]+)\)", PAGE)
    assert targets
    for target in targets:
        assert (ROOT / "docs" / target).exists(), target
    assert all(f"../examples/{path.name}" in PAGE for path in (ROOT / "examples").glob("*.py"))


def test_pictures_are_light() -> None:
    named = [ROOT / "README.md", ROOT / "RESULTS.md", *(ROOT / "docs").glob("*.md")]
    pages = "".join(path.read_text(encoding="utf-8") for path in named)
    for picture in (ROOT / "docs/figures").rglob("*.png"):
        assert picture.stat().st_size < 120_000, picture.name
        assert picture.name in pages
