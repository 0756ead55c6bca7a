"""What there is to train: the part of a run that knows the task."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import torch
from torch import Tensor, nn

from regard.training.loss import Loss
from regard.training.watch import Validated

AnyBatch = TypeVar("AnyBatch", bound="TrainingBatch")


@runtime_checkable
class TrainingBatch(Protocol):
    """A batch of any task: what the loop must know of it."""

    @property
    def indices(self) -> Tensor:
        """Which examples these are."""

    @property
    def num_tokens(self) -> int:
        """How many tokens there are to predict."""

    @property
    def cells(self) -> int:
        """How large it is, in whatever unit: what does not fit into memory is divided until it is half of that."""

    def to(self: AnyBatch, device: torch.device | str, *, non_blocking: bool = False) -> AnyBatch:
        """Move every tensor to `device`."""

    def halve(self: AnyBatch) -> list[AnyBatch]:
        """Divide it into two of half as many examples; one stays one."""


BatchType = TypeVar("BatchType", bound=TrainingBatch)
BatchType_co = TypeVar("BatchType_co", bound=TrainingBatch, covariant=True)


@runtime_checkable
class BatchStreamOf(Protocol[BatchType_co]):
    """Batches, one epoch at a time, in an order that can be taken up where it stopped."""

    def __iter__(self) -> Iterator[BatchType_co]:
        """Give the rest of the epoch."""

    def state(self) -> dict[str, int]:
        """Give where we stand."""

    def restore(self, state: Mapping[str, int]) -> None:
        """Go there."""


@runtime_checkable
class JobOf(Protocol[BatchType]):
    """Data, loss and validation of a task."""

    @property
    def batches(self) -> BatchStreamOf[BatchType]:
        """What to train on."""

    def loss(self, model: nn.Module, batch: BatchType) -> Loss:
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


@runtime_checkable
class Uncaptured(Protocol):
    """A job whose steps may be of a kind that no CUDA graph can repeat."""

    @property
    def uncaptured(self) -> str:
        """Why they are not captured; empty where they may be."""


#: Those of any task, for the loop, which hands batches through as they are.
BatchStream: TypeAlias = BatchStreamOf[Any]
Job: TypeAlias = JobOf[Any]


def endless(batches: BatchStream) -> Iterator[Any]:
    """Go through one epoch after another."""
    while True:
        yield from batches
