"""Which hashes have come before, in eight bytes each: Python's set would take a hundred."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Hashes: TypeAlias = NDArray[np.uint64]


class HashSet:
    """A set of 64-bit hashes that grows by portions, kept as a few sorted arrays of falling size.

    >>> known = HashSet()
    >>> known.add(np.array([7, 3, 7], dtype=np.uint64)).tolist()
    [True, True, False]
    >>> known.add(np.array([3, 4], dtype=np.uint64)).tolist(), len(known)
    ([False, True], 3)
    """

    def __init__(self) -> None:
        self._runs: list[Hashes] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def add(self, hashes: Hashes) -> NDArray[np.bool_]:
        """Take hashes in, and say of each whether it is new, here and in this portion."""
        unique, first = np.unique(hashes, return_index=True)
        known = np.zeros(len(unique), dtype=bool)
        for run in self._runs:
            index = np.minimum(np.searchsorted(run, unique), len(run) - 1)
            known |= run[index] == unique
        new = np.zeros(len(hashes), dtype=bool)
        new[first[~known]] = True
        self._insert(unique[~known])
        return new

    def _insert(self, run: Hashes) -> None:
        """Put a sorted array behind the others, joining those of like size, so that there are few."""
        if not len(run):
            return
        self._runs.append(run)
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            joined = np.concatenate([self._runs.pop(), self._runs.pop()])
            joined.sort(kind="stable")  # which merges what is sorted already
            self._runs.append(joined)
