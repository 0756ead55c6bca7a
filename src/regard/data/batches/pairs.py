"""Padded tensors for training and scoring, in an order that can be taken up where it stopped."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batches.bucketing import make_index_batches, padding_efficiency, share_batches
from regard.data.batches.ragged import Ragged
from regard.data.corpora.pair import Link
from regard.data.text.special import END, PAD, START
from regard.errors import ArgumentError


class Batch(NamedTuple):
    """Sentences of like length, filled up with `<pad>`; lengths count what is not padding.

    The source ends in `</s>`, the target input starts with `<s>`, and the target output is what the model should say
    after each token of the input: the same, one place on, ending in `</s>`.
    """

    source: Int[Tensor, "batch source"]
    source_lengths: Int[Tensor, " batch"]
    target_input: Int[Tensor, "batch target"]
    target_output: Int[Tensor, "batch target"]
    target_lengths: Int[Tensor, " batch"]
    indices: Int[Tensor, " batch"]
    """Which sentences of the corpus these are."""
    links: tuple[tuple[Link, ...], ...] | None = None
    """The gold alignment of each sentence, in words, where the corpus has one."""

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> "Batch":
        """Move every tensor to `device`."""
        return self._replace(
            source=self.source.to(device, non_blocking=non_blocking),
            source_lengths=self.source_lengths.to(device, non_blocking=non_blocking),
            target_input=self.target_input.to(device, non_blocking=non_blocking),
            target_output=self.target_output.to(device, non_blocking=non_blocking),
            target_lengths=self.target_lengths.to(device, non_blocking=non_blocking),
            indices=self.indices.to(device, non_blocking=non_blocking),
        )

    @property
    def num_tokens(self) -> int:
        """How many target tokens there are to predict."""
        return int(self.target_lengths.sum())


@dataclass(frozen=True, kw_only=True, eq=False)
class Examples:
    """A corpus in token numbers, without special tokens."""

    source: Ragged
    target: Ragged
    links: Sequence[tuple[Link, ...]] | None = None

    def __post_init__(self) -> None:
        for name, side in (("target", self.target), ("links", self.links)):
            if side is not None and len(side) != len(self.source):
                raise ArgumentError(
                    f"`{name}` must have one entry for each of the {len(self.source)} sources; received {len(side)}."
                )


class Position(NamedTuple):
    """Where in the order of batches one stands."""

    epoch: int
    batch: int


class Batches:
    """The batches of one epoch after another, for one process of `ranks`.

    `examples` is a corpus, or a function that gives the corpus of an epoch, where it is encoded anew in each
    (BPE-dropout). Iterating goes from the position to the end of its epoch, and stands at the next one then. The
    position moves on before a batch is handed over: saved after a step, it continues with the step after it.

    >>> corpus = Ragged.from_lists([[5, 6], [7], [8, 9, 10]])
    >>> batches = Batches(Examples(source=corpus, target=corpus), tokens=8, seed=1)
    >>> [batch.source.shape for batch in batches]
    [torch.Size([1, 4]), torch.Size([2, 3])]
    >>> batches.state()
    {'epoch': 1, 'batch': 0}
    """

    def __init__(
        self,
        examples: Examples | Callable[[int], Examples],
        *,
        tokens: int,
        seed: int = 0,
        shuffle: bool = True,
        rank: int = 0,
        ranks: int = 1,
        too_long: Literal["alone", "refuse"] = "alone",
    ) -> None:
        self._examples = examples
        self._tokens = tokens
        self._seed = seed
        self._shuffle = shuffle
        self._rank = rank
        self._ranks = ranks
        self._too_long = too_long
        self._position = Position(0, 0)
        self._planned: tuple[int, Examples, list[NDArray[np.int64]]] | None = None

    def __iter__(self) -> Iterator[Batch]:
        epoch = self._position.epoch
        examples, plan = self._plan(epoch)
        for number in range(self._position.batch, len(plan)):
            last = number + 1 == len(plan)
            self._position = Position(epoch + 1, 0) if last else Position(epoch, number + 1)
            yield make_batch(examples, plan[number])

    def __len__(self) -> int:
        """How many batches this process takes in the epoch of the position."""
        return len(self._plan(self._position.epoch)[1])

    def state(self) -> dict[str, int]:
        """Say where we stand, in plain numbers for a checkpoint."""
        return {"epoch": self._position.epoch, "batch": self._position.batch}

    def restore(self, state: Mapping[str, int]) -> None:
        """Go to where `state` was taken."""
        if state.keys() != {"epoch", "batch"}:
            raise ArgumentError(f"`state` must have the keys epoch and batch; received {', '.join(state) or 'none'}.")
        position = Position(epoch=int(state["epoch"]), batch=int(state["batch"]))
        count = len(self._plan(position.epoch)[1])
        if position.epoch < 0 or not 0 <= position.batch < max(count, 1):
            raise ArgumentError(
                f"`state` must name one of the {count} batches of epoch {position.epoch}; received batch "
                f"{position.batch}. Are corpus, `tokens` and `ranks` those it was taken with?"
            )
        self._position = position

    def efficiency(self) -> float:
        """Say which share of this epoch's tensors is text and not padding."""
        examples, plan = self._plan(self._position.epoch)
        return padding_efficiency(plan, examples.source.lengths + 1, examples.target.lengths + 1)

    def longest(self) -> tuple[int, int]:
        """Give the most tokens of any source and any target of this epoch, `</s>` included."""
        examples, _ = self._plan(self._position.epoch)
        return int(examples.source.lengths.max(initial=0)) + 1, int(examples.target.lengths.max(initial=0)) + 1

    def examples(self) -> Examples:
        """Give the corpus of this epoch."""
        return self._plan(self._position.epoch)[0]

    def _plan(self, epoch: int) -> tuple[Examples, list[NDArray[np.int64]]]:
        if self._planned is None or self._planned[0] != epoch:
            examples = self._examples(epoch) if callable(self._examples) else self._examples
            batches = make_index_batches(
                examples.source.lengths + 1,
                examples.target.lengths + 1,
                tokens=self._tokens,
                seed=self._seed,
                epoch=epoch,
                shuffle=self._shuffle,
                too_long=self._too_long,
            )
            self._planned = epoch, examples, share_batches(batches, rank=self._rank, ranks=self._ranks)
        return self._planned[1:]


