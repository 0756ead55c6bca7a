"""Recipes: TOML files that hold all of a run, so that one command gives a published result from raw files.

A recipe is a file of settings with a table `recipe` on top: the task, the preset, and where the files come from.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

from regard.config.data_files import data_keys
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


class Recipe(NamedTuple):
    """A recipe that was read."""

    path: Path
    task: str
    preset: str
    files: str
    settings: dict[str, Any]
    """Tables of settings, as `regard train` takes them."""

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
                result = [self._find(key, str(name)) for name in names]
                data[key] = result if isinstance(data[key], list | tuple) else result[0]
        return merge(chosen, {"data": data})

    def _find(self, key: str, name: str) -> str:
        if not name or name.startswith(("builtin:", "hf:")) or glob(name, recursive=True):
            return name
        for ending in COMPRESSED:
            if os.path.exists(name + ending):
                return name + ending
        raise DataError(
            f"data.{key}: must be a file that {self.path.name} reads, plain or compressed; received {name}, which is "
            f"not there. {self.files}"
        )


def read_recipe(path: str | Path, *, task: str = "") -> Recipe:
    """Read a recipe, or any file of settings; `task` is that of a file which names none.

    A task that the recipe names differently is an error.
    """
    path = Path(path)
    table = load_toml(path)
    named = table.pop("recipe", None)
    head = read_settings(Head, {} if named is None else named, at="recipe")
    if named is not None and task and find_task(task).name != find_task(head.task).name:
        raise ArgumentError(f"`task` must be {head.task}, that of {path}, or be left out; received {task}.")
    chosen = find_task(head.task if named is not None else task or DEFAULT)
    return Recipe(path, chosen.name, head.preset, head.files, current_names(chosen.settings, table))
