"""Many sequences of different lengths in two flat arrays: four bytes a token instead of Python's forty."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Ragged:
    """Sequence i is `values[offsets[i]:offsets[i + 1]]`.

    >>> sequences = Ragged.from_lists([[5, 6], [], [7]])
    >>> len(sequences), sequences.lengths.tolist(), sequences[0].tolist()
    (3, [2, 0, 1], [5, 6])
    """

    values: NDArray[np.int32]
    offsets: NDArray[np.int64]

    @classmethod
    def from_lists(cls, lists: Iterable[Sequence[int]]) -> "Ragged":
        """Pack Python lists."""
        kept = list(lists)
        offsets = np.zeros(len(kept) + 1, dtype=np.int64)
        np.cumsum([len(item) for item in kept], out=offsets[1:])
        return cls(values=np.fromiter(chain.from_iterable(kept), dtype=np.int32, count=offsets[-1]), offsets=offsets)

    @classmethod
    def concatenate(cls, parts: Sequence["Ragged"]) -> "Ragged":
        """Put the sequences of several one after another."""
        starts = np.cumsum([0, *(len(part.values) for part in parts)])
        offsets = [part.offsets[1:] + start for part, start in zip(parts, starts, strict=False)]
        return cls(
            values=np.concatenate([np.zeros(0, dtype=np.int32), *(part.values for part in parts)]),
            offsets=np.concatenate([np.zeros(1, dtype=np.int64), *offsets]),
        )

    def cut(self, most: int) -> "Ragged":
        """Give each sequence, of which at most so many are kept.

        >>> Ragged.from_lists([[5, 6, 7], [8]]).cut(2).values.tolist()
        [5, 6, 8]
        """
        return Ragged.from_lists(self[index][:most].tolist() for index in range(len(self)))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How long each sequence is."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        if not 0 <= index < len(self):
            raise IndexError(f"sequence {index} of {len(self)}")
        return self.values[self.offsets[index] : self.offsets[index + 1]]
