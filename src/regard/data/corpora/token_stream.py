"""The tokens of a long text in one file that is mapped into memory, so that the system reads what a batch needs."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.files import write_text


@dataclass(frozen=True)
class TokenStream:
    """A file of token numbers (int32), and a note of what they are, which is written last: without it they are half."""

    path: Path

    @property
    def note(self) -> Path:
        """What the file holds."""
        return self.path.with_suffix(".json")

    def write(self, portions: Iterable[NDArray[np.int32]], *, mark: str) -> None:
        """Write tokens, portion by portion; `mark` says what they were made from."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.note.unlink(missing_ok=True)
        with self.path.open("wb") as file:
            for portion in portions:
                file.write(portion.astype(np.int32).tobytes())
            file.flush()
            os.fsync(file.fileno())
        write_text(self.note, json.dumps({"mark": mark, "bytes": self.path.stat().st_size}))

    def open(self, *, mark: str) -> NDArray[np.int32] | None:
        """Map the file into memory, if it is whole and was made from what `mark` says."""
        try:
            noted = json.loads(self.note.read_text(encoding="utf-8"))
            size = self.path.stat().st_size
        except (OSError, ValueError):
            return None
        if noted != {"mark": mark, "bytes": size} or not size:
            return None
        return np.memmap(self.path, dtype=np.int32, mode="r").view(np.ndarray)
