"""What there is to train: the part of a run that knows the task."""

from collections.abc import Iterator, Mapping
from typing import Protocol, runtime_checkable

from torch import nn

from regard.data.batches import Batch
from regard.training.loss import Loss
from regard.training.watch import Validated


@runtime_checkable
class BatchStream(Protocol):
    """Batches, one epoch at a time, in an order that can be taken up where it stopped."""

    def __iter__(self) -> Iterator[Batch]:
        """Give the rest of the epoch."""

    def state(self) -> dict[str, int]:
        """Say where we stand."""

    def restore(self, state: Mapping[str, int]) -> None:
        """Go there."""


@runtime_checkable
class Job(Protocol):
    """Data, loss and validation of a task."""

    @property
    def batches(self) -> BatchStream:
        """What to train on."""

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """Sum the loss over the target tokens of a batch."""

    def validate(self, model: nn.Module) -> Validated:
        """Measure the model on held-out data."""


def endless(batches: BatchStream) -> Iterator[Batch]:
    """Go through one epoch after another."""
    while True:
        yield from batches


def halve(batch: Batch) -> list[Batch]:
    """Divide a batch into two of half as many sentences; one sentence stays one."""
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
