"""Recipes: TOML files that hold all of a run, so that one command gives a published result from raw files.

A recipe is a file of settings with a table `recipe` on top: the task, the preset, and where the files come from.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

from regard.config.checks import check_least
from regard.config.data_files import DataName, data_keys
from regard.config.read import current_names, load_toml, merge, read_settings
from regard.errors import ArgumentError, DataError
from regard.tasks.task import DEFAULT, find_task

COMPRESSED = ("", ".gz", ".xz", ".zst", ".bz2")
"""Endings that a file of a recipe may have besides its name."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """The table `recipe` of a recipe."""

    task: str = DEFAULT
    """The task, as in --task."""
    preset: str = ""
    """A named model of the task."""
    files: str = ""
    """Where the files come from, for whoever does not have them."""


@dataclass(frozen=True, kw_only=True)
class OnText:
    """The table `experiment` of a recipe: what `regard experiment` does with its text."""

    pairs: int = 0
    """Training pairs, the first of the files; 0 is all."""
    tested: int = 0
    """Test pairs, the first of the files; 0 is all."""
    size: int = 256
    """Width of word vectors and states of every model."""
    beam: int = 5
    """Hypotheses of the search."""
    gold_source: DataName = ""
    """Sentences whose word links are known, one a line."""
    gold_target: DataName = ""
    """Their translations."""
    gold_links: DataName = ""
    """The links, one line a pair, such as 0-0 1-2, counted from 0; words are what stands between spaces."""

    def __post_init__(self) -> None:
        check_least(self, 0, "pairs", "tested")
        check_least(self, 1, "size", "beam")
        files = (self.gold_source, self.gold_target, self.gold_links)
        if any(files) and not all(files):
            raise ArgumentError("`gold_source`, `gold_target` and `gold_links` must be given together; received some.")


class Recipe(NamedTuple):
    """A recipe that was read."""

    path: Path
    task: str
    preset: str
    files: str
    settings: dict[str, Any]
    """Tables of settings, as `regard train` takes them."""
    on_text: OnText = OnText()

    def prepare(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """Lay the caller's settings over the recipe's, and find the files that they name."""
        return self.find_files(merge(self.settings, chosen))

    @property
    def out(self) -> Path:
        """The run folder where none is named: runs/ and the recipe's name."""
        return Path("runs") / self.path.stem

    def find_files(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """Give settings with the files that are there, compressed or not; raise where one is not, with where to get it.

        `chosen` are the recipe's settings with those of the caller over them. A file of settings that names no `files`
        is no recipe, and its names are taken as they are.
        """
        if not self.files:
            return dict(chosen)
        data = dict(chosen.get("data", {}))
        for key in data_keys(find_task(self.task).settings):
            if key in data:
                names = data[key] if isinstance(data[key], list | tuple) else [data[key]]
                result = [self.find_file(f"data.{key}", str(name)) for name in names]
                data[key] = result if isinstance(data[key], list | tuple) else result[0]
        return merge(chosen, {"data": data})

    def find_file(self, key: str, name: str) -> str:
        """Give the name of a file that is there, compressed or not."""
        if not name or name.startswith(("builtin:", "hf:")) or glob(name, recursive=True):
            return name
        for ending in COMPRESSED:
            if os.path.exists(name + ending):
                return name + ending
        raise DataError(
            f"{key}: must be a file that {self.path.name} reads, plain or compressed; received {name}, which is "
            f"not there. {self.files}"
        )


def read_recipe(path: str | Path, *, task: str = "") -> Recipe:
    """Read a recipe, or any file of settings; `task` is that of a file which names none.

    A task that the recipe names differently is an error.
    """
    path = Path(path)
    table = load_toml(path)
    named, on_text = table.pop("recipe", None), read_settings(OnText, table.pop("experiment", {}), at="experiment")
    head = read_settings(Head, {} if named is None else named, at="recipe")
    if named is not None and task and find_task(task).name != find_task(head.task).name:
        raise ArgumentError(f"`task` must be {head.task}, that of {path}, or be left out; received {task}.")
    chosen = find_task(head.task if named is not None else task or DEFAULT)
    return Recipe(path, chosen.name, head.preset, head.files, current_names(chosen.settings, table), on_text)
