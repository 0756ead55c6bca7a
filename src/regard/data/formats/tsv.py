"""Tab-separated columns, one pair per line. A tab always separates: there is no quoting."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from regard.data.formats.lines import read_lines
from regard.data.formats.records import BadLine, Record, make_record
from regard.errors import DataError, brief, nearest


class _Layout(NamedTuple):
    source: int  # from 0
    target: int
    columns: int | None  # not known before the first line that has enough of them


@dataclass(frozen=True, kw_only=True)
class Tsv:
    """A file of tab-separated columns.

    Columns are numbered from 1, as `cut` does, or named after a header line. With neither, the first two are meant,
    and a first line that says `source` and `target` is taken for a header.
    """

    path: Path
    """The file."""
    source: int | str | None = None
    """Source column, by number from 1 or by name in the header."""
    target: int | str | None = None
    """Target column, by number from 1 or by name in the header."""
    header: bool = False
    """Whether the first line names the columns; it does in any case where a column is given by name."""
    kind: Literal["tsv"] = "tsv"

    def __post_init__(self) -> None:
        for name, column in (("source", self.source), ("target", self.target)):
            if isinstance(column, int) and column < 1:
                raise DataError(f"`{name}` must be a column from 1; received {column}. The first column is 1.")

    def records(self) -> Iterator[Record]:
        """Give one record per line after the header."""
        lines = enumerate(read_lines(self.path), start=1)
        layout: _Layout | None = None
        for number, line in lines:
            if isinstance(line, BadLine):
                yield line
                continue
            cells = line.split("\t")
            if layout is None:
                layout, is_header = self._layout(cells)
                if is_header:
                    continue
            place = f"{self.path}, line {number}"
            needed = max(layout.source, layout.target) + 1
            if layout.columns is None and len(cells) >= needed:
                layout = layout._replace(columns=len(cells))
            if len(cells) != layout.columns:
                expected = f"have {layout.columns or needed} tab-separated columns"
                yield BadLine("columns", place, expected, f"{len(cells)}", line)
            else:
                yield make_record(cells[layout.source], cells[layout.target], place)

    def _layout(self, cells: list[str]) -> tuple[_Layout, bool]:
        names = [cell.strip() for cell in cells]
        named = isinstance(self.source, str) or isinstance(self.target, str)
        if self.source is None and self.target is None and {"source", "target"} <= {name.lower() for name in names}:
            lower = [name.lower() for name in names]
            return _Layout(lower.index("source"), lower.index("target"), len(cells)), True
        first_is_target = self.target == 1 or (isinstance(self.target, str) and names[:1] == [self.target])
        source = self._index("source", self.source, names, default=2 if first_is_target else 1)
        target = self._index("target", self.target, names, default=2 if source == 0 else 1)
        if source == target:
            raise DataError(f"`source` and `target` must be two columns; received column {source + 1} for both.")
        is_header = self.header or named
        return _Layout(source, target, len(cells) if is_header else None), is_header

    def _index(self, side: str, column: int | str | None, names: list[str], *, default: int) -> int:
        if isinstance(column, str):
            if column not in names:
                raise DataError(
                    f"`{side}` must name a column of {self.path}; received {brief(column)!r}, and its first line has "
                    f"{len(names)} columns. {nearest(column, names)}"
                )
            return names.index(column)
        return (default if column is None else column) - 1
