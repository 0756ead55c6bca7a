"""A data set of the Hugging Face hub, by its name: all that uses the network. Needs the extra `regard[datasets]`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from regard.data.formats.records import Record
from regard.data.formats.rows import read_rows, with_locations
from regard.errors import DataError, MissingExtraError, describe

PREFIX = "hf:"
"""What a name on the hub is written with, so that no mistyped path is taken for one."""
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class HuggingFace:
    """A data set that the package `datasets` can load from the hub.

    It is read as a stream, so that a large one is not fetched whole before the first pair is there. No code from the
    hub is run.
    """

    name: str
    """Name on the hub: `name` or `owner/name`."""
    configuration: str | None = None
    """Name of the configuration (subset), where the data set has several."""
    split: str = "train"
    """Which split to read."""
    source: int | str | None = None
    """Source column, a dotted path, or its number from 1."""
    target: int | str | None = None
    """Target column, a dotted path, or its number from 1."""
    kind: Literal["hugging-face"] = "hugging-face"

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise DataError(
                f"A data set of the Hugging Face hub must be written hf:NAME or hf:OWNER/NAME; received "
                f"{PREFIX + self.name!r}. A file or folder is written without hf:."
            )

    def records(self) -> Iterator[Record]:
        """Give one record per row."""
        rows = with_locations(self._rows(), f"{self.name}, split {self.split}")
        yield from read_rows(rows, self.source, self.target)

    def _rows(self) -> Iterator[Mapping[str, object]]:
        datasets = _datasets()
        try:
            loaded = datasets.load_dataset(
                self.name, self.configuration, split=self.split, streaming=True, trust_remote_code=False
            )
            for batch in loaded.iter(batch_size=1024):  # columns of rows: far faster than row by row
                names = list(batch)
                for values in zip(*batch.values(), strict=True):
                    yield dict(zip(names, values, strict=True))
        except Exception as error:  # of the package, of the network, and of whatever format the data set has
            configured = f", configuration {self.configuration}" if self.configuration else ""
            raise DataError(
                f"{PREFIX}{self.name} must be a data set that `datasets` can load from the Hugging Face hub; received, "
                f"for split {self.split}{configured}: {describe(error).rstrip('.')}. Check the name and the network."
            ) from error


def _datasets() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise MissingExtraError(
            'Reading a Hugging Face dataset needs the package datasets. Install it: pip install "regard[datasets]"'
        ) from error
    return datasets
