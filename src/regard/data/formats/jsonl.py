"""JSON Lines: one JSON object per line."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.data.formats.lines import read_lines
from regard.data.formats.records import BadLine, Record
from regard.data.formats.rows import Located, read_rows
from regard.files import load_json


@dataclass(frozen=True, kw_only=True)
class JsonLines:
    """A file with a JSON object on each line; `regard.data.formats.rows` says which keys are taken."""

    path: Path
    """The file."""
    source: int | str | None = None
    """Key of the source, a dotted path, or its number from 1."""
    target: int | str | None = None
    """Key of the target, a dotted path, or its number from 1."""
    kind: Literal["jsonl"] = "jsonl"

    def records(self) -> Iterator[Record]:
        """Give one record per line."""
        yield from read_rows(read_objects(self.path), self.source, self.target)


def read_objects(path: Path) -> Iterator[Located]:
    """Give the object on each line of a JSON Lines file."""
    for number, line in enumerate(read_lines(path), start=1):
        location = f"{path}, line {number}"
        yield Located(location, line if isinstance(line, BadLine) else _parse(line, location))


def _parse(line: str, place: str) -> dict[str, object] | BadLine:
    try:
        row = load_json(line)
    except ValueError as error:
        reason = getattr(error, "msg", None) or "what Python's JSON reader refuses"
        return BadLine("json", place, "be a JSON object", f"text that is not JSON ({reason})", line)
    if not isinstance(row, dict):
        return BadLine("json", place, "be a JSON object", f"JSON of type {type(row).__name__}", line)
    return row
