"""From TOML and `--set key=value` to typed settings, strictly: nothing is ignored, nothing is guessed.

Settings come in layers (defaults, preset, file, command line), merged as plain tables and then read once, so that every
mistake is found by the same code and named by its dotted key.
"""

import math
import tomllib
import types
import typing
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

from regard.config.show import field_help, to_table
from regard.errors import ArgumentError, brief, near_miss, nearest
from regard.files import read_toml

Settings = TypeVar("Settings")
Table = Mapping[str, Any]


OLD_NAMES: Mapping[str, str] = {
    "train.batch_tokens": "batch_size",  # where it counted pictures
    "model.look": "attention",
    "model.num_looks": "num_layers",
    "model.attention.place": "alignment",
}
"""Names that settings had in files of older versions, which are still read; only the new ones are written."""
OLD_VALUES: Mapping[tuple[str, str], str] = {("model.look", "places"): "positions"}
"""The same for values, by the old key."""
ONCE_SHARED: Mapping[str, float | None] = {
    "train.r_drop": 0.0,
    "train.bpe_dropout": 0.0,
    "train.guided_alignment": 0.0,
    "train.valid_sentences": None,
    "train.samples": None,
}
"""Settings that every task had once: files of tasks that do not use them may name them, off where off is a value."""


class Written(str):
    """A value from the command line, whose type is known only when its key is."""


def read_settings(settings: type[Settings], *layers: Table, at: str = "") -> Settings:
    """Read tables, later ones over earlier ones, into a dataclass.

    >>> from regard.config.train import Train
    >>> read_settings(Train, {"stpes": 3}, at="train")
    Traceback (most recent call last):
    regard.errors.ArgumentError: train.stpes: unknown key. Did you mean steps?
    """
    table: Table = {}
    for layer in layers:
        table = merge(table, layer)
    result: Settings = _read_table(settings, table, at)
    return result


def read_any_version(settings: type[Settings], table: Table) -> Settings:
    """Read a table that some version of regard wrote into a run or model folder."""
    return read_settings(settings, current_names(settings, table))


def current_names(settings: type[Any], table: Table) -> dict[str, Any]:
    """Give a table that an older version may have written under the names that these settings have today.

    >>> from regard.config.vision import SavedQuestions
    >>> current_names(SavedQuestions, {"model": {"num_looks": 2, "look": "places"}})
    {'model': {'num_layers': 2, 'attention': 'positions'}}
    """
    return _renamed([settings], table, "")


def _renamed(kinds: Sequence[type[Any]], table: Table, at: str) -> dict[str, Any]:
    """Rename the keys of a table that is one of `kinds`, and of the tables in it."""
    hints: dict[str, list[Any]] = {}
    for kind in kinds:
        for name, hint in typing.get_type_hints(kind).items():
            hints.setdefault(name, []).extend(_choices(hint))
    result = {}
    for name, value in table.items():
        key, new = f"{at}{name}", OLD_NAMES.get(f"{at}{name}", name)
        if name not in hints and key in ONCE_SHARED and (ONCE_SHARED[key] is None or value == ONCE_SHARED[key]):
            continue
        if name not in hints and new in hints and new not in table:
            name, value = new, OLD_VALUES.get((key, value), value) if isinstance(value, str) else value
        inner = [choice for choice in hints.get(name, ()) if is_dataclass(choice)]
        is_table = inner and isinstance(value, Mapping)
        result[name] = _renamed(typing.cast(list[type[Any]], inner), value, f"{key}.") if is_table else value
    return result


def find_kind(table: Table, kinds: Mapping[str, type[Any]]) -> str:
    """Name the settings that a whole table is of, if any: of several that can read it, those that lack the fewest."""
    lacking = {}
    for name, settings in kinds.items():
        with suppress(ArgumentError):
            whole = to_table(read_any_version(settings, table))
            lacking[name] = _count(whole) - _count(current_names(settings, table))
    return min(lacking, key=lacking.__getitem__, default="")


def _count(table: Table) -> int:
    return sum(_count(value) if isinstance(value, Mapping) else 1 for value in table.values())


