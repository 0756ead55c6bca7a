"""Parquet, one file or a folder of them, a row at a time. Needs the extra `regard[datasets]`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regard.data.compressed import missing_file
from regard.data.formats.rows import Sides, find_sides, make_row_record, unknown_sides
from regard.data.records import Record
from regard.errors import DataError, MissingExtraError

_ROWS_AT_ONCE = 1024


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
        for path in self._files():
            yield from self._records(path)

    def _files(self) -> list[Path]:
        files = sorted(self.path.glob("*.parquet")) if self.path.is_dir() else [self.path]
        if not files:
            raise DataError(f"{self.path} must hold *.parquet files; received a folder with none. Check the path.")
        if not files[0].is_file():
            raise DataError(missing_file(files[0]))
        return files

    def _records(self, path: Path) -> Iterator[Record]:
        pyarrow, parquet = _pyarrow()
        number = 0
        sides: Sides | None = None
        try:
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
                    for row in batch.to_pylist():
                        number += 1
                        place = f"{path}, row {number}"
                        found = sides or find_sides(row, self.source, self.target)
                        if isinstance(found, str):
                            yield unknown_sides(row, found, place)
                        else:
                            sides = found
                            yield make_row_record(row, sides, place)
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DataError(
                f"{path} must be a Parquet file; received one that breaks after row {number} ({error}). Fetch it again."
            ) from error


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError(
            'Reading Parquet needs the package pyarrow. Install it: pip install "regard[datasets]"'
        ) from error
    return pyarrow, parquet
