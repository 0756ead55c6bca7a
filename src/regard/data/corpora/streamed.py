"""Pairs that are too many to hold: they are read from their files again whenever they are gone through."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, islice
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from regard.data.corpora.pair import Pair
from regard.errors import DataError

_AT_ONCE = 8192


@runtime_checkable
class Pairs(Protocol):
    """A number of pairs that can be gone through again and again: a list, or `StreamedPairs`."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Pair]: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class StreamedPairs:
    """Those pairs of a corpus whose byte in `sides` is `side`; nothing of them is kept.

    >>> corpus = [Pair(source=str(n), target=str(n)) for n in range(4)]
    >>> train = StreamedPairs(read=lambda: iter(corpus), sides=np.array([0, 1, 0, -1], dtype=np.int8), side=0)
    >>> len(train), [pair.source for pair in train]
    (2, ['0', '2'])
    """

    read: Callable[[], Iterator[Pair]]
    """Begins to read the corpus."""
    sides: NDArray[np.int8]
    """A number for each pair that it reads."""
    side: int
    """The number of those wanted."""
    words: int = 0
    """Words of the targets, as counted when they were first read."""
    vocabulary: int = 0
    """Different words of the targets, as far as they were counted."""
    linked: bool = False
    """Whether word links are known."""
    digest: str = ""
    """A checksum of the whole corpus."""

    @cached_property
    def _count(self) -> int:
        return int(np.count_nonzero(self.sides == self.side))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Pair]:
        remaining, count = self.read(), 0
        while portion := list(islice(remaining, _AT_ONCE)):
            here = self.sides[count : count + len(portion)]
            count += len(portion)
            if count > len(self.sides):
                break
            yield from compress(portion, here == self.side)
        if count != len(self.sides):
            received = f"{count:,}" if count < len(self.sides) else "more"
            raise DataError(
                f"The data must stay as it is while it is read, {len(self.sides):,} pairs; received {received} the "
                "next time. A large corpus is read several times, from files, not from a pipe."
            )
