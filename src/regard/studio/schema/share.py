"""A picture of the page, taken apart into shapes, texts and images, and the file that is made of it."""

from typing import Annotated, Literal

from pydantic import Field

from regard.studio.schema.parts import Answer, Request

MAX_MARKS = 60_000
"""Shapes and texts of one picture."""
MAX_SIDE = 20_000
"""Pixels of the page."""

Coordinate = Annotated[float, Field(ge=-1e6, le=1e6)]
Share = Annotated[float, Field(ge=0, le=1)]
Color = Annotated[str, Field(pattern="^#[0-9a-f]{6}$")]
Side = Annotated[float, Field(ge=0, le=MAX_SIDE)]


class Mark(Request):
    """A shape, a text or an image, in pixels of its own that `matrix` carries to those of the picture."""

    matrix: list[Coordinate] = Field(min_length=6, max_length=6)
    """a, b, c, d, e, f of x′ = a x + c y + e, y′ = b x + d y + f, as in SVG."""
    path: str = Field(default="", max_length=200_000)
    """A shape: commands of an SVG path."""
    text: str = Field(default="", max_length=2_000)
    """A text that begins, is centered or ends at the origin, on its baseline."""
    image: str = ""
    """A PNG file in base64, as large as `width` and `height`."""
    width: Side = 0
    """Of an image, or of a text as the page draws it."""
    height: Side = 0
    size: Side = 0
    """Of the letters."""
    bold: bool = False
    anchor: Literal["start", "middle", "end"] = "start"
    fill: Color | None = None
    stroke: Color | None = None
    stroke_width: Side = 0
    dashes: list[Side] = Field(default=[], max_length=8)
    opacity: Share = 1
    hatched: bool = False
    """Whether it is drawn as masked."""


class PictureFile(Request):
    """A picture of the page."""

    title: str = Field(max_length=2_000)
    width: float = Field(gt=0, le=MAX_SIDE)
    height: float = Field(gt=0, le=MAX_SIDE)
    marks: list[Mark] = Field(max_length=MAX_MARKS)


class PaperAnswer(Answer):
    """A PDF file, in base64."""

    pdf: str
