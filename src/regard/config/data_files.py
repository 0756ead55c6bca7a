"""Which settings name files of data, so that a run is the same run from whatever folder it is named."""

import glob
import os
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar, cast, get_type_hints

Settings = TypeVar("Settings")

_DATA, _BESIDE = "a file of data", "a file beside the data"
DataName: TypeAlias = Annotated[str, _DATA]
"""A file, folder or pattern whose content is part of a run's fingerprint; or builtin:NAME, or hf:NAME."""
DataNames: TypeAlias = Annotated[tuple[str, ...], _DATA]
"""Several of them."""
FileName: TypeAlias = Annotated[str, _BESIDE]
"""A file whose content is not part of it."""


class _Named(NamedTuple):
    """The names that a setting has, one or several."""

    key: str
    names: tuple[str, ...]
    several: bool
    counted: bool
    """Whether the fingerprint of the data counts their content."""


def start_from(settings: Settings, folder: Path) -> Settings:
    """Let relative names of files start from the folder in which a run began, as far as they are there.

    In that folder itself, and where it is gone, they stay as they are.
    """
    if folder == Path.cwd():
        return settings
    changed = {
        item.key: tuple(
            str(folder / name) if _is_path(name) and _is_there(folder / name) else name for name in item.names
        )
        for item in _named(settings)
    }
    return _with_names(settings, changed)


def take_names(before: Settings, after: Settings, *, same_content: bool) -> Settings:
    """Give the settings `before` with the names of files that `after` has, where they mean the same.

    They do where they are the same paths, and, with `same_content`, wherever both name data that is counted in it.
    """
    others = {item.key: item for item in _named(after)}
    changed = {}
    for item in _named(before):
        other = others.get(item.key)
        if other is None or not all(map(_is_path, (*item.names, *other.names))):
            continue
        same = [os.path.realpath(name) for name in item.names] == [os.path.realpath(name) for name in other.names]
        if same or (same_content and item.counted):
            changed[item.key] = other.names
    return _with_names(before, changed)


def _named(settings: object) -> list[_Named]:
    """List the settings of the part `data` that name files."""
    data = getattr(settings, "data", None)
    if data is None or not is_dataclass(data):
        return []
    hints = get_type_hints(type(data), include_extras=True)
    result = []
    for item in fields(data):
        kinds, value = getattr(hints[item.name], "__metadata__", ()), getattr(data, item.name)
        if kinds:
            names = value if isinstance(value, tuple) else (value,)
            result.append(_Named(item.name, names, isinstance(value, tuple), _DATA in kinds))
    return result


def _with_names(settings: Settings, names: Mapping[str, tuple[str, ...]]) -> Settings:
    several = {item.key for item in _named(settings) if item.several}
    changed = {key: value if key in several else value[0] for key, value in names.items()}
    whole: Any = settings
    return cast(Settings, replace(whole, data=replace(whole.data, **changed))) if changed else settings


def _is_path(name: str) -> bool:
    return bool(name) and not name.startswith(("builtin:", "hf:"))


def _is_there(path: Path) -> bool:
    return os.path.exists(path) or bool(glob.glob(str(path), recursive=True))
