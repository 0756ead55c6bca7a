"""What there is to train: the part of a run that knows the task."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from regard.data.batches.pairs import Batch
from regard.training.loss import Loss
from regard.training.watch import Validated

Itself = TypeVar("Itself", bound="Divisible")


@runtime_checkable
class Divisible(Protocol):
    """A batch of any task but translation, whose own is `data.batches.Batch`."""

    @property
    def indices(self) -> Tensor:
        """Which examples these are."""

    @property
    def num_tokens(self) -> int:
        """How many tokens there are to predict."""

    @property
    def cells(self) -> int:
        """How large it is, in whatever unit: what does not fit into memory is divided until it is half of that."""

    def to(self: Itself, device: torch.device | str, *, non_blocking: bool = False) -> Itself:
        """Move every tensor to `device`."""

    def halve(self: Itself) -> list[Itself]:
        """Divide it into two of half as many examples; one stays one."""


AnyBatch: TypeAlias = Batch | Divisible
Given = TypeVar("Given", bound=AnyBatch)
Given_co = TypeVar("Given_co", bound=AnyBatch, covariant=True)


@runtime_checkable
class BatchStreamOf(Protocol[Given_co]):
    """Batches, one epoch at a time, in an order that can be taken up where it stopped."""

    def __iter__(self) -> Iterator[Given_co]:
        """Give the rest of the epoch."""

    def state(self) -> dict[str, int]:
        """Say where we stand."""

    def restore(self, state: Mapping[str, int]) -> None:
        """Go there."""


@runtime_checkable
class JobOf(Protocol[Given]):
    """Data, loss and validation of a task."""

    @property
    def batches(self) -> BatchStreamOf[Given]:
        """What to train on."""

    def loss(self, model: nn.Module, batch: Given) -> Loss:
        """Sum the loss over the target tokens of a batch."""

    def validate(self, model: nn.Module) -> Validated:
        """Measure the model on held-out data."""


@runtime_checkable
class Carrying(Protocol):
    """A job whose batches go on from what the ones before them left: a checkpoint holds that too."""

    def carried(self) -> dict[str, Tensor]:
        """Give what the next batch goes on from."""

    def carry_on(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from what `carried` gave."""


#: Those of any task, for the loop, which hands batches through without looking inside.
BatchStream: TypeAlias = BatchStreamOf[Any]
Job: TypeAlias = JobOf[Any]


def endless(batches: BatchStream) -> Iterator[Any]:
    """Go through one epoch after another."""
    while True:
        yield from batches


def cells(batch: AnyBatch) -> int:
    """Say how large a batch is."""
    return batch.source.numel() + batch.target_output.numel() if isinstance(batch, Batch) else batch.cells


def halve(batch: AnyBatch) -> list[Any]:
    """Divide a batch into two of half as many examples; one stays one."""
    if not isinstance(batch, Batch):
        return batch.halve()
    count = len(batch.indices)
    if count == 1:
        return [batch]
    middle = (count + 1) // 2
    return [_rows(batch, slice(0, middle)), _rows(batch, slice(middle, count))]


def _rows(batch: Batch, rows: slice) -> Batch:
    longest_source, longest_target = int(batch.source_lengths[rows].max()), int(batch.target_lengths[rows].max())
    return Batch(
        batch.source[rows, :longest_source],
        batch.source_lengths[rows],
        batch.target_input[rows, :longest_target],
        batch.target_output[rows, :longest_target],
        batch.target_lengths[rows],
        batch.indices[rows],
        None if batch.links is None else batch.links[rows],
    )
