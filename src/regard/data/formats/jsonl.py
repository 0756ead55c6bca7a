"""JSON Lines: one JSON object per line."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from regard.data.formats.lines import read_lines
from regard.data.formats.records import BadLine, Record
from regard.data.formats.rows import Sides, find_sides, make_row_record, unknown_sides


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
        sides: Sides | None = None
        for number, line in enumerate(read_lines(self.path), start=1):
            place = f"{self.path}, line {number}"
            if isinstance(line, BadLine):
                yield line
                continue
            row = _parse(line, place)
            if isinstance(row, BadLine):
                yield row
                continue
            if sides is None:
                found = find_sides(row, self.source, self.target)
                if isinstance(found, str):
                    yield unknown_sides(row, found, place)
                    continue
                sides = found
            yield make_row_record(row, sides, place)


def _parse(line: str, place: str) -> dict[str, object] | BadLine:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", None) or "what Python's JSON reader refuses"
        return BadLine("json", place, "be a JSON object", f"text that is not JSON ({reason})", line)
    if not isinstance(row, dict):
        return BadLine("json", place, "be a JSON object", f"JSON of type {type(row).__name__}", line)
    return row
