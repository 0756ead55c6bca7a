"""A picture for the studio: a scene drawn from a seed, or a file in base64, which is kept nowhere."""

import base64
import binascii
import io
import threading
from dataclasses import dataclass
from random import Random

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from regard.data.images.picture import fit_picture, resize_images
from regard.data.scenes import Asker, Question, caption_scene, draw_scene, paint_scene
from regard.data.scenes.scene import SHAPES, SIMPLE
from regard.errors import ArgumentError

MAX_FILE = 4 * 2**20
"""Bytes of a file."""
MAX_PIXELS = 25_000_000
"""A picture of more is refused before it is unpacked."""
READERS = threading.BoundedSemaphore(2)
"""Pictures that are unpacked at once: one of 25 million pixels takes 75 MB and more."""
SPARE = 4
"""How much larger than needed a JPEG is unpacked, in each direction; a camera's picture need not be whole."""
FORMATS = ("PNG", "JPEG", "WEBP")
ROUNDS = 2
"""Questions of each kind about a scene."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Picture:
    """A picture as a model reads it, and what is known of it."""

    pixels: UInt8[np.ndarray, "channels height width"]
    original: tuple[int, int]
    """Height and width before it was stretched."""
    questions: tuple[Question, ...] = ()
    """With the one answer that is true of a scene; none for a file."""
    caption: str | None = None

    def tensor(self) -> UInt8[Tensor, "channels height width"]:
        """Give the pixels to a network."""
        return torch.from_numpy(self.pixels.copy())

    def png(self) -> str:
        """Give the pixels to a page: an address that holds the picture itself."""
        from PIL import Image

        buffer = io.BytesIO()
        pixels = self.pixels[0] if len(self.pixels) == 1 else self.pixels.transpose(1, 2, 0)
        Image.fromarray(pixels).save(buffer, format="png")
        return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def read_picture(*, seed: int | None, file: str | None, size: tuple[int, int], channels: int) -> Picture:
    """Draw the scene of a seed, or read a file in base64; one of the two."""
    if (seed is None) == (file is None):
        received = "neither" if seed is None else "both"
        raise ArgumentError(f"Either `seed` or `file` must name the picture; received {received}. Choose a picture.")
    return read_file(file, size=size, channels=channels) if file is not None else draw_picture(seed, size, channels)


def draw_picture(seed: int | None, size: tuple[int, int], channels: int) -> Picture:
    """Draw a scene, with questions that it answers: of `builtin:simple-shapes` for models of that size.

    >>> draw_picture(2, (64, 64), 3).caption == draw_picture(2, (64, 64), 3).caption
    True
    """
    from PIL import Image

    random = Random(f"studio/{seed}")
    scene = draw_scene(random, style=SIMPLE if size == (SIMPLE.side, SIMPLE.side) else SHAPES)
    asker = Asker()
    questions = [question for _ in range(ROUNDS) for question in asker.ask(scene, random)]
    painted = paint_scene(scene)
    if channels == 1:
        pixels = fit_picture(Image.fromarray(painted.transpose(1, 2, 0)), size=size, channels=1)
    else:
        pixels = resize_images(painted[None], size)[0]
    return Picture(
        pixels=pixels,
        original=(painted.shape[1], painted.shape[2]),
        questions=tuple({item.text: item for item in questions}.values()),
        caption=caption_scene(scene),
    )


def read_file(file: str, *, size: tuple[int, int], channels: int) -> Picture:
    """Read a PNG, JPEG or WebP picture that travels in base64."""
    from PIL import Image, UnidentifiedImageError

    try:
        data = base64.b64decode(file, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ArgumentError(f"`file` must be a file in base64; received something else: {error}.") from error
    if len(data) > MAX_FILE:
        raise ArgumentError(f"The picture must have at most {MAX_FILE:,} bytes; it has {len(data):,}. Make it smaller.")
    try:
        with READERS, Image.open(io.BytesIO(data), formats=FORMATS) as opened:
            width, height = opened.size
            if width * height <= MAX_PIXELS:
                opened.draft(None, (SPARE * max(size),) * 2)  # of JPEG alone; a picture lying on its side, too
                opened.load()
                return Picture(pixels=fit_picture(opened, size=size, channels=channels), original=(height, width))
    except MemoryError:
        raise
    except Exception as error:  # Pillow's decoders raise whatever they meet
        if isinstance(error, UnidentifiedImageError):
            raise ArgumentError("This file is not a picture. Choose a PNG, JPEG or WebP file.") from error
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ArgumentError(f"This picture cannot be read: {reason}. Choose another.") from error
    raise ArgumentError(
        f"The picture must have at most {MAX_PIXELS:,} pixels; it has {width:,} × {height:,}. Make it smaller."
    )
