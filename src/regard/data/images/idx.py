"""IDX files, as MNIST comes in: a head that says type and shape, then plain bytes; images and labels apart."""

import math
import struct
from pathlib import Path

import numpy as np
from jaxtyping import Shaped
from numpy.typing import NDArray

from regard.data.formats.compressed import open_decompressed, read_at_most
from regard.data.formats.paths import PACKED, is_file
from regard.data.images.labeled import LabeledImages
from regard.errors import DataError

UNSIGNED_BYTES = 0x08
MOST_BYTES = 2**32
"""Of a set of images, which is held in memory whole; MNIST has 47 million."""


def read_idx(path: Path) -> Shaped[np.ndarray, "*shape"]:
    """Read the bytes of an IDX file, compressed or not.

    The head is two zero bytes, the type, of which images and labels have 8, the number of axes, and then the length of
    each axis in four bytes, the first byte first.
    """
    with open_decompressed(path) as stream:
        start = stream.read(4)
        if len(start) < 4 or start[:2] != b"\0\0" or start[2] != UNSIGNED_BYTES or not 1 <= start[3] <= 4:
            raise DataError(
                f"{path} must be an IDX file of bytes, which begins with 00 00 08 and the number of axes, 1 to 4; "
                f"received {start.hex(' ') or 'an empty file'}."
            )
        head = stream.read(4 * start[3])
        if len(head) < 4 * start[3]:
            raise DataError(f"{path} must say the length of its {start[3]} axes; received a file that breaks off.")
        shape = struct.unpack(f">{start[3]}I", head)
        expected, written = math.prod(shape), " × ".join(f"{length:,}" for length in shape)
        if expected > MOST_BYTES:
            raise DataError(
                f"{path} must hold at most {MOST_BYTES:,} bytes of images; received a head that promises {written}. "
                "Divide it into several files."
            )
        data = read_at_most(stream, expected + 1)
    if len(data) != expected:
        received = "more" if len(data) > expected else f"{len(data):,}"
        raise DataError(
            f"{path} must hold {written} = {expected:,} bytes after its head; received {received}. Fetch it again."
        )
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)


def read_idx_images(path: Path, labels: Path | None = None) -> LabeledImages:
    """Read images and their labels, whose file is found by its name where it is not given.

    Gray images have three axes, (image, height, width); colored ones four, with the colors second or last.
    """
    pixels = _with_channels(path, read_idx(path))
    beside = labels if labels is not None else find_labels_file(path)
    numbers = read_idx(beside)
    if numbers.ndim != 1:
        raise DataError(f"{beside} must be labels, an IDX file of one axis; received {numbers.ndim} axes.")
    if len(numbers) != len(pixels):
        raise DataError(
            f"{beside} must have a label for each of the {len(pixels):,} images of {path}; received {len(numbers):,}."
        )
    if not len(pixels):
        raise DataError(f"{path} must hold at least one image; received none.")
    distinct, classes = np.unique(numbers, return_inverse=True)
    return LabeledImages(
        pixels=pixels, labels=classes.astype(np.int64), names=tuple(str(number) for number in distinct)
    )


def find_labels_file(path: Path) -> Path:
    """Find the labels beside a file of images: the name says labels for images, and idx1 for idx3."""
    stem = path.name.replace("images", "labels").replace("idx3", "idx1").replace("idx4", "idx1")
    if stem != path.name:
        bare = stem.removesuffix(path.suffix) if path.suffix in PACKED else stem
        for name in (stem, bare, *(bare + ending for ending in PACKED)):
            if is_file(path.parent / name):
                return path.parent / name
    received = f"no {stem}" if stem != path.name else "a name without the word images"
    raise DataError(
        f"The labels of {path} must lie beside it, under its name with labels for images; received {received}. Name "
        "their file: data.labels."
    )


def _with_channels(path: Path, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if pixels.ndim == 3 and min(pixels.shape[1:]) > 0:
        return pixels[:, None]
    if pixels.ndim == 4 and min(pixels.shape[1:]) > 0:
        if pixels.shape[1] in (1, 3):
            return pixels
        if pixels.shape[3] in (1, 3):
            return np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))
    raise DataError(
        f"{path} must be images of shape (image, height, width), or with 1 or 3 colors second or last; received "
        f"{pixels.shape}. Is it a file of labels?"
    )
