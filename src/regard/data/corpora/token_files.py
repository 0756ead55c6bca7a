"""Token numbers of a corpus in files that are mapped into memory, so that the system reads what a batch needs."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from regard.data.batches.pairs import Examples
from regard.data.batches.ragged import Ragged
from regard.data.batches.word_links import WordLinks
from regard.files import write_text

_SIDES = ("source", "target")
_LINKED = (*_SIDES, "source_words", "target_words", "links")


@dataclass(frozen=True)
class TokenFiles:
    """A folder with the tokens of both sides (int32), where each sentence ends (int64), and a note of what they are.

    Where they are `linked`, the words of the tokens and the links of the words are there too, in files of the same
    form. The note is written last: without it, the files are half or none.
    """

    folder: Path
    linked: bool = False

    @property
    def _names(self) -> tuple[str, ...]:
        return _LINKED if self.linked else _SIDES

    @property
    def note(self) -> Path:
        """What the files hold."""
        return self.folder / "tokens.json"

    def write(self, portions: Iterable[tuple[Ragged, ...]], *, mark: str) -> None:
        """Write the sentences of both sides, portion by portion; `mark` says what they were made from.

        A portion is source and target; where they are linked, the three parts of `WordLinks` follow.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self.note.unlink(missing_ok=True)
        with ExitStack() as stack:
            sides = [_Side.begin(self.folder / name, stack) for name in self._names]
            for portion in portions:
                for side, sequences in zip(sides, portion, strict=True):
                    side.append(sequences)
            for side in sides:
                side.flush()
        write_text(self.note, json.dumps({"mark": mark, **self._sizes()}))

    def open(self, *, mark: str) -> Examples | None:
        """Map the files into memory, if they are whole and were made from what `mark` says."""
        try:
            noted: dict[str, Any] = json.loads(self.note.read_text(encoding="utf-8"))
            if noted != {"mark": mark, **self._sizes()}:
                return None
        except (OSError, ValueError):
            return None
        source, target, *links = (
            Ragged(
                values=_map(self.folder / f"{name}.tokens", np.int32), offsets=_map(_ends(self.folder, name), np.int64)
            )
            for name in self._names
        )
        if not links:
            return Examples(source=source, target=target)
        source_words, target_words, pairs = links
        return Examples(
            source=source,
            target=target,
            links=WordLinks(source_words=source_words, target_words=target_words, links=pairs),
        )

    def _sizes(self) -> dict[str, int]:
        return {path.name: path.stat().st_size for path in self._paths()}

    def _paths(self) -> Iterator[Path]:
        for name in self._names:
            yield self.folder / f"{name}.tokens"
            yield _ends(self.folder, name)


def _ends(folder: Path, name: str) -> Path:
    return folder / f"{name}.ends"


@dataclass
class _Side:
    tokens: BinaryIO
    ends: BinaryIO
    count: int = 0

    @classmethod
    def begin(cls, path: Path, stack: ExitStack) -> "_Side":
        tokens, ends = (stack.enter_context(path.with_suffix(suffix).open("wb")) for suffix in (".tokens", ".ends"))
        ends.write(np.zeros(1, dtype=np.int64).tobytes())
        return cls(tokens, ends)

    def append(self, sequences: Ragged) -> None:
        self.tokens.write(sequences.values.astype(np.int32).tobytes())
        self.ends.write((sequences.offsets[1:] + self.count).astype(np.int64).tobytes())
        self.count += len(sequences.values)

    def flush(self) -> None:
        for file in (self.tokens, self.ends):
            file.flush()
            os.fsync(file.fileno())


def _map(path: Path, dtype: type[np.generic]) -> NDArray[Any]:
    if not path.stat().st_size:  # which cannot be mapped
        return np.zeros(0, dtype=dtype)
    return np.memmap(path, dtype=dtype, mode="r").view(np.ndarray)
