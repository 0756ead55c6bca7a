"""Batches one epoch after another, in an order that can be taken up where it stopped."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from regard.data.batches.bucketing import share_batches
from regard.errors import ArgumentError

BatchType = TypeVar("BatchType")


class Epochs(ABC, Generic[BatchType]):
    """Iterating goes from where we stand to the end of the epoch, and stands at the next one then.

    We move on before a batch is handed over: saved after a step, the position is that of the step after it.
    """

    def __init__(self) -> None:
        self._epoch, self._batch = 0, 0
        self._planned: tuple[int, list[NDArray[np.int64]]] | None = None

    @abstractmethod
    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """Give what is in each batch of an epoch, by number."""

    @abstractmethod
    def make(self, indices: NDArray[np.int64], *, epoch: int, number: int) -> BatchType:
        """Put these into batch `number` of an epoch."""

    def __iter__(self) -> Iterator[BatchType]:
        epoch, plan = self._epoch, self._plan(self._epoch)
        for number in range(self._batch, len(plan)):
            last = number + 1 == len(plan)
            self._epoch, self._batch = (epoch + 1, 0) if last else (epoch, number + 1)
            yield self.make(plan[number], epoch=epoch, number=number)

    def __len__(self) -> int:
        """How many batches this process takes in the epoch in which we stand."""
        return len(self._plan(self._epoch))

    def state(self) -> dict[str, int]:
        """Return the position in the data, in plain numbers for a checkpoint."""
        return {"epoch": self._epoch, "batch": self._batch}

    def restore(self, state: Mapping[str, int]) -> None:
        """Go to where `state` was taken."""
        if state.keys() != {"epoch", "batch"}:
            raise ArgumentError(f"`state` must have the keys epoch and batch; received {', '.join(state) or 'none'}.")
        epoch, batch = int(state["epoch"]), int(state["batch"])
        count = len(self._plan(epoch)) if epoch >= 0 else 0
        if epoch < 0 or not 0 <= batch < max(count, 1):
            raise ArgumentError(
                f"`state` must name one of the {count} batches of epoch {epoch}; received batch {batch}. Are data, "
                "batch size and `ranks` those it was taken with?"
            )
        self._epoch, self._batch = epoch, batch

    def _plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """Plan an epoch once."""
        if self._planned is None or self._planned[0] != epoch:
            self._planned = epoch, self.plan(epoch)
        return self._planned[1]


class EvenEpochs(Epochs[BatchType]):
    """Things of one size, shuffled anew in each epoch, in batches of as equal a size as can be."""

    def __init__(
        self, count: int, *, size: int, seed: int = 0, shuffle: bool = True, rank: int = 0, ranks: int = 1
    ) -> None:
        super().__init__()
        self._count, self._size, self._seed, self._shuffle = count, size, seed, shuffle
        self._rank, self._ranks = rank, ranks

    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """Give what is in each batch of an epoch that this process takes."""
        order = np.arange(self._count)
        if self._shuffle:  # raw draws: numpy keeps those the same in every version
            order = np.argsort(np.random.PCG64([self._seed, epoch]).random_raw(self._count), kind="stable")
        batches = np.array_split(order, max(1, -(-self._count // self._size)))
        return share_batches(batches, rank=self._rank, ranks=self._ranks)
