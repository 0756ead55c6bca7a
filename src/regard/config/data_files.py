"""Which settings name files, so that a run is the same run from whatever folder it is named."""

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
"""A file or folder whose content is not part of it."""


class _Named(NamedTuple):
    """The names that a setting has, one or several."""

    key: tuple[str, str]
    """The part of the settings, such as data, and the setting in it."""
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


def data_keys(settings: type) -> list[str]:
    """Name the settings of `data` that name data, of the settings of a task."""
    data = get_type_hints(settings).get("data")
    hints = get_type_hints(data, include_extras=True) if isinstance(data, type) else {}
    return [name for name, hint in hints.items() if _DATA in getattr(hint, "__metadata__", ())]


def _named(settings: object) -> list[_Named]:
    """List the settings of the parts `data` and `train` that name files."""
    result = []
    for part in ("data", "train"):
        table = getattr(settings, part, None)
        if table is None or not is_dataclass(table):
            continue
        hints = get_type_hints(type(table), include_extras=True)
        for item in fields(table):
            kinds, value = getattr(hints[item.name], "__metadata__", ()), getattr(table, item.name)
            if kinds:
                names = value if isinstance(value, tuple) else (value,)
                result.append(_Named((part, item.name), names, isinstance(value, tuple), _DATA in kinds))
    return result


def _with_names(settings: Settings, names: Mapping[tuple[str, str], tuple[str, ...]]) -> Settings:
    several = {item.key for item in _named(settings) if item.several}
    parts: dict[str, dict[str, Any]] = {}
    for (part, name), value in names.items():
        parts.setdefault(part, {})[name] = value if (part, name) in several else value[0]
    whole: Any = settings
    tables = {part: replace(getattr(whole, part), **changed) for part, changed in parts.items()}
    return cast(Settings, replace(whole, **tables))


def _is_path(name: str) -> bool:
    return bool(name) and not name.startswith(("builtin:", "hf:"))


def _is_there(path: Path) -> bool:
    return os.path.exists(path) or bool(glob.glob(str(path), recursive=True))
