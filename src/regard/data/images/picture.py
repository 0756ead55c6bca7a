"""One picture, whatever its format: opened by Pillow, brought to one size, as bytes."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import UInt8

from regard.data.compressed import missing_file
from regard.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff")
MOST_PIXELS = 64_000_000
"""A picture of more is refused before it is unpacked."""


def read_picture(
    path: Path, *, size: tuple[int, int] | None = None, channels: int = 3
) -> UInt8[np.ndarray, "channels height width"]:
    """Read a picture, turn it as its camera says, lay what is transparent on white, and stretch it to `size`.

    `size` is (height, width), or None for the picture's own; `channels`, 3 for colors or 1 for gray.
    """
    from PIL import Image

    if not path.is_file():
        raise DataError(missing_file(path, kinds=SUFFIXES))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # our own limit is lower, and an error
            opened = Image.open(path)
        with opened:
            _check_extent(path, opened.size)
            opened.load()
            return fit_picture(opened, size=size, channels=channels)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # Pillow's decoders raise whatever they meet
        raise DataError(
            f"{path} must be a picture that can be read, such as PNG or JPEG; received one that cannot: "
            f"{' '.join(str(error).split()) or type(error).__name__}."
        ) from error


def fit_picture(
    picture: "Image", *, size: tuple[int, int] | None = None, channels: int = 3
) -> UInt8[np.ndarray, "channels height width"]:
    """Bring an open picture to a size and to colors or gray.

    >>> from PIL import Image
    >>> fit_picture(Image.new("RGBA", (4, 2), (255, 0, 0, 0)), size=(2, 2))[:, 0, 0].tolist()
    [255, 255, 255]
    """
    from PIL import Image, ImageOps

    if channels not in (1, 3):
        raise ArgumentError(f"`channels` must be 3 for colors or 1 for gray; received {channels}.")
    turned = _eight_bits(ImageOps.exif_transpose(picture))
    if "A" in turned.getbands() or "transparency" in turned.info:
        clear = turned.convert("RGBA")
        turned = Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear)
    plain = turned.convert("L" if channels == 1 else "RGB")
    if size is not None and plain.size != (size[1], size[0]):
        plain = plain.resize((size[1], size[0]), Image.Resampling.BILINEAR)
    pixels = np.array(plain, dtype=np.uint8)
    return pixels[None] if channels == 1 else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def resize_images(
    pixels: UInt8[np.ndarray, "images channels height width"], size: tuple[int, int]
) -> UInt8[np.ndarray, "images channels rows columns"]:
    """Stretch images to another size."""
    from PIL import Image

    if pixels.shape[2:] == size:
        return pixels
    channels = pixels.shape[1]
    pictures = (Image.fromarray(one[0] if channels == 1 else one.transpose(1, 2, 0)) for one in pixels)
    return np.stack([fit_picture(one, size=size, channels=channels) for one in pictures])


def _eight_bits(picture: "Image") -> "Image":
    """Bring 16 bits of gray to 8, which Pillow would cut off at 255."""
    from PIL import Image

    if not picture.mode.startswith(("I", "F")):
        return picture
    numbers = np.asarray(picture, dtype=np.float64)
    scale = 257.0 if numbers.max(initial=0) > 255 else 1.0
    return Image.fromarray(np.clip(numbers / scale, 0, 255).astype(np.uint8))


def _check_extent(path: Path, extent: tuple[int, int]) -> None:
    width, height = extent
    if width * height > MOST_PIXELS:
        raise DataError(
            f"{path} must have at most {MOST_PIXELS:,} pixels; received {width:,} × {height:,}. Make it smaller."
        )
