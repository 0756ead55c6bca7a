"""Small pictures that several tests make: a patch of one color, the label, somewhere on a dim ground."""

import gzip
import lzma
import struct

import numpy as np
from PIL import Image

COLORS = {"blue": 2, "green": 1, "red": 0}


def paint(draw, channel, *, size=16):
    """Paint one picture, (3, size, size), and say where its patch is, in cells of four pixels."""
    pixels = draw.integers(0, 60, (3, size, size)).astype(np.uint8)
    row, column = draw.integers(0, size // 4, 2)
    pixels[channel, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = 230
    return pixels, (int(row), int(column))


def write_folder(folder, *, count=30, size=16, seed=1):
    """Write pictures of three classes, a sub-folder each."""
    draw = np.random.default_rng(seed)
    for name, channel in COLORS.items():
        (folder / name).mkdir(parents=True)
        for number in range(count):
            pixels, _ = paint(draw, channel, size=size)
            Image.fromarray(pixels.transpose(1, 2, 0)).save(folder / name / f"{number:03}.png")
    return folder


def idx(array):
    """Give an array as the bytes of an IDX file."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.astype(np.uint8).tobytes()


def write_idx(folder, *, count=6, pack="plain"):
    """Write gray images and their labels, 0 and 3 in turns, as MNIST names them."""
    packed = {"plain": bytes, "gz": gzip.compress, "xz": lzma.compress}[pack]
    ending = "" if pack == "plain" else f".{pack}"
    images = np.arange(count * 20).reshape(count, 5, 4) % 256
    path = folder / f"train-images-idx3-ubyte{ending}"
    path.write_bytes(packed(idx(images)))
    (folder / f"train-labels-idx1-ubyte{ending}").write_bytes(packed(idx(np.array([0, 3] * count)[:count])))
    return path


def cifar(labels, *, fine=False, seed=1):
    """Give random images as the bytes of a CIFAR file."""
    draw = np.random.default_rng(seed)
    records = []
    for label in labels:
        records.append(bytes([0, label] if fine else [label]) + draw.integers(0, 256, 3072).astype(np.uint8).tobytes())
    return b"".join(records)
