"""A picture of the page as PDF, fit for a paper: shapes stay shapes, texts stay texts, and fonts are embedded."""

import base64
import binascii
import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.image import AxesImage
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D
from PIL import Image

from regard.errors import ArgumentError
from regard.inspection.drawing.words import families
from regard.studio.schema.share import Mark, PictureFile

TEXT_WIDTH = 6.5
"""Inches between the margins of a letter page: a wider picture is made so wide, its letters with it."""
PIXELS = 96
"""Of the page to an inch."""
FORMATS = ["PNG"]
MAX_PIXELS = 40_000_000
"""Of an image within a picture."""
_ALIGNED: dict[str, Literal["left", "center", "right"]] = {"start": "left", "middle": "center", "end": "right"}
_GROUND, _HATCH = "#eceef1", "#9aa1ab"


def paper(picture: PictureFile) -> bytes:
    """Write a PDF of the picture's own size, at most as wide as the text of a paper.

    Fonts are embedded as TrueType (Type 42), as conferences and arXiv ask for. Letters that no font has are boxes.
    """
    inches = min(picture.width / PIXELS, TEXT_WIDTH)
    scale = inches / picture.width
    figure = Figure(figsize=(inches, picture.height * scale), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, picture.width)
    axes.set_ylim(picture.height, 0)
    axes.set_axis_off()
    narrow = narrowing(picture.marks)
    for order, mark in enumerate(picture.marks):
        placed = Affine2D.from_values(*mark.matrix) + axes.transData
        if mark.text:
            angle = math.degrees(math.atan2(-mark.matrix[1], mark.matrix[0]))
            stretch = math.hypot(mark.matrix[0], mark.matrix[1])
            points = mark.size * stretch * narrow * scale * 72
            text = Text(
                mark.matrix[4],
                mark.matrix[5],
                mark.text,
                parse_math=False,
                color=mark.fill or "#000000",
                alpha=mark.opacity,
                rotation=angle,
                rotation_mode="anchor",
                horizontalalignment=_ALIGNED[mark.anchor],
                verticalalignment="baseline",
                fontproperties=_font(mark, points),
                zorder=order,
            )
            axes.add_artist(text)
        elif mark.image:
            shown = AxesImage(axes, interpolation="nearest", extent=(0, mark.width, mark.height, 0), zorder=order)
            shown.set_data(_pixels(mark.image))
            shown.set_transform(placed)
            shown.set_alpha(mark.opacity)
            axes.add_artist(shown)
        elif mark.path:
            axes.add_patch(_shape(mark, placed, scale=scale, order=order))
    written = io.BytesIO()
    with rc_context({"pdf.fonttype": 42, "hatch.linewidth": 0.4}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        metadata = {"Title": picture.title, "Creator": "regard studio", "CreationDate": None}
        figure.savefig(written, format="pdf", metadata=metadata)
    return written.getvalue()


def narrowing(marks: Sequence[Mark]) -> float:
    """Give the share by which all letters are made smaller, so that no text is wider than the page drew it."""
    widths = [(mark.width, _width(mark)) for mark in marks if mark.text and mark.width > 0]
    return min([1.0, *(drawn / own for drawn, own in widths if own > 0 and drawn / own > 0.5)])


def _width(mark: Mark) -> float:
    """Measure a text as it will be set."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        box = TextPath((0, 0), mark.text.replace("$", r"\$"), prop=_font(mark, mark.size)).get_extents()
    return float(box.width)


def _font(mark: Mark, points: float) -> FontProperties:
    return FontProperties(family=families([mark.text]), size=max(points, 0.1), weight="bold" if mark.bold else "normal")


def _shape(mark: Mark, placed: object, *, scale: float, order: int) -> PathPatch:
    stretch = math.sqrt(abs(mark.matrix[0] * mark.matrix[3] - mark.matrix[1] * mark.matrix[2]))
    width = mark.stroke_width * stretch * scale * 72
    dashes = tuple(max(item * stretch * scale * 72, 0.01) for item in mark.dashes)
    return PathPatch(
        read_path(mark.path),
        transform=placed,
        facecolor=_GROUND if mark.hatched else mark.fill or "none",
        edgecolor=_HATCH if mark.hatched else mark.stroke or "none",
        hatch="//////" if mark.hatched else None,
        linewidth=0.0 if mark.hatched or mark.stroke is None else width,
        linestyle=(0, dashes) if dashes and any(mark.dashes) else "solid",
        alpha=mark.opacity,
        zorder=order,
        capstyle="round",
        joinstyle="round",
    )


def read_path(commands: str) -> Path:
    """Read the path of an SVG shape, of whose arcs the page draws half circles alone.

    >>> read_path("M1 2h3v4z").vertices.tolist()
    [[1.0, 2.0], [4.0, 2.0], [4.0, 6.0], [1.0, 2.0]]
    """
    points: list[tuple[float, float]] = []
    codes: list[int] = []
    x = y = first_x = first_y = 0.0
    for letter, numbers in _commands(commands):
        from_x, from_y = (x, y) if letter.islower() else (0.0, 0.0)
        match letter.upper():
            case "H" | "V" as kind:
                x, y = (from_x + numbers[0], y) if kind == "H" else (x, from_y + numbers[0])
                new, code = [(x, y)], Path.LINETO
            case "Z":
                x, y = first_x, first_y
                new, code = [(x, y)], Path.CLOSEPOLY
            case "A":
                end = (from_x + numbers[5], from_y + numbers[6])
                new, code = _arc((x, y), end, numbers), Path.CURVE4
                x, y = end
            case kind:
                pairs = [(from_x + a, from_y + b) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
                new = pairs
                x, y = pairs[-1]
                code = {"M": Path.MOVETO, "L": Path.LINETO, "Q": Path.CURVE3, "C": Path.CURVE4}[kind]
                if kind == "M":
                    first_x, first_y = x, y
        points += new
        codes += [int(code)] * len(new)
    if not points:
        raise ArgumentError("`path` must have at least one command, such as M0 0; received none.")
    return Path(np.array(points), codes)


def _arc(begin: tuple[float, float], end: tuple[float, float], numbers: Sequence[float]) -> list[tuple[float, float]]:
    """Draw half an ellipse as two cubic curves, with handles at 0.5523 of its radii."""
    (x0, y0), (x1, y1) = begin, end
    (middle_x, middle_y), way = ((x0 + x1) / 2, (y0 + y1) / 2), 1.0 if numbers[4] else -1.0
    across = ((x1 - x0) / 2, (y1 - y0) / 2)
    up = (across[1] * way * numbers[1] / max(numbers[0], 1e-9), -across[0] * way * numbers[1] / max(numbers[0], 1e-9))
    top, handle = (middle_x + up[0], middle_y + up[1]), 0.5523
    return [
        (x0 + up[0] * handle, y0 + up[1] * handle),
        (top[0] - across[0] * handle, top[1] - across[1] * handle),
        top,
        (top[0] + across[0] * handle, top[1] + across[1] * handle),
        (x1 + up[0] * handle, y1 + up[1] * handle),
        (x1, y1),
    ]


_COUNTS = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "Q": 4, "A": 7, "Z": 0}
_PARTS = re.compile(r"([A-Za-z])|(-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)")


def _commands(text: str) -> Iterator[tuple[str, list[float]]]:
    """Give each command with its numbers; what follows without a letter repeats the last command."""
    parts = [part.group(0) for part in _PARTS.finditer(text)]
    at, letter = 0, ""
    while at < len(parts):
        if parts[at].isalpha():
            letter, at = parts[at], at + 1
        count = _COUNTS.get(letter.upper(), -1)
        numbers = parts[at : at + max(count, 0)]
        if count < 0 or len(numbers) < count or any(item.isalpha() for item in numbers):
            raise ArgumentError(
                f"`path` must be commands {', '.join(_COUNTS)} with their numbers; received {text[:60]!r}."
            )
        if count == 0 and at < len(parts) and not parts[at].isalpha():
            raise ArgumentError(f"`path` must have a command before each number; received {text[:60]!r}.")
        at += count
        yield letter, [float(item) for item in numbers]
        letter = {"M": "L", "m": "l"}.get(letter, letter)


def _pixels(image: str) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    """Read a PNG of the page."""
    try:
        opened = Image.open(io.BytesIO(base64.b64decode(image, validate=True)), formats=FORMATS)
        if opened.width * opened.height > MAX_PIXELS:
            raise ArgumentError(
                f"`image` must have at most {MAX_PIXELS:,} pixels; received {opened.width} × {opened.height}."
            )
        return np.asarray(opened.convert("RGBA"))
    except (OSError, ValueError, SyntaxError, binascii.Error, Image.DecompressionBombError) as error:
        raise ArgumentError("`image` must be a PNG file in base64; received something else.") from error
