"""CIFAR's binary files: records of a label and 32 × 32 pixels in three colors, one after the other, without a head."""

from pathlib import Path

import numpy as np

from regard.data.formats.compressed import open_decompressed, read_at_most
from regard.data.images.labeled import LabeledImages
from regard.errors import DataError

PIXELS = 3 * 32 * 32
TEN, HUNDRED = 1 + PIXELS, 2 + PIXELS
"""Bytes of a record: one label in CIFAR-10, a coarse and a fine one in CIFAR-100."""
MOST_BYTES = 2**32
"""Of a file, which is held in memory whole; all of CIFAR-100's training images have 154 million."""


def read_cifar(path: Path) -> LabeledImages:
    """Read one file; of CIFAR-100 the fine labels.

    The record length tells the two kinds apart: the right one divides the file and gives labels below 10 or 100.
    """
    with open_decompressed(path) as stream:
        data = np.frombuffer(read_at_most(stream, MOST_BYTES + 1), dtype=np.uint8)
    if len(data) > MOST_BYTES:
        raise DataError(f"{path} must have at most {MOST_BYTES:,} bytes; received more. Divide it into several files.")
    if not len(data):
        raise DataError(f"{path} must hold images; received an empty file.")
    for length, most in ((TEN, 10), (HUNDRED, 100)):
        if len(data) % length:
            continue
        records = data.reshape(-1, length)
        labels = records[:, length - PIXELS - 1].astype(np.int64)
        if labels.max() < most:
            pixels = np.ascontiguousarray(records[:, length - PIXELS :]).reshape(-1, 3, 32, 32)
            numbers, indices = np.unique(labels, return_inverse=True)
            return LabeledImages(
                pixels=pixels, labels=indices.astype(np.int64), names=tuple(str(number) for number in numbers)
            )
    raise DataError(
        f"{path} must be CIFAR-10 or CIFAR-100 in binary, records of {TEN:,} or {HUNDRED:,} bytes that begin with a "
        f"label below 10 or 100; received {len(data):,} bytes that are not. Is the file whole?"
    )
