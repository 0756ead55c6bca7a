"""Quality by the length of the source, one line for each model: the figure that made the case for attention."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from regard.errors import ArgumentError
from regard.inspection.drawing.panels import FAINT, INK, MUTED, PALETTE, panels

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", "--", ":", "-.")
_LINE = 0.19  # inches that a line of text needs


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One model: its score for each bin of lengths, and between what it lies."""

    name: str
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def quality_by_length(
    curves: Sequence[Curve],
    *,
    bins: Sequence[str],
    sentences: Sequence[int],
    few: int = 10,
    metric: str = "BLEU",
    title: str | None = None,
) -> Figure:
    """Draw a line for each model over bins of source length, with a band of confidence.

    Under each bin stands how many sentences it has; where these are fewer than `few`, points are hollow.

    Reference: Bahdanau, Cho and Bengio (2015), figure 2, arXiv:1409.0473.

    >>> curve = Curve(name="bahdanau", values=(80.0, 78.0), low=(75.0, 70.0), high=(84.0, 83.0))
    >>> figure = quality_by_length([curve], bins=["0–9", "10–19"], sentences=[120, 90])
    """
    _check(curves, bins, sentences)
    space = 0.09 * max(len(curve.name) for curve in curves)
    size = (min(max(3.6, 1.0 + 0.85 * len(bins)) + space + 0.4, 13.0), max(3.6, 1.2 + _LINE * len(curves)))
    figure, [axes] = panels(size=size, titles=[] if title is None else [title])
    _scale(axes, curves, bins, sentences, few, metric)
    for number, curve in enumerate(curves):
        _draw(axes, curve, number, [count < few for count in sentences])
    line = float(axes.get_ylim()[1]) * _LINE / (size[1] - 1.0)
    heights = spread([curve.values[-1] for curve in curves], apart=line)
    for number, (curve, height) in enumerate(zip(curves, heights, strict=True)):
        last = len(bins) - 1
        axes.annotate(
            curve.name,
            (last, curve.values[-1]),
            xytext=(last + 0.16, height),
            color=_color(number),
            fontsize=9.5,
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": _color(number), "lw": 0.6, "shrinkA": 0, "shrinkB": 4},
            parse_math=False,
        )
    return figure


def _check(curves: Sequence[Curve], bins: Sequence[str], sentences: Sequence[int]) -> None:
    if not curves or not bins or len(bins) != len(sentences):
        raise ArgumentError(
            "`curves` and `bins` must not be empty, and `sentences` must count those of every bin; received "
            f"{len(curves)} curves, {len(bins)} bins and {len(sentences)} counts."
        )
    for curve in curves:
        if not len(curve.values) == len(curve.low) == len(curve.high) == len(bins):
            raise ArgumentError(
                f"`curves` must have a value, a low and a high for each of the {len(bins)} bins; received "
                f"{len(curve.values)}, {len(curve.low)} and {len(curve.high)} for {curve.name}."
            )


def _scale(
    axes: Axes, curves: Sequence[Curve], bins: Sequence[str], sentences: Sequence[int], few: int, metric: str
) -> None:
    """Begin at zero, so that heights can be compared, and end at a round number above the highest band."""
    top = max(max(curve.high) for curve in curves)
    step = next(step for step in (0.5, 1, 2, 5, 10, 20, 50, 100) if top <= 6 * step or step == 100)
    axes.set(xlim=(-0.3 if len(bins) > 1 else -0.15, len(bins) - 0.85), ylim=(0, step * max(1, math.ceil(top / step))))
    axes.set_yticks([step * number for number in range(int(axes.get_ylim()[1] / step + 0.5) + 1)])
    counted = [
        f"{item}\nn = {count:,}{' *' if count < few else ''}" for item, count in zip(bins, sentences, strict=True)
    ]
    axes.set_xticks(range(len(bins)), counted)
    for label in axes.get_xticklabels():
        label.set(fontsize=8.5, color=INK, linespacing=1.5)
    axes.grid(axis="y", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    note = f"   (* fewer than {few} sentences)" if min(sentences) < few else ""
    axes.set_xlabel(f"words in the source{note}", color=MUTED, fontsize=9, labelpad=6)
    axes.set_ylabel(f"{metric}, with 95 % confidence", color=MUTED, fontsize=9)


def _draw(axes: Axes, curve: Curve, number: int, hollow: Sequence[bool]) -> None:
    color, indices = _color(number), range(len(curve.values))
    if len(curve.values) == 1:
        axes.vlines(indices, curve.low, curve.high, color=color, linewidth=5, alpha=0.2)
    axes.fill_between(indices, curve.low, curve.high, color=color, alpha=0.14, linewidth=0)
    dash = _DASHES[number // len(PALETTE) % len(_DASHES)]
    axes.plot(indices, curve.values, color=color, linewidth=1.8, linestyle=dash, zorder=3)
    for index, value, few in zip(indices, curve.values, hollow, strict=True):
        axes.plot(
            index,
            value,
            marker=_MARKERS[number % len(_MARKERS)],
            markersize=5.5,
            color=color,
            markerfacecolor="white" if few else color,
            zorder=4,
            clip_on=False,
        )


def _color(number: int) -> str:
    return PALETTE[number % len(PALETTE)]


def spread(heights: Sequence[float], *, apart: float) -> list[float]:
    """Move heights as little as needed for neighbors to be `apart`, and keep their order.

    >>> spread([1.0, 1.0, 9.0], apart=2.0)
    [0.0, 2.0, 9.0]
    """
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    groups: list[list[int]] = []
    centers: list[float] = []
    for index in order:
        groups.append([index])
        centers.append(heights[index])
        while len(groups) > 1 and _overlap(groups, centers, apart):
            last = groups.pop()
            centers.pop()
            groups[-1] += last
            centers[-1] = sum(heights[member] for member in groups[-1]) / len(groups[-1])
    moved = [0.0] * len(heights)
    for members, center in zip(groups, centers, strict=True):
        for position, member in enumerate(members):
            moved[member] = center + (position - (len(members) - 1) / 2) * apart
    return moved


def _overlap(groups: list[list[int]], centers: list[float], apart: float) -> bool:
    return centers[-1] - centers[-2] < apart * (len(groups[-1]) + len(groups[-2])) / 2
