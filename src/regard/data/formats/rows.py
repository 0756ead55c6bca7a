"""Find the two sides of a pair in a row of named values: a JSON object, a Parquet or a `datasets` row.

With names given, they are searched at the top, along a dotted path (`translation.de`), or inside `translation`.
Without, the first row decides for all: `source` and `target`, else the two languages of `translation`, else the only
two columns whose names are language codes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from regard.data.formats.records import BadLine, Record, make_record
from regard.errors import brief, join_names, nearest

Row: TypeAlias = Mapping[str, object]
KeyPath: TypeAlias = tuple[str, ...]

_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]{2,8})*")


class Located(NamedTuple):
    """A row and where it stands, or what is wrong there."""

    place: str
    row: Row | BadLine


class Sides(NamedTuple):
    """Where in a row the source and the target stand."""

    source: KeyPath
    target: KeyPath


def with_locations(rows: Iterable[Row], name: str) -> Iterator[Located]:
    """Number the rows of what is called `name`, from 1."""
    for number, row in enumerate(rows, start=1):
        yield Located(f"{name}, row {number}", row)


def read_rows(rows: Iterable[Located], source: int | str | None, target: int | str | None) -> Iterator[Record]:
    """Give a record for each row; the first in which both sides are found decides for all."""
    sides: Sides | None = None
    for where, row in rows:
        if isinstance(row, BadLine):
            yield row
            continue
        result = sides or find_sides(row, source, target)
        if isinstance(result, str):
            yield unknown_sides(row, result, where)
        else:
            sides = result
            yield make_row_record(row, sides, where)


def find_sides(row: Row, source: int | str | None, target: int | str | None) -> Sides | str:
    """Find both sides in the first row, or describe what was searched for.

    >>> find_sides({"translation": {"de": "Hund", "en": "dog"}}, None, None)
    Sides(source=('translation', 'de'), target=('translation', 'en'))
    >>> find_sides({"id": "7", "en": "dog", "de": "Hund"}, "de", None)
    Sides(source=('de',), target=('en',))
    >>> find_sides({"german": "Hund", "english": "dog"}, "germn", "english")
    "have a key 'germn' (did you mean german?)"
    """
    named: list[KeyPath | None] = []
    for name in (source, target):
        path = None if name is None else _find(row, name)
        if name is not None and path is None:
            advice = nearest(str(name), row).rstrip(".?")
            return f"have a key {name!r} ({advice[0].lower()}{advice[1:]}{'?' if 'mean' in advice else ''})"
        named.append(path)
    first, second = named
    if first is not None and second is not None:
        return Sides(first, second)
    named_path = next((path for path in named if path is not None), None)
    both = _guess(row, named_path)
    if both is None:
        return "have the keys source and target, or two language codes (name them with `source` and `target`)"
    if named_path is None:
        return both
    other = next(path for path in both if path != named_path)
    return Sides(named_path, other) if first is not None else Sides(other, named_path)


def make_row_record(row: Row, sides: Sides, place: str) -> Record:
    """Take both sides out of `row`; a key that is not there makes it bad."""
    values: list[object] = []
    for path in sides:
        value: object = row
        for key in path:
            if not isinstance(value, Mapping) or key not in value:
                return BadLine("columns", place, f"have a key {brief('.'.join(path))!r}", _keys(row), "")
            value = value[key]
        values.append(value)
    return make_record(values[0], values[1], place)


def unknown_sides(row: Row, expected: str, place: str) -> BadLine:
    """Report that no sides were found in `row`."""
    return BadLine("columns", place, expected, _keys(row), "")


def _keys(row: Row) -> str:
    return f"the keys {join_names(row, letters=200)}" if row else "no keys"


def _find(row: Row, name: int | str) -> KeyPath | None:
    if isinstance(name, int):
        keys = list(row)
        return (keys[name - 1],) if 1 <= name <= len(keys) else None
    translation = row.get("translation")
    head, _, rest = name.partition(".")
    nested = row.get(head)
    if name in row:
        return (name,)
    if rest and isinstance(nested, Mapping) and rest in nested:
        return (head, rest)
    if isinstance(translation, Mapping) and name in translation:
        return ("translation", name)
    return None


def _guess(row: Row, known: KeyPath | None) -> Sides | None:
    """Find two sides by convention, one of which is `known` where it is given."""
    translation = row.get("translation")
    candidates: list[list[KeyPath]] = [[("source",), ("target",)] if "source" in row and "target" in row else []]
    if isinstance(translation, Mapping):
        candidates.append([("translation", key) for key in translation])
    candidates.append([(key,) for key in row if _LANGUAGE.fullmatch(key) and key != "id"])
    for paths in candidates:
        if len(paths) == 2 and (known is None or known in paths):
            return Sides(*paths)
    return None
