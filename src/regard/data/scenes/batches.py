"""Batches of pictures with their questions or texts, in an order that can be taken up where it stopped.

The pictures themselves stay where they are, on the device that trains: a batch names them by number.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batches.epochs import EvenEpochs
from regard.data.batches.ragged import Ragged
from regard.data.text.special import END, PAD, START


class QuestionBatch(NamedTuple):
    """Questions about some pictures; `training.job.TrainingBatch`."""

    pictures: Int[Tensor, " pictures"]
    """Numbers of the pictures, each once."""
    owners: Int[Tensor, " questions"]
    """For each question the index of its picture in `pictures`."""
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
    """Texts about pictures; `training.job.TrainingBatch`."""

    target_input: Int[Tensor, "pictures words"]
    """The texts after `<s>`."""
    target_output: Int[Tensor, "pictures words"]
    """The texts before `</s>`; padding in place of a question."""
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
        return CaptionBatch(*(item.to(device, non_blocking=non_blocking) for item in self))

    def halve(self) -> "list[CaptionBatch]":
        """Divide it into two of half as many pictures; one stays one."""
        middle = (len(self.indices) + 1) // 2
        halves = [CaptionBatch(*(item[side] for item in self)) for side in (slice(0, middle), slice(middle, None))]
        return [half for half in halves if len(half.indices)]


class QuestionBatches(EvenEpochs[QuestionBatch]):
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

    def make(self, indices: NDArray[np.int64], *, epoch: int, number: int) -> QuestionBatch:
        """Gather the questions about these pictures."""
        spans = [np.arange(self._first[picture], self._first[picture + 1]) for picture in indices]
        owners = np.repeat(np.arange(len(indices)), [len(item) for item in spans])
        questions = torch.from_numpy(np.concatenate(spans))
        lengths = self._lengths[questions]
        tokens = self._tokens[questions, : max(1, int(lengths.max()))]
        return QuestionBatch(
            torch.from_numpy(indices), torch.from_numpy(owners), tokens, lengths, self._answers[questions], questions
        )


class CaptionBatches(EvenEpochs[CaptionBatch]):
    """Batches of texts about pictures: the first tokens of each, as many as `prompts` says, are not predicted."""

    def __init__(
        self,
        texts: Ragged,
        *,
        owners: Sequence[int],
        prompts: Sequence[int],
        size: int,
        seed: int = 0,
        shuffle: bool = True,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        rows = [texts[index] for index in range(len(texts))]
        self._owners = torch.tensor(owners, dtype=torch.int64)
        self._inputs, self._lengths = pad_rows([np.concatenate([[START], row]) for row in rows])
        self._targets, _ = pad_rows(
            [
                np.concatenate([np.full(prompt_length, PAD), row[prompt_length:], [END]])
                for row, prompt_length in zip(rows, prompts, strict=True)
            ]
        )
        super().__init__(len(rows), size=size, seed=seed, shuffle=shuffle, rank=rank, ranks=ranks)

    def make(self, indices: NDArray[np.int64], *, epoch: int, number: int) -> CaptionBatch:
        """Gather some texts, with the numbers of their pictures."""
        rows = torch.from_numpy(indices)
        longest = int(self._lengths[rows].max())
        return CaptionBatch(self._inputs[rows, :longest], self._targets[rows, :longest], self._owners[rows])


def pad_rows(rows: Sequence[NDArray[np.integer]]) -> tuple[Tensor, Tensor]:
    """Put rows of tokens into a table, and give their lengths; an empty one keeps a position of padding.

    >>> pad_rows([np.array([5, 6]), np.array([7])])
    (tensor([[5, 6], [7, 0]]), tensor([2, 1]))
    """
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    table = np.full((len(rows), max(1, int(lengths.max(initial=0)))), PAD, dtype=np.int64)
    for row, tokens in enumerate(rows):
        table[row, : len(tokens)] = tokens
    return torch.from_numpy(table), torch.from_numpy(lengths)
