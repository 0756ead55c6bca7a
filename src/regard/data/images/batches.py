"""Batches of images: shuffled and changed anew in each epoch, in an order that can be taken up where it stopped."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int, UInt8
from numpy.typing import NDArray
from torch import Tensor

from regard.data.batches.epochs import EvenEpochs
from regard.data.images.augment import augment
from regard.data.images.labeled import LabeledImages


@dataclass(frozen=True)
class ImageBatch:
    """Images with their labels; `training.job.TrainingBatch`."""

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
        return ImageBatch(*(item.to(device, non_blocking=non_blocking) for item in parts))

    def halve(self) -> "list[ImageBatch]":
        """Divide it into two of half as many images; one stays one."""
        middle = (len(self.labels) + 1) // 2
        sides = (slice(0, middle), slice(middle, None))
        halves = [ImageBatch(self.pixels[side], self.labels[side], self.indices[side]) for side in sides]
        return [half for half in halves if half.num_tokens]


class ImageBatches(EvenEpochs[ImageBatch]):
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
        super().__init__(len(images), size=size, seed=seed, shuffle=shuffle, rank=rank, ranks=ranks)
        self._images, self._flip, self._shift = images, flip, shift

    def make(self, indices: NDArray[np.int64], *, epoch: int, number: int) -> ImageBatch:
        """Gather these images, changed as the epoch and the number say."""
        pixels = self._images.pixels[indices]
        if self._flip or self._shift:
            generator = np.random.Generator(np.random.PCG64([self._seed, epoch, number, self._rank]))
            pixels = augment(pixels, generator, flip=self._flip, shift=self._shift)
        labels = torch.from_numpy(self._images.labels[indices])
        return ImageBatch(torch.from_numpy(pixels), labels, torch.from_numpy(indices))