def load_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    try:
        return read_toml(path)
    except OSError as error:
        raise ArgumentError(
            f"`recipe` must be a TOML file of settings; {path} cannot be read ({error.strerror}). Write one with "
            "--print-config > my.toml."
        ) from error


def parse_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """Turn `train.steps=500` into tables.

    >>> parse_assignments(["train.steps=500"])
    {'train': {'steps': '500'}}
    """
    tables: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        names = key.strip().split(".")
        if not equals or not all(names):
            raise ArgumentError(f"`--set` must be key=value, such as train.steps=500; received {assignment}.")
        table = tables
        for name in names[:-1]:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise ArgumentError(f"{key.strip()}: {name} is a value, set by an earlier --set, and has no keys.")
        table[names[-1]] = Written(value.strip())
    return tables


def plain_values(settings: type[Any], table: Table) -> dict[str, Any]:
    """Give a table whose values of the command line have the types of their keys, as a file has them.

    >>> from regard.config.train import Train
    >>> plain_values(Train, parse_assignments(["steps=500", "device=3", "schedule.rate=1e-3", "graphs=false"]))
    {'steps': 500, 'device': '3', 'schedule': {'rate': 0.001}, 'graphs': False}
    """
    return _typed([settings], table)


def _typed(kinds: Sequence[type[Any]], table: Table) -> dict[str, Any]:
    result = {}
    of_kinds = [typing.get_type_hints(kind) for kind in kinds]
    for name, value in table.items():
        declared = [hints[name] for hints in of_kinds if name in hints] or [str]
        choices = [choice for hint in declared for choice in _choices(hint)]
        if isinstance(value, Mapping):
            tables = [choice for choice in choices if isinstance(choice, type) and is_dataclass(choice)]
            result[name] = _typed(tables, value)
        else:
            is_text = str in choices or any(get_origin(choice) is Literal for choice in choices)
            result[name] = _parse(value, str if is_text else int)
    return result


def check_tables(settings: type[Any], table: Table) -> None:
    """Raise where a value stands for a part of the settings, which is a table.

    >>> from regard.config.vision import SavedQuestions
    >>> check_tables(SavedQuestions, {"model": 3})
    Traceback (most recent call last):
    regard.errors.ArgumentError: model: must be a table of settings; received 3.
    """
    for name, hint in typing.get_type_hints(settings).items():
        choices, value = _choices(hint), table.get(name, {})
        allowed = isinstance(value, Mapping) or is_dataclass(value) or (value is None and type(None) in choices)
        if any(map(is_dataclass, choices)) and not allowed:
            raise _not_a_table(name, value)


def _not_a_table(key: str, value: Any) -> ArgumentError:
    return ArgumentError(f"{key}: must be a table of settings; received {brief(repr(value))}.")


def merge(lower: Table, upper: Table) -> dict[str, Any]:
    """Lay one table over another; a table of another `kind` replaces the one below.

    >>> merge({"train": {"steps": 1, "seed": 2}}, {"train": {"steps": 3}})
    {'train': {'steps': 3, 'seed': 2}}
    """
    merged = dict(lower)
    for key, value in upper.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            other = "kind" in value and "kind" in below and str(value["kind"]) != str(below["kind"])
            merged[key] = dict(value) if other else merge(below, value)
        else:
            merged[key] = value
    return merged


def _read_table(settings: type[Any], table: Table, at: str) -> Any:
    known = {item.name: item for item in fields(settings) if item.init}
    hints = typing.get_type_hints(settings)
    values = {}
    for name, value in table.items():
        key = f"{at}.{name}" if at else name
        if name not in known:
            raise ArgumentError(f"{key}: unknown key. {_advice(settings, key, known)}")
        values[name] = _read(hints[name], value, key, known[name])
    missing = [name for name, item in known.items() if name not in values and _required(item)]
    if missing:
        raise ArgumentError(f"{at}.{missing[0]}: must be set; received nothing.".removeprefix("."))
    try:
        return settings(**values)
    except ArgumentError as error:
        raise ArgumentError(f"{at}: {error}" if at else str(error)) from error


def _advice(settings: type[Any], key: str, known: Mapping[str, Any]) -> str:
    """Return which key may have been meant; one that has another name here, with its help."""
    table, _, name = key.rpartition(".")
    new = OLD_NAMES.get(key, "")
    return f"Set {table}.{new} instead: {field_help(settings)[new]}" if new in known else nearest(name, known)


