"""Padded tensors for training and scoring, in an order that can be taken up where it stopped."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from regard.data.batches.bucketing import make_index_batches, round_length, share_batches
from regard.data.batches.epochs import Epochs
from regard.data.batches.ragged import Ragged
from regard.data.batches.word_links import WordLinks
from regard.data.text.special import END, PAD, START
from regard.errors import ArgumentError


class Batch(NamedTuple):
    """Sentences of like length, filled up with `<pad>`; lengths count what is not padding.

    The source ends in `</s>`, the target input starts with `<s>`, and the target output is what the model should
    predict after each token of the input: the same, one position on, ending in `</s>`.
    """

    source: Int[Tensor, "batch source"]
    source_lengths: Int[Tensor, " batch"]
    target_input: Int[Tensor, "batch target"]
    target_output: Int[Tensor, "batch target"]
    target_lengths: Int[Tensor, " batch"]
    indices: Int[Tensor, " batch"]
    """Which sentences of the corpus these are."""
    links: Bool[Tensor, "batch target source"] | None = None
    """Which tokens are linked, where the corpus has links and they are wanted."""

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> "Batch":
        """Move every tensor to `device`."""
        return self._replace(
            source=self.source.to(device, non_blocking=non_blocking),
            source_lengths=self.source_lengths.to(device, non_blocking=non_blocking),
            target_input=self.target_input.to(device, non_blocking=non_blocking),
            target_output=self.target_output.to(device, non_blocking=non_blocking),
            target_lengths=self.target_lengths.to(device, non_blocking=non_blocking),
            indices=self.indices.to(device, non_blocking=non_blocking),
            links=None if self.links is None else self.links.to(device, non_blocking=non_blocking),
        )

    @property
    def num_tokens(self) -> int:
        """How many target tokens there are to predict."""
        return int(self.target_lengths.sum())

    @property
    def cells(self) -> int:
        """How many tokens source and target have, padding included."""
        return self.source.numel() + self.target_output.numel()

    def halve(self) -> "list[Batch]":
        """Divide it into two of half as many sentences, each as long as its longest; one sentence stays one."""
        count = int((self.indices >= 0).sum())
        middle = (count + 1) // 2
        return [self._part(rows) for rows in (slice(0, middle), slice(middle, count)) if len(self.indices[rows])]

    def padded(self, rows: int, source: int, target: int) -> "Batch":
        """Fill it up to a larger shape; rows that hold no sentence have the index −1, and nothing to predict."""
        empty = rows - len(self.indices)
        size = {"source": source, "target_input": target, "target_output": target}
        more = {name: (0, length - getattr(self, name).size(1), 0, empty) for name, length in size.items()}
        filled = {name: F.pad(getattr(self, name), width, value=PAD) for name, width in more.items()}
        filled["source"][len(self.indices) :, 0] = END
        filled["target_input"][len(self.indices) :, 0] = START
        return self._replace(
            **filled,
            source_lengths=F.pad(self.source_lengths, (0, empty), value=1),  # no attention over nothing
            target_lengths=F.pad(self.target_lengths, (0, empty)),
            indices=F.pad(self.indices, (0, empty), value=-1),
            links=None if self.links is None else _fill_up(self.links, rows, target, source),
        )

    def _part(self, rows: slice) -> "Batch":
        longest_source, longest_target = int(self.source_lengths[rows].max()), int(self.target_lengths[rows].max())
        return Batch(
            self.source[rows, :longest_source],
            self.source_lengths[rows],
            self.target_input[rows, :longest_target],
            self.target_output[rows, :longest_target],
            self.target_lengths[rows],
            self.indices[rows],
            None if self.links is None else self.links[rows, :longest_target, :longest_source],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Examples:
    """A corpus in token numbers, without special tokens."""

    source: Ragged
    target: Ragged
    links: WordLinks | None = None

    def __post_init__(self) -> None:
        for name, side in (("target", self.target), ("links", self.links)):
            if side is not None and len(side) != len(self.source):
                raise ArgumentError(
                    f"`{name}` must have one entry for each of the {len(self.source)} sources; received {len(side)}."
                )


class Batches(Epochs[Batch]):
    """The batches that one process takes, one epoch after another.

    `examples` is a corpus, or a function that gives the corpus of an epoch, where it is encoded anew in each
    (BPE-dropout). With `few_shapes` batches are filled up so that their shapes are few, which CUDA graphs want.

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
        few_shapes: bool = False,
    ) -> None:
        super().__init__()
        self._few_shapes = few_shapes
        self._encode: Callable[[int], Examples] = examples if callable(examples) else lambda epoch: examples
        self._tokens, self._seed, self._shuffle, self._too_long = tokens, seed, shuffle, too_long
        self._rank, self._ranks = rank, ranks
        self._encoded: tuple[int, Examples] | None = None
        self._most: tuple[int, tuple[int, int]] | None = None

    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """Give the sentences of each batch of an epoch."""
        examples = self.examples(epoch)
        batches = make_index_batches(
            examples.source.lengths + 1,
            examples.target.lengths + 1,
            tokens=self._tokens,
            seed=self._seed,
            epoch=epoch,
            shuffle=self._shuffle,
            too_long=self._too_long,
            few_shapes=self._few_shapes,
        )
        return share_batches(batches, rank=self._rank, ranks=self._ranks)

    def make(self, indices: NDArray[np.int64], *, epoch: int, number: int) -> Batch:
        """Pad these sentences into one batch."""
        batch = make_batch(self.examples(epoch), indices)
        if not self._few_shapes:
            return batch
        rounded = round_length(np.array([batch.source.size(1), batch.target_output.size(1)]))
        source, target = np.minimum(rounded, self._longest(epoch)).tolist()  # a model's positions may end there
        return batch.padded(max(len(indices), self._tokens // max(source, target)), source, target)

    def state(self) -> dict[str, int]:
        """Return the position in the data, in plain numbers for a checkpoint."""
        return super().state() | ({"few_shapes": 1} if self._few_shapes else {})

    def restore(self, state: Mapping[str, int]) -> None:
        """Go to where `state` was taken, with batches of the shapes it was taken with."""
        few_shapes = bool(state.get("few_shapes", 0))
        if few_shapes != self._few_shapes:
            self._few_shapes, self._planned = few_shapes, None
        super().restore({name: value for name, value in state.items() if name != "few_shapes"})

    def longest(self) -> tuple[int, int]:
        """Give the most tokens of any source and any target of this epoch, `</s>` included."""
        return self._longest(self._epoch)

    def _longest(self, epoch: int) -> tuple[int, int]:
        if self._most is None or self._most[0] != epoch:
            sides = (self.examples(epoch).source, self.examples(epoch).target)
            source, target = (int(side.lengths.max(initial=0)) + 1 for side in sides)
            self._most = epoch, (source, target)
        return self._most[1]

    def examples(self, epoch: int | None = None) -> Examples:
        """Give the corpus of an epoch, encoded once; by default of the one in which we stand."""
        epoch = self._epoch if epoch is None else epoch
        if self._encoded is None or self._encoded[0] != epoch:
            self._encoded = epoch, self._encode(epoch)
        return self._encoded[1]


def make_batch(examples: Examples, indices: NDArray[np.int64]) -> Batch:
    """Pad the sentences `indices` into one batch.

    >>> corpus = Ragged.from_lists([[5, 6], [7]])
    >>> make_batch(Examples(source=corpus, target=corpus), np.array([0, 1])).target_input
    tensor([[2, 5, 6],
            [2, 7, 0]])
    """
    links = examples.links
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
        None if links is None else _linked(links, indices, target, source),
    )


def _linked(
    links: WordLinks, indices: NDArray[np.int64], target: NDArray[np.int64], source: NDArray[np.int64]
) -> Bool[Tensor, "batch target source"]:
    return torch.from_numpy(links.matrix(indices, target=target.shape[1], source=source.shape[1]))


def _fill_up(links: Tensor, rows: int, target: int, source: int) -> Tensor:
    sizes = (source - links.size(2), target - links.size(1), rows - links.size(0))
    return F.pad(links, [width for size in sizes for width in (0, size)])


def _pad(sequences: Ragged, indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lay sequences out as rows, each closed by `</s>`, and count their tokens with it."""
    lengths = sequences.offsets[indices + 1] - sequences.offsets[indices]  # not of all sequences, for each batch
    column = np.arange(int(lengths.max(initial=0)) + 1)
    rows = np.full((len(indices), len(column)), PAD, dtype=np.int64)
    filled = column < lengths[:, None]
    rows[filled] = np.concatenate([sequences[int(index)] for index in indices])
    rows[column == lengths[:, None]] = END
    return rows, lengths + 1
