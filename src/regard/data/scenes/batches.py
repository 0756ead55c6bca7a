"""Batches of pictures with all that is asked or said of them, in an order that can be taken up where it stopped.

The pictures themselves stay where they are, on the device that trains: a batch names them by number.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from regard.data.bucketing import share_batches
from regard.data.ragged import Ragged
from regard.data.special import END, PAD, START


class QuestionBatch(NamedTuple):
    """Questions about some pictures; `training.job.Divisible`."""

    pictures: Int[Tensor, " pictures"]
    """Numbers of the pictures, each once."""
    owners: Int[Tensor, " questions"]
    """For each question the place of its picture in `pictures`."""
    tokens: Int[Tensor, "questions words"]
    lengths: Int[Tensor, " questions"]
    """Stay on the CPU, where they are asked for."""
    answers: Int[Tensor, " questions"]
    indices: Int[Tensor, " questions"]

    @property
    def num_tokens(self) -> int:
        """How many questions there are: each has one answer to predict."""
        return len(self.answers)

    @property
    def cells(self) -> int:
        """How many questions and pictures there are."""
        return len(self.answers) + len(self.pictures)

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> "QuestionBatch":
        """Move every tensor but the lengths to `device`."""
        moved = {name: getattr(self, name).to(device, non_blocking=non_blocking) for name in _MOVED}
        return self._replace(**moved)

    def halve(self) -> "list[QuestionBatch]":
        """Divide it into two of half as many questions; one stays one."""
        middle = (len(self.answers) + 1) // 2
        return [self._part(side) for side in (slice(0, middle), slice(middle, None)) if len(self.answers[side])]

    def _part(self, side: slice) -> "QuestionBatch":
        kept, owners = self.owners[side].unique(return_inverse=True)
        parts = (self.tokens[side], self.lengths[side], self.answers[side], self.indices[side])
        return QuestionBatch(self.pictures[kept], owners, *parts)


_MOVED = ("pictures", "owners", "tokens", "answers", "indices")


class CaptionBatch(NamedTuple):
    """Pictures with their captions; `training.job.Divisible`."""

    target_input: Int[Tensor, "pictures words"]
    """The captions after `<s>`."""
    target_output: Int[Tensor, "pictures words"]
    """The captions before `</s>`."""
    indices: Int[Tensor, " pictures"]
    """Numbers of the pictures."""

    @property
    def num_tokens(self) -> int:
        """How many words there are to predict, the ends included."""
        return int((self.target_output != PAD).sum())

    @property
    def cells(self) -> int:
        """How many words and pictures there are."""
        return self.target_input.numel() + len(self.indices)

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> "CaptionBatch":
        """Move every tensor to `device`."""
        return CaptionBatch(*(one.to(device, non_blocking=non_blocking) for one in self))

    def halve(self) -> "list[CaptionBatch]":
        """Divide it into two of half as many pictures; one stays one."""
        middle = (len(self.indices) + 1) // 2
        halves = [CaptionBatch(*(one[side] for one in self)) for side in (slice(0, middle), slice(middle, None))]
        return [half for half in halves if len(half.indices)]


Made = TypeVar("Made", QuestionBatch, CaptionBatch)


class PictureBatches(ABC, Generic[Made]):
    """Pictures, one epoch after another, shuffled anew in each, in batches of as equal a size as can be."""

    def __init__(
        self, num_pictures: int, *, size: int, seed: int = 0, shuffle: bool = True, rank: int = 0, ranks: int = 1
    ) -> None:
        self._count, self._size, self._seed, self._shuffle = num_pictures, size, seed, shuffle
        self._rank, self._ranks = rank, ranks
        self._epoch, self._batch = 0, 0

    @abstractmethod
    def make(self, pictures: NDArray[np.int64]) -> Made:
        """Put these pictures into a batch."""

    def __iter__(self) -> Iterator[Made]:
        epoch, plan = self._epoch, self._plan(self._epoch)
        for number in range(self._batch, len(plan)):
            last = number + 1 == len(plan)
            self._epoch, self._batch = (epoch + 1, 0) if last else (epoch, number + 1)
            yield self.make(plan[number])

    def state(self) -> dict[str, int]:
        """Say where we stand."""
        return {"epoch": self._epoch, "batch": self._batch}

    def restore(self, state: Mapping[str, int]) -> None:
        """Go there."""
        self._epoch, self._batch = int(state["epoch"]), int(state["batch"])

    def _plan(self, epoch: int) -> list[NDArray[np.int64]]:
        order = np.arange(self._count)
        if self._shuffle:  # raw draws: numpy keeps those the same in every version
            order = np.argsort(np.random.PCG64([self._seed, epoch]).random_raw(self._count), kind="stable")
        batches = np.array_split(order, max(1, -(-self._count // self._size)))
        return share_batches(batches, rank=self._rank, ranks=self._ranks)


class QuestionBatches(PictureBatches[QuestionBatch]):
    """Batches of pictures, each with all of its questions."""

    def __init__(
        self,
        owners: Sequence[int],
        texts: Ragged,
        answers: Sequence[int],
        *,
        size: int,
        seed: int = 0,
        shuffle: bool = True,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        ascending = np.asarray(owners, dtype=np.int64)
        pictures = int(ascending.max(initial=-1)) + 1
        self._first = np.searchsorted(ascending, np.arange(pictures + 1))
        self._tokens, self._lengths = pad_rows([texts[index] for index in range(len(texts))])
        self._answers = torch.tensor(answers, dtype=torch.int64)
        super().__init__(pictures, size=size, seed=seed, shuffle=shuffle, rank=rank, ranks=ranks)

    def make(self, pictures: NDArray[np.int64]) -> QuestionBatch:
        """Gather the questions about these pictures."""
        spans = [np.arange(self._first[picture], self._first[picture + 1]) for picture in pictures]
        owners = np.repeat(np.arange(len(pictures)), [len(one) for one in spans])
        indices = torch.from_numpy(np.concatenate(spans))
        lengths = self._lengths[indices]
        tokens = self._tokens[indices, : max(1, int(lengths.max()))]
        return QuestionBatch(
            torch.from_numpy(pictures), torch.from_numpy(owners), tokens, lengths, self._answers[indices], indices
        )


class CaptionBatches(PictureBatches[CaptionBatch]):
    """Batches of pictures, each with its caption."""

    def __init__(
        self, texts: Ragged, *, size: int, seed: int = 0, shuffle: bool = True, rank: int = 0, ranks: int = 1
    ) -> None:
        rows = [texts[index] for index in range(len(texts))]
        self._heard, self._lengths = pad_rows([np.concatenate([[START], row]) for row in rows])
        self._said, _ = pad_rows([np.concatenate([row, [END]]) for row in rows])
        super().__init__(len(rows), size=size, seed=seed, shuffle=shuffle, rank=rank, ranks=ranks)

    def make(self, pictures: NDArray[np.int64]) -> CaptionBatch:
        """Gather the captions of these pictures."""
        indices = torch.from_numpy(pictures)
        longest = int(self._lengths[indices].max())
        return CaptionBatch(self._heard[indices, :longest], self._said[indices, :longest], indices)


def pad_rows(rows: Sequence[NDArray[np.integer]]) -> tuple[Tensor, Tensor]:
    """Put rows of tokens into a table, and give their lengths; an empty one keeps a place of padding.

    >>> pad_rows([np.array([5, 6]), np.array([7])])
    (tensor([[5, 6], [7, 0]]), tensor([2, 1]))
    """
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    table = np.full((len(rows), max(1, int(lengths.max(initial=0)))), PAD, dtype=np.int64)
    for row, tokens in enumerate(rows):
        table[row, : len(tokens)] = tokens
    return torch.from_numpy(table), torch.from_numpy(lengths)