def _required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _read(hint: Any, value: Any, key: str, field: Field[Any]) -> Any:
    tables = [choice for choice in _choices(hint) if is_dataclass(choice)]
    if tables and not (value is None and type(None) in _choices(hint)):
        if is_dataclass(value) and not isinstance(value, type):
            return value
        if not isinstance(value, Mapping):
            raise _not_a_table(key, value)
        return _read_table(_kind_of(tables, value, key, field), _without_kind(tables, value), key)
    return _read_value(hint, value, key)


def _choices(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (typing.Union, types.UnionType) else (hint,)


def _kind_of(tables: list[Any], value: Table, key: str, field: Field[Any]) -> type[Any]:
    """Pick the alternative that `kind` names, or the default's."""
    if len(tables) == 1:
        return typing.cast(type[Any], tables[0])
    kinds = {get_args(typing.get_type_hints(table)["kind"])[0]: table for table in tables}
    if "kind" not in value:
        if field.default_factory is not MISSING:
            return type(field.default_factory())
        if field.default is not MISSING and field.default is not None:
            return type(field.default)
        raise ArgumentError(f"{key}.kind: must be set; received nothing. Choose one of {', '.join(kinds)}.")
    kind = str(value["kind"])
    if kind not in kinds:
        raise ArgumentError(
            f'{key}.kind: must be one of {", ".join(kinds)}; received "{kind}".{near_miss(kind, kinds)}'
        )
    return typing.cast(type[Any], kinds[kind])


def _without_kind(tables: list[Any], value: Table) -> Table:
    return value if len(tables) == 1 else {name: item for name, item in value.items() if name != "kind"}


_LONGEST = 1000
"""Bits of a whole number that is still a number with a point."""
_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _read_value(hint: Any, value: Any, key: str) -> Any:
    choices = _choices(hint)
    if len(choices) > 1:
        return _read_one_of(choices, value, key)
    if get_origin(hint) is Literal:
        allowed = get_args(hint)
        if value not in allowed:
            near = near_miss(brief(value), map(str, allowed))
            raise ArgumentError(
                f'{key}: must be one of {", ".join(map(str, allowed))}; received "{brief(value)}".{near}'
            )
        return next(item for item in allowed if item == value)
    if get_origin(hint) is tuple:
        return _read_tuple(hint, value, key)
    parsed = _parse(value, hint)
    if hint is float and type(parsed) is int and parsed.bit_length() < _LONGEST:
        return float(parsed)
    if type(parsed) is float and not math.isfinite(parsed):
        raise ArgumentError(f"{key}: must be a finite number; received {parsed}.")
    if type(parsed) is not hint:
        raise ArgumentError(f"{key}: must be {_NAMES.get(hint, str(hint))}; received {_quoted(value)}.")
    return parsed


def _read_one_of(choices: tuple[Any, ...], value: Any, key: str) -> Any:
    if type(None) in choices and (value is None or value == "none"):
        return None
    failures = []
    for choice in choices:
        if choice is type(None):
            continue
        try:
            return _read_value(choice, value, key)
        except ArgumentError as error:
            failures.append(error)
    raise failures[0]


def _read_tuple(hint: Any, value: Any, key: str) -> Any:
    items = _parse(value, tuple)
    if not isinstance(items, list | tuple):
        raise ArgumentError(f"{key}: must be a list; received {_quoted(value)}.")
    return tuple(_read_value(get_args(hint)[0], item, f"{key}[{number}]") for number, item in enumerate(items))


def _parse(value: Any, hint: Any) -> Any:
    """Give a value written on the command line the type its key asks for."""
    if not isinstance(value, Written):
        return value
    if hint is str:
        return str(value)[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else str(value)
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):  # of numbers without end, and of brackets
        return value


def chosen_whole(table: Table, name: str, default: int) -> int:
    """Give a whole number of a table that has been read before, in whatever spelling TOML has, such as 0x10."""
    return int(_parse(table.get(name, default), int))


def _quoted(value: Any) -> str:
    return f'"{brief(value)}"' if isinstance(value, str) else brief(value)
