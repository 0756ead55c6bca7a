"""Stretches of one long text, in an order that can be taken up where it stopped."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from regard.data.text.special import PAD
from regard.errors import ArgumentError, DataError


class TextBatch(NamedTuple):
    """Stretches of text, a row each, and for each token the one that follows it."""

    tokens: Int[Tensor, "rows length"]
    target: Int[Tensor, "rows length"]
    indices: Int[Tensor, " rows"]
    """Which lanes, or windows, these are."""
    number: int
    """The number of the batch in its epoch: in lanes, a row goes on where that of the number before ended."""

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> "TextBatch":
        """Move every tensor to `device`."""
        tokens, target, indices = (item.to(device, non_blocking=non_blocking) for item in self[:3])
        return TextBatch(tokens, target, indices, self.number)

    @property
    def num_tokens(self) -> int:
        """How many tokens there are to predict."""
        return int((self.target != PAD).sum())

    @property
    def cells(self) -> int:
        """How large it is."""
        return self.tokens.numel()

    def halve(self) -> list["TextBatch"]:
        """Divide it into two of half as many rows; one row stays one."""
        count = len(self.indices)
        if count == 1:
            return [self]
        parts = (slice(0, (count + 1) // 2), slice((count + 1) // 2, count))
        return [TextBatch(self.tokens[rows], self.target[rows], self.indices[rows], self.number) for rows in parts]


class _Text(ABC):
    """What both orders share: a position, and the epochs' shifts."""

    def __init__(
        self, tokens: NDArray[np.integer], *, rows: int, length: int, seed: int = 0, rank: int = 0, ranks: int = 1
    ) -> None:
        for name, number in (("rows", rows), ("length", length)):
            if number < 1:
                raise ArgumentError(f"`{name}` must be at least 1; received {number}.")
        if len(tokens) < 2 * ranks + length:
            raise DataError(
                f"The text must be longer than a window, {length} tokens; received {len(tokens)}. Take more text, or "
                "shorter windows (data.length)."
            )
        self.tokens, self.length, self.seed, self.rank, self.ranks = tokens, length, seed, rank, ranks
        self.rows = max(1, min(rows, (len(tokens) - 1 - length) // (length * ranks)))
        self._epoch, self._batch = 0, 0
        self._planned: tuple[int, NDArray[np.int64]] | None = None

    @abstractmethod
    def __len__(self) -> int:
        """How many batches an epoch has."""

    def __iter__(self) -> Iterator[TextBatch]:
        """Give the rest of the epoch."""
        while self._batch < len(self):
            self._batch += 1
            yield self.batch(self._batch - 1)
        self._epoch, self._batch = self._epoch + 1, 0

    @abstractmethod
    def batch(self, number: int) -> TextBatch:
        """Give one batch of the epoch."""

    def state(self) -> dict[str, int]:
        """Return the position in the data, in plain numbers for a checkpoint."""
        return {"epoch": self._epoch, "batch": self._batch}

    def restore(self, state: Mapping[str, int]) -> None:
        """Go to where `state` was taken."""
        if state.keys() != {"epoch", "batch"}:
            raise ArgumentError(f"`state` must have the keys epoch and batch; received {', '.join(state) or 'none'}.")
        self._epoch, self._batch = int(state["epoch"]), int(state["batch"])
        if self._epoch < 0 or not 0 <= self._batch <= len(self):
            raise ArgumentError(
                f"`state` must name one of the {len(self)} batches of an epoch; received batch {self._batch} of epoch "
                f"{self._epoch}. Are text and settings those it was taken with?"
            )

    def _stream(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, self._epoch])

    def _shift(self, stream: np.random.Generator) -> int:
        """Cut each epoch at other positions: the first at the very beginning."""
        return int(stream.integers(self.length)) if self._epoch else 0


class Lanes(_Text):
    """The text cut into `rows` lanes that are read side by side, `length` tokens at a time, from beginning to end.

    So the state after a batch is what the next one goes on from: truncated backpropagation through time. Each epoch
    begins at another position within the first `length` tokens.

    Reference: Mikolov et al. (2010), section 2; Zaremba, Sutskever and Vinyals (2014), section 4.1, arXiv:1409.2329.

    >>> lanes = Lanes(np.arange(1, 14), rows=2, length=3)
    >>> [batch.tokens.tolist() for batch in lanes]
    [[[1, 2, 3], [7, 8, 9]], [[4, 5, 6], [10, 11, 12]]]
    """

    def __len__(self) -> int:
        """How many batches an epoch has."""
        return math.ceil(self._lane() / self.length)

    def _lane(self) -> int:
        return (len(self.tokens) - 1 - self.length * bool(self._epoch)) // (self.rows * self.ranks)

    def batch(self, number: int) -> TextBatch:
        """Give one batch of the epoch."""
        shift, lane = self._shift(self._stream()), self._lane()
        first, last = number * self.length, min((number + 1) * self.length, lane)
        numbers = np.arange(self.rank * self.rows, (self.rank + 1) * self.rows)
        starts = shift + lane * numbers
        rows = np.stack([self.tokens[start + first : start + last + 1] for start in starts]).astype(np.int64)
        return _batch(rows, numbers, number)


class Windows(_Text):
    """The text cut into windows of `length` tokens, in random order, for models that carry nothing from one to another.

    Each epoch cuts at other positions.

    >>> windows = Windows(np.arange(1, 14), rows=2, length=3)
    >>> sorted(row[0] for batch in windows for row in batch.tokens.tolist())
    [1, 4, 7, 10]
    """

    def __len__(self) -> int:
        """How many batches an epoch has."""
        return math.ceil(self._windows() / (self.rows * self.ranks))

    def _windows(self) -> int:
        """Count the windows, the same in each epoch, as many for each process."""
        count = (len(self.tokens) - 1 - self.length * bool(self._epoch)) // self.length
        return count - count % self.ranks

    def batch(self, number: int) -> TextBatch:
        """Give one batch of the epoch."""
        if self._planned is None or self._planned[0] != self._epoch:
            stream = self._stream()
            shift = self._shift(stream)
            self._planned = self._epoch, shift + self.length * stream.permutation(self._windows())
        mine = self._planned[1][self.rank :: self.ranks]
        starts = mine[number * self.rows : (number + 1) * self.rows]
        rows = np.stack([self.tokens[start : start + self.length + 1] for start in starts]).astype(np.int64)
        return _batch(rows, starts, number)


def _batch(rows: NDArray[np.int64], indices: NDArray[np.int64], number: int) -> TextBatch:
    both = torch.from_numpy(rows)
    return TextBatch(both[:, :-1].contiguous(), both[:, 1:].contiguous(), torch.from_numpy(indices.copy()), number)
