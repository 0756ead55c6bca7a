"""Columns with tabs or commas between them, one pair per line; `regard.data.formats.cells` divides the lines."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from regard.data.formats.cells import SIDES, Cells, find_separator, is_header, is_language, read_csv, read_tsv
from regard.data.formats.records import BadLine, Record, make_record
from regard.errors import DataError, brief, join_names, nearest


class _Layout(NamedTuple):
    source: int  # from 0
    target: int
    columns: int | None  # not known before the first line that has enough of them


@dataclass(frozen=True, kw_only=True)
class Tsv:
    """A file of tab-separated columns.

    Columns are numbered from 1, as `cut` does, or named after a header line. With neither, a first line that says
    `source` and `target`, or all of whose cells are known names of columns (`cells.is_header`), is a header: source and
    target, or the only two languages, are taken by it. Otherwise the first two are meant.
    """

    path: Path
    """The file."""
    source: int | str | None = None
    """Source column, by number from 1 or by name in the header."""
    target: int | str | None = None
    """Target column, by number from 1 or by name in the header."""
    header: bool = False
    """Whether the first line names the columns; it does in any case where a column is given by name."""
    kind: Literal["tsv", "csv"] = "tsv"
    separated: ClassVar[str] = "tab-separated"

    def __post_init__(self) -> None:
        for name, column in (("source", self.source), ("target", self.target)):
            if isinstance(column, int) and column < 1:
                raise DataError(f"`{name}` must be a column from 1; received {column}. The first column is 1.")

    def records(self) -> Iterator[Record]:
        """Give one record per line after the header."""
        layout: _Layout | None = None
        for number, cells in self._cells():
            if isinstance(cells, BadLine):
                yield cells
                continue
            if layout is None:
                layout, is_first_header = self._layout(cells)
                if is_first_header:
                    continue
            needed = max(layout.source, layout.target) + 1
            if layout.columns is None and len(cells) >= needed:
                layout = layout._replace(columns=len(cells))
            yield self._record(cells, layout, f"{self.path}, line {number}", needed)

    def _cells(self) -> Iterator[Cells]:
        return read_tsv(self.path)

    def _record(self, cells: list[str], layout: _Layout, place: str, needed: int) -> Record:
        if len(cells) == layout.columns:
            return make_record(cells[layout.source], cells[layout.target], place)
        expected = f"have {layout.columns or needed} {self.separated} columns"
        return BadLine("columns", place, expected, f"{len(cells)}", "\t".join(cells))

    def _layout(self, cells: list[str]) -> tuple[_Layout, bool]:
        names = [cell.strip() for cell in cells]
        named = isinstance(self.source, str) or isinstance(self.target, str)
        is_first_header = self.header or named or is_header(names) or self._says_sides(names)
        if self.source is None and self.target is None and is_first_header and (sides := self._find_sides(names)):
            return _Layout(*sides, len(cells)), True
        first_is_target = self.target == 1 or (isinstance(self.target, str) and names[:1] == [self.target])
        source = self._index("source", self.source, names, default=2 if first_is_target else 1)
        target = self._index("target", self.target, names, default=2 if source == 0 else 1)
        if source == target:
            raise DataError(f"`source` and `target` must be two columns; received column {source + 1} for both.")
        return _Layout(source, target, len(cells) if is_first_header else None), is_first_header

    def _says_sides(self, names: list[str]) -> bool:
        """Return whether names that need no telling are among those of a first line, whatever else is."""
        return self.source is None and self.target is None and set(SIDES[0]) <= {name.lower() for name in names}

    def _find_sides(self, names: list[str]) -> tuple[int, int] | None:
        """Find source and target among the names of a header, or its only two languages; a header may have neither."""
        lower = [name.lower() for name in names]
        for source, target in SIDES:
            if source in lower and target in lower:
                return lower.index(source), lower.index(target)
        languages = [index for index, name in enumerate(names) if is_language(name) and name != "id"]
        if len(languages) == 2:
            return languages[0], languages[1]
        if "label" in lower and "text" in lower:
            raise DataError(
                f"{self.path} must have a source and a target; received the first line: "
                f"{join_names(names, letters=400, between=' | ')}. Name them by data.source_column and "
                "data.target_column. Is it for the task classify?"
            )
        return None

    def _index(self, side: str, column: int | str | None, names: list[str], *, default: int) -> int:
        if isinstance(column, str):
            if column not in names:
                raise DataError(
                    f"`{side}` must name a column of {self.path}; received {brief(column)!r}, and its first line has "
                    f"{len(names)} columns. {nearest(column, names)}"
                )
            return names.index(column)
        return (default if column is None else column) - 1


@dataclass(frozen=True, kw_only=True)
class Csv(Tsv):
    """The same with commas, or semicolons where the first line has no comma; cells may be quoted."""

    kind: Literal["tsv", "csv"] = "csv"
    separated: ClassVar[str] = "comma-separated"

    def _cells(self) -> Iterator[Cells]:
        return read_csv(self.path, find_separator(self.path))
