"""Batches of images: shuffled and changed anew in each epoch, in an order that can be taken up where it stopped."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int, UInt8
from numpy.typing import NDArray
from torch import Tensor

from regard.data.bucketing import share_batches
from regard.data.images.augment import augment
from regard.data.images.labeled import LabeledImages


@dataclass(frozen=True)
class ImageBatch:
    """Images with their labels; `training.job.Divisible`."""

    pixels: UInt8[Tensor, "batch channels height width"]
    labels: Int[Tensor, " batch"]
    indices: Int[Tensor, " batch"]

    @property
    def image(self) -> Tensor:
        """The images with colors from 0 to 1."""
        return self.pixels.float() / 255

    @property
    def num_tokens(self) -> int:
        """How many images there are: each has one label to predict."""
        return len(self.labels)

    @property
    def cells(self) -> int:
        """How many numbers the images are."""
        return self.pixels.numel()

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> "ImageBatch":
        """Move every tensor to `device`, the images as bytes."""
        parts = (self.pixels, self.labels, self.indices)
        return ImageBatch(*(one.to(device, non_blocking=non_blocking) for one in parts))

    def halve(self) -> "list[ImageBatch]":
        """Divide it into two of half as many images; one stays one."""
        middle = (len(self.labels) + 1) // 2
        sides = (slice(0, middle), slice(middle, None))
        halves = [ImageBatch(self.pixels[side], self.labels[side], self.indices[side]) for side in sides]
        return [half for half in halves if half.num_tokens]


class ImageBatches:
    """Images, one epoch after another, in batches of as equal a size as can be.

    What is drawn for a batch depends on seed, epoch and its number alone, so that a resumed run sees the same changes.
    """

    def __init__(
        self,
        images: LabeledImages,
        *,
        size: int,
        seed: int = 0,
        flip: bool = False,
        shift: int = 0,
        shuffle: bool = True,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        self._images, self._size, self._seed, self._flip, self._shift = images, size, seed, flip, shift
        self._shuffle, self._rank, self._ranks = shuffle, rank, ranks
        self._epoch, self._batch = 0, 0

    def __iter__(self) -> Iterator[ImageBatch]:
        epoch, plan = self._epoch, self._plan(self._epoch)
        for number in range(self._batch, len(plan)):
            last = number + 1 == len(plan)
            self._epoch, self._batch = (epoch + 1, 0) if last else (epoch, number + 1)
            yield self._make(plan[number], epoch, number)

    def state(self) -> dict[str, int]:
        """Say where we stand."""
        return {"epoch": self._epoch, "batch": self._batch}

    def restore(self, state: Mapping[str, int]) -> None:
        """Go there."""
        self._epoch, self._batch = int(state["epoch"]), int(state["batch"])

    def _make(self, indices: NDArray[np.int64], epoch: int, number: int) -> ImageBatch:
        pixels = self._images.pixels[indices]
        if self._flip or self._shift:
            generator = np.random.Generator(np.random.PCG64([self._seed, epoch, number, self._rank]))
            pixels = augment(pixels, generator, flip=self._flip, shift=self._shift)
        labels = torch.from_numpy(self._images.labels[indices])
        return ImageBatch(torch.from_numpy(pixels), labels, torch.from_numpy(indices))

    def _plan(self, epoch: int) -> list[NDArray[np.int64]]:
        count = len(self._images)
        order = np.arange(count)
        if self._shuffle:
            order = np.argsort(np.random.PCG64([self._seed, epoch]).random_raw(count), kind="stable")
        batches = np.array_split(order, max(1, -(-count // self._size)))
        return share_batches(batches, rank=self._rank, ranks=self._ranks)
