"""One picture, whatever its format: opened by Pillow, brought to one size, as bytes.

Every picture of a file or an archive is opened here: only in formats that Pillow decodes itself, since for others, such
as EPS, it starts programs; and only when its pixels are few enough, before they are unpacked.
"""

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from jaxtyping import UInt8

from regard.data.formats.paths import open_file
from regard.errors import ArgumentError, DataError, describe

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff")
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "PPM", "TIFF")
"""What is opened, as Pillow calls it, whatever the name of the file."""
MOST_PIXELS = 64_000_000
"""A picture of more is refused before it is unpacked."""

_T = TypeVar("_T")


def read_picture(
    picture: Path | bytes, *, size: tuple[int, int] | None = None, channels: int = 3, name: str = ""
) -> UInt8[np.ndarray, "channels height width"]:
    """Read a picture, turn it as its camera says, lay what is transparent on white, and stretch it to `size`.

    `picture` is a file, or the bytes of one, which errors then call `name`. `size` is (height, width), or None for the
    picture's own; `channels`, 3 for colors or 1 for gray.
    """
    return _decode(picture, name, lambda opened: fit_picture(opened, size=size, channels=channels))


def picture_size(path: Path) -> tuple[int, int]:
    """Give height and width of a picture, turned as its camera says."""
    from PIL import ImageOps

    width, height = _decode(path, "", lambda opened: ImageOps.exif_transpose(opened).size)
    return height, width


def _decode(picture: Path | bytes, name: str, use: "Callable[[Image], _T]") -> _T:
    """Open a picture, check how large it is, unpack it, and give what `use` makes of it."""
    if isinstance(picture, bytes):
        return _decode_stream(io.BytesIO(picture), name, use)
    with open_file(picture, kinds=SUFFIXES) as stream:
        return _decode_stream(stream, str(picture), use)


def _decode_stream(stream: io.BytesIO | io.BufferedReader, name: str, use: "Callable[[Image], _T]") -> _T:
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of large pictures, which our own limit refuses, and of odd ones
            with Image.open(stream, formats=FORMATS) as opened:
                _check_extent(name, opened.size)
                opened.load()
                return use(opened)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # Pillow's decoders raise whatever they meet
        unknown = f"it is none of {', '.join(FORMATS)}"
        raise DataError(
            f"{name} must be a picture that can be read, such as PNG or JPEG; received one that cannot: "
            f"{unknown if isinstance(error, UnidentifiedImageError) else describe(error)}."
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
    pictures = (Image.fromarray(item[0] if channels == 1 else item.transpose(1, 2, 0)) for item in pixels)
    return np.stack([fit_picture(item, size=size, channels=channels) for item in pictures])


def _eight_bits(picture: "Image") -> "Image":
    """Bring 16 bits of gray to 8, which Pillow would cut off at 255."""
    from PIL import Image

    if not picture.mode.startswith(("I", "F")):
        return picture
    numbers = np.asarray(picture, dtype=np.float64)
    scale = 257.0 if numbers.max(initial=0) > 255 else 1.0
    return Image.fromarray(np.clip(numbers / scale, 0, 255).astype(np.uint8))


def _check_extent(name: str, extent: tuple[int, int]) -> None:
    width, height = extent
    if width * height > MOST_PIXELS:
        raise DataError(
            f"{name} must have at most {MOST_PIXELS:,} pixels; received {width:,} × {height:,}. Make it smaller."
        )
