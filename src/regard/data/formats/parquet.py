"""Parquet, one file or a folder of them, a few rows at a time. Needs the extra `regard[datasets]`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regard.data.formats.compressed import FREE_EXPANSION, MOST_EXPANSION
from regard.data.formats.paths import is_folder, list_folder, open_file
from regard.data.formats.records import Record
from regard.data.formats.rows import Located, read_rows, with_locations
from regard.errors import DataError, MissingExtraError, describe

_HELD = 2**30
"""Bytes of text that the rows read together may have, were each as long as all that is written."""
FREE_ROWS = 1_000_000
"""Rows that a file of any size may have; beyond them, at most as many as it has bytes."""


@dataclass(frozen=True, kw_only=True)
class Parquet:
    """A Parquet file, or a folder whose `*.parquet` files are read in the order of their names."""

    path: Path
    """The file or folder."""
    source: int | str | None = None
    """Source column, a dotted path, or its number from 1."""
    target: int | str | None = None
    """Target column, a dotted path, or its number from 1."""
    kind: Literal["parquet"] = "parquet"

    def records(self) -> Iterator[Record]:
        """Give one record per row."""
        for path in _files(self.path):
            yield from read_rows(with_locations(_rows(path), str(path)), self.source, self.target)


def read_parquet(path: Path) -> Iterator[Located]:
    """Give the rows of a Parquet file, or of those in a folder."""
    for item in _files(path):
        yield from with_locations(_rows(item), str(item))


def _files(path: Path) -> list[Path]:
    if not is_folder(path):
        return [path]
    files = [item for item in list_folder(path) if item.suffix == ".parquet"]
    if not files:
        raise DataError(f"{path} must hold *.parquet files; received a folder with none. Check the path.")
    return files


def _rows(path: Path) -> Iterator[Mapping[str, object]]:
    _, parquet = load_pyarrow()
    number = 0
    with open_file(path) as stream:
        size = stream.seek(0, 2)
    try:
        with parquet.ParquetFile(path) as file:
            groups = [file.metadata.row_group(index).total_byte_size for index in range(file.num_row_groups)]
            _check_expansion(path, size, sum(groups))
            for batch in file.iter_batches(batch_size=max(8, min(1024, _HELD // max([1, *groups])))):
                check_count(path, size, number + batch.num_rows)
                for row in batch.to_pylist():
                    number += 1
                    yield row
    except (DataError, MemoryError):
        raise
    except Exception as error:  # whatever pyarrow, and what it makes Python values with, meets
        raise DataError(
            f"{path} must be a Parquet file; received one that breaks after row {number} ({describe(error)}). Fetch it "
            "again."
        ) from error


def _check_expansion(path: Path, size: int, plain: int) -> None:
    if plain > max(FREE_EXPANSION, MOST_EXPANSION * size):
        raise DataError(
            f"{path} must unpack to at most {MOST_EXPANSION} times its {size:,} bytes; received {plain:,}. If it is "
            "meant to be so, write it without compression."
        )


def check_count(path: Path, size: int, number: int) -> None:
    """Refuse a file of many more rows than it has bytes: rows that are all alike take none."""
    if number > max(FREE_ROWS, size):
        raise DataError(
            f"{path} must have at most {max(FREE_ROWS, size):,} rows for its {size:,} bytes; received more. Leave out "
            "those that are alike."
        )


def load_pyarrow() -> tuple[Any, Any]:
    """Give the packages pyarrow and pyarrow.parquet."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError(
            'Reading Parquet needs the package pyarrow. Install it: pip install "regard[datasets]"'
        ) from error
    return pyarrow, parquet
