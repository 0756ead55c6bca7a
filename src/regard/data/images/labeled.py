"""Images with labels, held as bytes, and their division into sides that share no image."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64, UInt8

from regard.data.corpora.report import Report
from regard.data.corpora.split import Fractions
from regard.data.images.pixels import digest_pixels, divide_pixels, find_shared
from regard.errors import DataError, nearest


@dataclass(frozen=True, kw_only=True, eq=False)
class LabeledImages:
    """Images of one size, with the numbers of their labels."""

    pixels: UInt8[np.ndarray, "images channels height width"]
    labels: Int64[np.ndarray, " images"]
    """Indices into `names`."""
    names: tuple[str, ...]
    """What the labels are called."""
    files: tuple[str, ...] = ()
    """Where each image comes from, where it has a file of its own."""

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, chosen: Sequence[int] | Int64[np.ndarray, " chosen"]) -> "LabeledImages":
        """Give some of the images, in this order."""
        indices = np.asarray(chosen, dtype=np.int64)
        files = tuple(self.files[index] for index in indices) if self.files else ()
        return LabeledImages(pixels=self.pixels[indices], labels=self.labels[indices], names=self.names, files=files)

    def describe(self, index: int) -> str:
        """Name an image for people."""
        return self.files[index] if self.files else f"image {index + 1:,}"

    def digests(self, salt: str = "") -> list[bytes]:
        """Give a number for the pixels of each image."""
        return digest_pixels(self.pixels, salt)


class ImageSplits(NamedTuple):
    """Three sets, each in the order its images came."""

    train: LabeledImages
    valid: LabeledImages
    test: LabeledImages


def split_images(images: LabeledImages, fractions: Fractions) -> ImageSplits:
    """Divide images by a hash of their pixels, the same way every time: an image that is there twice is on one side.

    >>> pixels = np.arange(200, dtype=np.uint8).reshape(200, 1, 1, 1)
    >>> images = LabeledImages(pixels=pixels, labels=np.zeros(200, dtype=np.int64), names=("a",))
    >>> sides = split_images(images, Fractions(valid=0.2, test=0.1))
    >>> sum(map(len, sides)), 20 < len(sides.valid) < 60
    (200, True)
    """
    return ImageSplits(*(images.select(side) for side in divide_pixels(images.pixels, fractions)))


def drop_held_out_images(
    images: LabeledImages, held_out: Sequence[LabeledImages], *, report: Report | None = None
) -> LabeledImages:
    """Leave out images that are, pixel by pixel, among those `held_out`."""
    report = Report(title="held out elsewhere") if report is None else report
    shared = find_shared(images.pixels, (side.pixels for side in held_out))
    for index in np.flatnonzero(shared).tolist():
        report.drop("held out", place=images.describe(index), text=images.names[images.labels[index]])
    kept = np.flatnonzero(~shared)
    report.kept += len(kept)
    return images.select(kept) if shared.any() else images


def rename_labels(images: LabeledImages, names: Sequence[str], *, side: str) -> LabeledImages:
    """Number the labels by `names`, those of the training images.

    >>> images = LabeledImages(pixels=np.zeros((1, 1, 2, 2), np.uint8), labels=np.array([0]), names=("b",))
    >>> rename_labels(images, ["a", "b"], side="test").labels
    array([1])
    """
    numbers = {name: number for number, name in enumerate(names)}
    used = {int(label) for label in np.unique(images.labels)}
    for label in sorted(used):
        if images.names[label] not in numbers:
            raise DataError(
                f'The {side} images must have labels that the training images have; received "{images.names[label]}". '
                f"{nearest(images.names[label], names)}"
            )
    table = np.array([numbers.get(name, 0) for name in images.names], dtype=np.int64)
    return LabeledImages(pixels=images.pixels, labels=table[images.labels], names=tuple(names), files=images.files)
