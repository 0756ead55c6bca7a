"""Lines: weights between two columns of words, thick where they are large."""

import math
from collections.abc import Iterator, Sequence

from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from torch import Tensor

from regard.attention import Mask
from regard.inspection.drawing.heatmap import allowed_of, table_of
from regard.inspection.drawing.map import WEIGHTS_CAVEAT, Map
from regard.inspection.drawing.panels import INK, MUTED, PALETTE, panels
from regard.inspection.drawing.picture import Picture, Spot, show, write_number
from regard.inspection.drawing.words import check_labels, families, inches, short

LEAST = 0.01
"""Below this weight there is no line."""
_TALLEST = 12.0  # inches of a figure
_LINE = 0.19  # inches that a word needs

Point = tuple[float, float]


def draw_lines(
    axes: Axes,
    weights: Float[Tensor, "query key"],
    *,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
    mask: Mask | Bool[Tensor, "..."] | None = None,
    names: tuple[str, str] = ("query", "key"),
) -> None:
    """Draw queries on the left, keys on the right, and between them lines as thick and strong as the weights.

    Where words have no space, every second, third and so on is written; keys that no query may attend to are gray.
    """
    table = table_of(weights, (0.0, 1.0))
    rows, columns = table.shape
    allowed = allowed_of(mask, rows, columns)
    sides = (check_labels("query", query_labels, rows), check_labels("key", key_labels, columns))
    longest = max(rows, columns)
    left, right = ([index + (longest - len(words)) / 2 for index in range(len(words))] for words in sides)
    curves = {
        (row, column): _curve(left[row], right[column])
        for row, column in ((table > LEAST) & allowed).nonzero().tolist()
    }
    for (row, column), points in curves.items():
        weight = min(float(table[row, column]), 1.0)
        path = Path(list(points), [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        axes.add_patch(PathPatch(path, fill=False, edgecolor=PALETTE[0], alpha=weight, linewidth=0.6 + 4.4 * weight))
    open_keys, every = allowed.any(0).tolist(), _every(axes, longest)
    for index, words, heights, name, is_allowed in (
        (-0.03, sides[0], left, names[0], [True] * rows),
        (1.03, sides[1], right, names[1], open_keys),
    ):
        _write(axes, index, words, heights, is_allowed, every=every)
        axes.text(index, -every, name, ha="right" if index < 0 else "left", va="center", fontsize=9, color=MUTED)
    axes.set(xlim=(0, 1), ylim=(longest - 0.4, -0.4 - every))
    axes.axis("off")
    _show(axes, table, allowed, sides, curves)


def _curve(start: float, end: float) -> tuple[Point, Point, Point, Point]:
    return (0.0, start), (0.4, start), (0.6, end), (1.0, end)


def _every(axes: Axes, count: int) -> int:
    """Choose how many words share the space of one, so that none overlap."""
    figure = axes.get_figure(root=True)
    down = 4.0 if figure is None else figure.get_figheight() * axes.get_position().height
    return max(1, math.ceil(_LINE * (count + 1) / down))


def _write(
    axes: Axes, position: float, words: list[str], heights: list[float], allowed: list[bool], *, every: int
) -> None:
    fonts = families(words)
    for word, height, is_allowed in list(zip(words, heights, allowed, strict=True))[::every]:
        side, color = "right" if position < 0 else "left", INK if is_allowed else MUTED
        text = axes.text(
            position, height, short(word), ha=side, va="center", fontsize=10, color=color, parse_math=False
        )
        text.set_fontfamily(fonts)


def _show(
    axes: Axes,
    table: Tensor,
    allowed: Tensor,
    sides: tuple[list[str], list[str]],
    curves: dict[tuple[int, int], tuple[Point, Point, Point, Point]],
) -> None:
    """Register what is drawn with the picture, and the text of each line when pointed at."""
    map = Map(
        name=axes.get_title(),
        values=table,
        axes=("query", "key"),
        labels=(tuple(sides[0]), tuple(sides[1])),
        caveat=WEIGHTS_CAVEAT,
        mask=None if bool(allowed.all()) else allowed,
    )

    def spots() -> Iterator[Spot]:
        for row, column in sorted(curves, key=lambda position: -float(table[position])):
            text = f"{sides[0][row]} → {sides[1][column]}: {write_number(float(table[row, column]))}"
            yield Spot(curves[row, column], text, curve=True)

    show(axes, map, spots)


def alignment_lines(
    weights: Float[Tensor, "query key"],
    *,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
    mask: Mask | Bool[Tensor, "..."] | None = None,
    title: str | None = None,
) -> Picture:
    """Draw weights as lines between two columns of words; below one in a hundred there is none.

    >>> import torch
    >>> figure = alignment_lines(torch.eye(2), query_labels=["la", "casa"], key_labels=["the", "house"])
    """
    words = inches(query_labels or ["99"]) + inches(key_labels or ["99"])
    size = (min(2.2 + words, 12.0), min(0.8 + 0.3 * max(weights.shape), _TALLEST))
    figure, [axes] = panels(size=size, titles=[] if title is None else [title])
    draw_lines(axes, weights, query_labels=query_labels, key_labels=key_labels, mask=mask)
    figure.caveat = WEIGHTS_CAVEAT
    return figure
