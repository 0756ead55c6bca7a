"""A folder that `save_to_disk` of the package `datasets` wrote, read as it lies there: no code of it is run.

`state.json` names the Arrow files of a data set; `dataset_dict.json` names its splits, a folder each. Reading needs the
extra `regard[datasets]`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regard.data.formats.compressed import read_at_most
from regard.data.formats.parquet import check_count, load_pyarrow
from regard.data.formats.paths import is_file, open_file
from regard.data.formats.records import Record
from regard.data.formats.rows import Located, read_rows, with_locations
from regard.errors import DataError, brief, describe, nearest
from regard.files import load_json

_STATE, _SPLITS = "state.json", "dataset_dict.json"
_MOST_BYTES = 16 * 2**20
_ROWS_AT_ONCE = 256


@dataclass(frozen=True, kw_only=True)
class SavedDataset:
    """A data set of the package `datasets`, saved on disk."""

    path: Path
    """The folder."""
    split: str = "train"
    """Which split to read, where it has several."""
    source: int | str | None = None
    """Source column, a dotted path, or its number from 1."""
    target: int | str | None = None
    """Target column, a dotted path, or its number from 1."""
    kind: Literal["saved-dataset"] = "saved-dataset"

    def records(self) -> Iterator[Record]:
        """Give one record per row."""
        yield from read_rows(read_saved_dataset(self.path, self.split), self.source, self.target)


def read_saved_dataset(path: Path, split: str) -> Iterator[Located]:
    """Give the rows of a data set that is saved in a folder, of one split where it has several."""
    rows = (row for file in _data_files(_find_split(path, split)) for row in _read_arrow(file))
    yield from with_locations(rows, f"{path}, split {split}")


def _find_split(path: Path, split: str) -> Path:
    if not is_file(path / _SPLITS):
        return path
    splits = _names(_read_table(path / _SPLITS).get("splits"), path / _SPLITS)
    if split not in splits:
        raise DataError(
            f"`split` must be one of the {len(splits)} splits of {path}; received {split!r}. {nearest(split, splits)}"
        )
    return path / split


def is_saved_dataset(folder: Path) -> bool:
    """Return whether `Dataset.save_to_disk` or `DatasetDict.save_to_disk` wrote this folder."""
    return any(is_file(folder / name) for name in (_STATE, _SPLITS))


def _data_files(folder: Path) -> list[Path]:
    state = _read_table(folder / _STATE)
    files = state.get("_data_files")
    if state.get("_indices_data_files") or not isinstance(files, list):
        raise DataError(
            f"{folder / _STATE} must name the Arrow files of a data set that is saved whole; received "
            f"{'one that is a choice of another' if isinstance(files, list) else 'none'}. Save it again, with "
            "flatten_indices() before."
        )
    named = [entry.get("filename") if isinstance(entry, dict) else entry for entry in files]
    return [folder / name for name in _names(named, folder / _STATE)]


def _names(values: object, path: Path) -> list[str]:
    """Check that a list holds names of what lies in the folder itself."""
    names: list[str] = []
    for value in values if isinstance(values, list) else [values]:
        if not isinstance(value, str) or Path(value).name != value or value in ("", "..") or "\0" in value:
            raise DataError(
                f"{path} must name what lies beside it; received {brief(repr(value))}. Save the data set again."
            )
        names.append(value)
    return names


def _read_table(path: Path) -> dict[str, Any]:
    with open_file(path) as stream:
        text = read_at_most(stream, _MOST_BYTES)
    try:
        table = load_json(text)
    except ValueError as error:
        raise DataError(
            f"{path} must be what `datasets` wrote, JSON; received: {describe(error)}. Save the data set again."
        ) from error
    if not isinstance(table, dict):
        raise DataError(f"{path} must be a JSON object; received {type(table).__name__}. Save the data set again.")
    return table


def _read_arrow(path: Path) -> Iterator[Mapping[str, object]]:
    """Give the rows of an Arrow file, each part checked before it is read."""
    pyarrow, _ = load_pyarrow()
    number = 0
    with open_file(path) as stream:
        size = stream.seek(0, 2)
    try:
        with pyarrow.memory_map(str(path)) as mapped, pyarrow.ipc.open_stream(mapped) as batches:
            for batch in batches:
                batch.validate(full=True)
                check_count(path, size, number + batch.num_rows)
                for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
                    for row in batch.slice(start, _ROWS_AT_ONCE).to_pylist():
                        number += 1
                        yield row
    except (DataError, MemoryError):
        raise
    except Exception as error:  # whatever pyarrow, and what it makes Python values with, meets
        raise DataError(
            f"{path} must be an Arrow file that `datasets` wrote; received one that breaks after row {number} "
            f"({describe(error)}). Save the data set again."
        ) from error
