"""Pictures: figures that know the numbers they show, and can be saved, put on a page and exported."""

import csv
import io
import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from regard.errors import ArgumentError, nearest
from regard.inspection.drawing.map import Map

SUFFIXES = (".png", ".svg", ".pdf", ".html")


class Spot(NamedTuple):
    """A spot in a picture that shows its number when pointed at."""

    points: tuple[tuple[float, float], ...]
    """Corners, or two ends and two handles of a curve, in the coordinates of its axes."""
    text: str
    curve: bool = False


@dataclass(frozen=True, eq=False)
class Shown:
    """What one panel of a picture shows."""

    axes: Axes
    map: Map
    spots: Callable[[], Iterable[Spot]]
    """Made when a page asks for them."""


class Picture(Figure):
    """A matplotlib figure that also writes itself as a page and gives back its numbers."""

    caveat: str = ""
    """What it does not mean: shown under it on a page."""
    about: tuple[tuple[str, str], ...] = ()
    """What it is of, such as the text and the model, each with its name: shown above it on a page."""

    @property
    def shown(self) -> list[Shown]:
        """What its panels show, in the order they were drawn."""
        shown: list[Shown] = self.__dict__.setdefault("_shown", [])
        return shown

    @property
    def maps(self) -> list[Map]:
        """The numbers of its panels."""
        return [shown.map for shown in self.shown]

    def save(self, path: str | Path) -> None:
        """Write a file of the kind its name says: .png, .svg, .pdf, or .html for a page that opens offline."""
        path = Path(path)
        if path.suffix not in SUFFIXES:
            raise ArgumentError(
                f"`path` must end in {', '.join(SUFFIXES)}; received {path.name}. "
                + nearest(path.suffix or path.name, SUFFIXES)
            )
        match path.suffix:
            case ".html":
                path.write_text(self.to_html(), encoding="utf-8")
            case ".svg":
                path.write_text(self.to_svg(), encoding="utf-8")
            case ".pdf":
                self.savefig(path, metadata={"CreationDate": None})
            case _:
                self.savefig(path)

    def to_svg(self) -> str:
        """Give the picture as SVG, words as text, with a number wherever one points."""
        from regard.inspection.drawing.page import svg_of

        return svg_of(self)

    def to_html(self) -> str:
        """Give a page of its own that needs nothing else: the picture, its caveat and a table of its numbers."""
        from regard.inspection.drawing.page import page_of

        return page_of(self)

    def _repr_html_(self) -> str:
        """Show the picture in a notebook. It is part of what is saved, and of what nbconvert makes of that."""
        from regard.inspection.drawing.page import part_of

        return part_of(self)

    def _repr_png_(self) -> bytes:
        """Show the picture where a page is not trusted, or cannot be had, as in print."""
        written = io.BytesIO()
        self.savefig(written, format="png")
        return written.getvalue()

    def to_numpy(self) -> list[np.ndarray[Any, np.dtype[Any]]]:
        """Give the numbers of every panel."""
        return [map.to_numpy() for map in self.maps]

    def to_json(self) -> dict[str, Any]:
        """Give the numbers of every panel, with words and masks, as `json.dumps` takes them."""
        return {"caveat": self.caveat, "maps": [map.to_json() for map in self.maps]}

    def to_csv(self) -> str:
        """Give the numbers as a table: that of the panel, or of all with a line for each number."""
        if len(self.maps) == 1:
            return self.maps[0].to_csv()
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow(["panel", "query", "key", "value"])
        for number, map in enumerate(self.maps):
            writer.writerows([number, *line] for line in _lines(map))
        return written.getvalue()

    def svg_source(self) -> str:
        """Give what matplotlib writes as SVG: words as text and not as shapes, and the same every time."""
        written = io.StringIO()
        with rc_context({"svg.fonttype": "none", "svg.hashsalt": "regard"}), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)  # whoever shows it chooses the font
            self.savefig(written, format="svg", metadata={"Date": None})
        return written.getvalue()


def write_number(value: float) -> str:
    """Write a number with six digits; NaN is a dash.

    >>> write_number(0.123456789), write_number(0.0), write_number(float("nan"))
    ('0.123457', '0', '–')
    """
    return "–" if math.isnan(value) else f"{value:.6g}"


def show(axes: Axes, map: Map, spots: Callable[[], Iterable[Spot]]) -> None:
    """Register axes, and what they show, with their picture; other figures are left alone."""
    if isinstance(axes.figure, Picture):
        axes.figure.shown.append(Shown(axes, map, spots))


def _lines(map: Map) -> Iterable[list[Any]]:
    values = map.values.tolist()
    mask = None if map.mask is None else map.mask.tolist()
    if len(map.axes) == 1:
        for index, (word, value) in enumerate(zip(map.labels[0], values, strict=True)):
            closed = mask is not None and not mask[index]
            yield [
                word if map.axes[0] == "query" else "",
                word if map.axes[0] == "key" else "",
                "" if closed else value,
            ]
        return
    for row, query in enumerate(map.labels[0]):
        for column, key in enumerate(map.labels[1]):
            closed = mask is not None and not mask[row][column]
            yield [query, key, "" if closed else values[row][column]]
