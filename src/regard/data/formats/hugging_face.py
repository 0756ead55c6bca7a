"""A Hugging Face dataset, by its name on the hub or from a folder. Needs the extra `regard[datasets]`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regard.data.formats.rows import Sides, find_sides, make_row_record, unknown_sides
from regard.data.records import Record
from regard.errors import DataError, MissingExtraError, nearest

_SAVED = ("state.json", "dataset_dict.json")


@dataclass(frozen=True, kw_only=True)
class HuggingFace:
    """A dataset that the package `datasets` can load.

    A folder written by `save_to_disk` is read from there; any other name goes to `datasets.load_dataset`, as a stream,
    so that a large dataset is not fetched whole before the first pair is there. No code from the hub is run.
    """

    name: str
    """Name on the hub, or a folder."""
    configuration: str | None = None
    """Name of the configuration (subset), where the dataset has several."""
    split: str = "train"
    """Which split to read."""
    source: int | str | None = None
    """Source column, a dotted path, or its number from 1."""
    target: int | str | None = None
    """Target column, a dotted path, or its number from 1."""
    kind: Literal["hugging-face"] = "hugging-face"

    def records(self) -> Iterator[Record]:
        """Give one record per row."""
        sides: Sides | None = None
        for number, row in enumerate(self._rows(), start=1):
            place = f"{self.name}, split {self.split}, row {number}"
            found = sides or find_sides(row, self.source, self.target)
            if isinstance(found, str):
                yield unknown_sides(row, found, place)
            else:
                sides = found
                yield make_row_record(row, sides, place)

    def _rows(self) -> Iterator[Mapping[str, object]]:
        datasets = _datasets()
        if is_saved_dataset(Path(self.name)):
            loaded = datasets.load_from_disk(self.name)
            if isinstance(loaded, datasets.DatasetDict):
                loaded = self._pick(loaded)
        else:
            loaded = self._load(datasets)
        for batch in loaded.iter(batch_size=1024):  # columns of rows: far faster than row by row
            names = list(batch)
            for values in zip(*batch.values(), strict=True):
                yield dict(zip(names, values, strict=True))

    def _load(self, datasets: Any) -> Any:
        try:
            return datasets.load_dataset(self.name, self.configuration, split=self.split, streaming=True)
        except (ValueError, OSError) as error:
            raise DataError(
                f"`name` must be a dataset that `datasets` can load; received {self.name!r} "
                f"(configuration {self.configuration}, split {self.split}): {error}"
            ) from error

    def _pick(self, splits: Mapping[str, Any]) -> Any:
        if self.split not in splits:
            raise DataError(
                f"`split` must be one of the {len(splits)} splits of {self.name}; received {self.split!r}. "
                f"{nearest(self.split, splits)}"
            )
        return splits[self.split]


def is_saved_dataset(folder: Path) -> bool:
    """Say whether `Dataset.save_to_disk` or `DatasetDict.save_to_disk` wrote this folder."""
    return any((folder / name).is_file() for name in _SAVED)


def _datasets() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtraError(
            'Reading a Hugging Face dataset needs the package datasets. Install it: pip install "regard[datasets]"'
        ) from error
    return datasets
