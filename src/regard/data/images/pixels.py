"""What holds of any images as bytes: equal ones are found by their pixels, sides share none, colors have a mean."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int64, UInt8

from regard.data.corpora.split import Fractions
from regard.errors import DataError


class Division(NamedTuple):
    """Which images are on which side, by number, in order."""

    train: Int64[np.ndarray, " train"]
    valid: Int64[np.ndarray, " valid"]
    test: Int64[np.ndarray, " test"]


def digest_pixels(pixels: UInt8[np.ndarray, "images channels height width"], salt: str = "") -> list[bytes]:
    """Give a number for the pixels of each image."""
    key = hashlib.blake2b(salt.encode(), digest_size=16).digest()
    return [hashlib.blake2b(item.tobytes(), digest_size=8, key=key).digest() for item in pixels]


def divide_pixels(
    pixels: UInt8[np.ndarray, "images channels height width"], fractions: Fractions, *, called: str = "image"
) -> Division:
    """Divide images by a hash of their pixels, the same way every time: equal ones are on one side.

    >>> pixels = np.arange(200, dtype=np.uint8).reshape(200, 1, 1, 1)
    >>> sides = divide_pixels(pixels, Fractions(valid=0.2, test=0.1))
    >>> sum(map(len, sides)), 20 < len(sides.valid) < 60
    (200, True)
    """
    draws = np.array([int.from_bytes(item, "big") / 2.0**64 for item in digest_pixels(pixels, fractions.salt)])
    valid = draws < fractions.valid
    test = ~valid & (draws < fractions.valid + fractions.test)
    for name, share, held in (("valid", fractions.valid, valid), ("test", fractions.test, test)):
        if share and not held.any():
            raise DataError(
                f"`{name}` = {share:g} must hold out at least one {called}; received none of {len(pixels):,}. Give a "
                f"larger share, more {called}s, or a {name} set of your own."
            )
    return Division(*(np.flatnonzero(side) for side in (~valid & ~test, valid, test)))


def find_shared(
    pixels: UInt8[np.ndarray, "images channels height width"],
    others: Iterable[UInt8[np.ndarray, "..."]],
) -> Bool[np.ndarray, " images"]:
    """Return for each image whether it is, pixel by pixel, among `others`.

    >>> pixels = np.arange(3, dtype=np.uint8).reshape(3, 1, 1, 1)
    >>> find_shared(pixels, [pixels[1:2]])
    array([False,  True, False])
    """
    digests = {digest for other in others for digest in digest_pixels(other)}
    return np.array([digest in digests for digest in digest_pixels(pixels)], dtype=np.bool_)


def color_statistics(
    pixels: UInt8[np.ndarray, "images channels height width"],
) -> tuple[list[float], list[float]]:
    """Give the mean and the standard deviation of each color, from 0 to 1.

    >>> color_statistics(np.full((1, 3, 2, 2), 51, dtype=np.uint8))
    ([0.2, 0.2, 0.2], [0.0, 0.0, 0.0])
    """
    levels = np.arange(256) / 255
    means, spreads = [], []
    for channel in range(pixels.shape[1]):
        counts = np.bincount(pixels[:, channel].reshape(-1), minlength=256)
        mean = float((counts * levels).sum() / counts.sum())
        means.append(mean)
        spreads.append(float(np.sqrt((counts * (levels - mean) ** 2).sum() / counts.sum())))
    return means, spreads