def make_batch(examples: Examples, indices: NDArray[np.int64]) -> Batch:
    """Pad the sentences `indices` into one batch.

    >>> corpus = Ragged.from_lists([[5, 6], [7]])
    >>> make_batch(Examples(source=corpus, target=corpus), np.array([0, 1])).target_input
    tensor([[2, 5, 6],
            [2, 7, 0]])
    """
    source, source_lengths = _pad(examples.source, indices)
    target, target_lengths = _pad(examples.target, indices)
    opened = np.full_like(target, PAD)
    opened[:, 0] = START
    opened[:, 1:] = np.where(target[:, :-1] == END, PAD, target[:, :-1])
    return Batch(
        torch.from_numpy(source),
        torch.from_numpy(source_lengths),
        torch.from_numpy(opened),
        torch.from_numpy(target),
        torch.from_numpy(target_lengths),
        torch.from_numpy(np.array(indices, dtype=np.int64)),
        None if examples.links is None else tuple(tuple(examples.links[index]) for index in indices),
    )


def _pad(sequences: Ragged, indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lay sequences out as rows, each closed by `</s>`, and count their tokens with it."""
    lengths = sequences.offsets[indices + 1] - sequences.offsets[indices]  # not of all sequences, for each batch
    column = np.arange(int(lengths.max(initial=0)) + 1)
    rows = np.full((len(indices), len(column)), PAD, dtype=np.int64)
    filled = column < lengths[:, None]
    rows[filled] = np.concatenate([sequences[int(index)] for index in indices])
    rows[column == lengths[:, None]] = END
    return rows, lengths + 1
