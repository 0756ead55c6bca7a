"""A picture from whoever has one: a path, a Pillow image, an array or a tensor, brought to the size a model reads."""

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from regard.data.images.picture import fit_picture, read_picture, resize_images
from regard.errors import ArgumentError, ArgumentTypeError

AnyPicture: TypeAlias = Any
"""A path, a Pillow image, bytes as an array of (height, width) or (height, width, 3), or a tensor of colors from 0 to
1, (colors, height, width)."""


def read_any_picture(
    image: AnyPicture, *, size: int | tuple[int, int], channels: int = 3, name: str = "image"
) -> UInt8[Tensor, "channels height width"]:
    """Give a picture as bytes, stretched to `size` pixels, or to that height and width; errors call it `name`.

    >>> read_any_picture(np.zeros((8, 8, 3), dtype=np.uint8), size=4).shape
    torch.Size([3, 4, 4])
    """
    from PIL import Image

    shape = (size, size) if isinstance(size, int) else size
    if isinstance(image, str | Path):
        return torch.from_numpy(read_picture(Path(image), size=shape, channels=channels))
    if isinstance(image, Tensor):
        if image.ndim != 3 or image.size(0) != channels or not image.is_floating_point():
            raise ArgumentError(
                f"`{name}` as a tensor must be colors from 0 to 1 of shape ({channels}, height, width); received "
                f"{image.dtype} of {tuple(image.shape)}."
            )
        pixels = (image.detach().float().clamp(0, 1) * 255).round().byte().cpu().numpy()
        return torch.from_numpy(resize_images(pixels[None], shape)[0])
    if isinstance(image, np.ndarray):
        if image.dtype != np.uint8 or image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] not in (3, 4)):
            raise ArgumentError(
                f"`{name}` as an array must be bytes of shape (height, width) or (height, width, 3); received "
                f"{image.dtype} of {image.shape}."
            )
        image = Image.fromarray(image)
    if isinstance(image, Image.Image):
        return torch.from_numpy(fit_picture(image, size=shape, channels=channels))
    raise ArgumentTypeError(
        f"`{name}` must be a path, a Pillow image, an array or a tensor; received {type(image).__name__}."
    )
