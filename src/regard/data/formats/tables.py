"""One reader of tables for every task: CSV, TSV, JSON Lines, Parquet, or a folder that `datasets` saved.

The name gives the format: .csv, .tsv, .jsonl or .parquet, the first three with or without .gz, .xz, .bz2 or .zst.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from regard.data.formats.cells import Cells, find_separator, is_header, read_csv, read_tsv
from regard.data.formats.jsonl import read_objects
from regard.data.formats.parquet import read_parquet
from regard.data.formats.paths import file_kind, is_file, is_folder, list_folder, missing_file
from regard.data.formats.records import BadLine
from regard.data.formats.rows import Located
from regard.data.formats.saved_dataset import is_saved_dataset, read_saved_dataset
from regard.errors import DataError, brief, join_names, near_miss, nearest

FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet")
_HOW = "Name them: by data.text and data.label to train, by `text` and `label` to classify."


class Columns(NamedTuple):
    """The columns that were asked for, one text each, and where they stood."""

    cells: list[str]
    place: str


def is_table(path: Path) -> bool:
    """Return whether a path is that of a table, by its name or by what a folder holds."""
    if not is_folder(path):
        return file_kind(path) in FORMATS
    return is_saved_dataset(path) or any(item.suffix == ".parquet" for item in list_folder(path))


def read_table(path: Path, *, split: str = "train") -> Iterator[Located]:
    """Give each row with its values by name; the first line of CSV or TSV names them.

    `split` is the one to read of a folder that `datasets` saved.
    """
    if not is_table(path):
        raise DataError(_other_file(path))
    match "" if is_folder(path) else file_kind(path):
        case ".csv" | ".tsv":
            return _name_cells(path, _read_cells(path))
        case ".jsonl" | ".ndjson" | ".json":
            return read_objects(path)
    return read_saved_dataset(path, split) if is_saved_dataset(path) else read_parquet(path)


def read_columns(path: Path, names: Sequence[str], *, split: str = "train") -> Iterator[Columns | BadLine]:
    """Give the columns `names` of each row: of a header line, keys, or of CSV and TSV numbers from 1.

    Where columns are numbered, a first line is data, unless all that was asked for in it are known names of columns.
    """
    if not is_folder(path) and file_kind(path) in (".csv", ".tsv"):
        named = not all(name.isdecimal() for name in names)
        return _take_cells(path, names, _read_cells(path, named=named))
    return _take_keys(path, names, read_table(path, split=split))


def _other_file(path: Path) -> str:
    """Describe a file that is not a table of texts, and what to do."""
    expected = f"{path} must be a CSV, TSV, JSON Lines or Parquet file of texts and labels"
    if is_folder(path):
        return f"{expected}; received a folder. Name a file in it; a folder of pictures is for the task images."
    if not is_file(path):
        return missing_file(path, kinds=FORMATS)
    if file_kind(path) in (".txt", ".md"):
        return f"{expected}; received plain text, which has no labels. Is it for the task language?"
    return f"{expected}, named .csv, .tsv, .jsonl or .parquet; received another name. Rename it, if it is one."


def _read_cells(path: Path, *, named: bool = True) -> Iterator[Cells]:
    """Read CSV or TSV without its empty lines; where columns are numbered, commas are between the cells of CSV."""
    if file_kind(path) == ".csv":
        return read_csv(path, find_separator(path) if named else ",")
    return (item for item in read_tsv(path) if item.cells != [""])


def _name_cells(path: Path, rows: Iterator[Cells]) -> Iterator[Located]:
    header: list[str] = []
    for number, cells in rows:
        location = f"{path}, line {number}"
        if isinstance(cells, BadLine):
            yield Located(location, cells)
        elif not header:
            header = [cell.strip() for cell in cells]
        elif len(cells) != len(header):
            bad = BadLine("columns", location, f"have {len(header)} columns", str(len(cells)), "\t".join(cells))
            yield Located(location, bad)
        else:
            yield Located(location, dict(zip(header, cells, strict=True)))


def _take_cells(path: Path, names: Sequence[str], rows: Iterator[Cells]) -> Iterator[Columns | BadLine]:
    """Find the columns in the header, or by number, and take them out of each row."""
    first = next((row for row in rows if not isinstance(row.cells, BadLine)), None)
    if first is None or isinstance(first.cells, BadLine):
        raise DataError(f"{path} must have at least one line; received an empty file.")
    header = [cell.strip() for cell in first.cells]
    numbered = all(name.isdecimal() for name in names)
    columns = _find_columns(path, names, header)
    is_data = numbered and not is_header([header[column] for column in columns])
    for number, row in chain([first] if is_data else [], rows):
        location = f"{path}, line {number}"
        if isinstance(row, BadLine):
            yield row
        elif len(row) <= max(columns) or (not numbered and len(row) != len(header)):
            needed = max(columns) + 1 if numbered else len(header)
            yield BadLine("columns", location, f"have {needed} columns", str(len(row)), "\t".join(row))
        else:
            yield Columns([row[column] for column in columns], location)


def _find_columns(path: Path, names: Sequence[str], header: list[str]) -> list[int]:
    """Find columns by their numbers, where all are numbers, or by their names."""
    if all(name.isdecimal() for name in names):
        if beyond := [name for name in names if not _is_number_to(len(header), name)]:
            raise DataError(
                f"The columns of text and label must be numbers of columns of {path}, whose first line has "
                f"{len(header)}; received {brief(beyond[0])!r}. The first is 1. {_HOW}"
            )
        return [int(name) - 1 for name in names]
    if missing := [name for name in names if name not in header]:
        raise DataError(
            f"{path} must have a column named {' and one named '.join(missing)}; received the first line: "
            f"{join_names(header, letters=400, between=' | ')}.{near_miss(missing[0], header)} If that is a "
            "header, name its columns of text and label: by data.text and data.label to train, by `text` and "
            "`label` to classify. If the file has no header, number them from 1, such as data.text=2 and "
            "data.label=1."
        )
    return [header.index(name) for name in names]


def _is_number_to(most: int, name: str) -> bool:
    return len(name) <= 9 and 1 <= int(name) <= most  # Python reads no number of thousands of digits


def _take_keys(path: Path, names: Sequence[str], rows: Iterator[Located]) -> Iterator[Columns | BadLine]:
    """Take values out of rows by their keys; numbers and true or false are labels as they are written."""
    empty, checked = True, False
    for location, row in rows:
        empty = False
        if isinstance(row, BadLine):
            yield row
            continue
        missing = next((name for name in names if name not in row), None)
        if missing is not None and not checked:
            raise DataError(
                f"The columns of text and label must be keys of {path}; received {missing!r}. "
                f"{nearest(missing, row)} {_HOW}"
            )
        checked = True
        cells = [_text(row.get(name)) for name in names]
        good = [cell for cell in cells if cell is not None]
        if len(good) == len(cells):
            yield Columns(good, location)
        else:
            shown = json.dumps(dict(row), ensure_ascii=False, default=str)
            yield BadLine("columns", location, f"have text under {', '.join(names)}", "something else", shown)
    if empty:
        raise DataError(f"{path} must have at least one line; received an empty file.")


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return json.dumps(value)
    return str(value) if isinstance(value, str | int | float) else None
