"""How the experiments draw: lines that carry their names, and axes that stay out of the way."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from regard.inspection.drawing.panels import FAINT, MUTED, PALETTE
from regard.inspection.drawing.quality_by_length import spread

_LINE = 0.17  # inches that a line of text needs

Line = tuple[str, Sequence[float], Sequence[float]]
"""A name, and where the line goes: across and up."""


def draw_lines(
    axes: Axes,
    lines: Sequence[Line],
    *,
    xlabel: str,
    ylabel: str,
    log: str = "",
    colors: Sequence[str] = PALETTE,
    limits: tuple[float, float | None] | None = None,
    markers: bool = True,
) -> None:
    """Draw lines, each named at its right end in its own color; `log` may hold x, y or both."""
    for number, (_, across, up) in enumerate(lines):
        color, marker = colors[number % len(colors)], "o" if markers else ""
        axes.plot(across, up, color=color, linewidth=1.8, marker=marker, markersize=3.5, zorder=3, clip_on=False)
    if "x" in log:
        axes.set_xscale("log", base=2)
    if "y" in log:
        axes.set_yscale("log")
    if limits is not None:
        axes.set_ylim(*limits)
    dress(axes, xlabel=xlabel, ylabel=ylabel)
    name_lines(axes, lines, colors=colors)


def dress(axes: Axes, *, xlabel: str, ylabel: str) -> None:
    """Put names at the axes and faint lines behind."""
    axes.set_xlabel(xlabel, color=MUTED, fontsize=9)
    axes.set_ylabel(ylabel, color=MUTED, fontsize=9)
    axes.grid(axis="y", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.minorticks_off()
    axes.spines["left"].set_visible(False)


def name_lines(axes: Axes, lines: Sequence[Line], *, colors: Sequence[str] = PALETTE) -> None:
    """Write each line's name behind its end, moved as little as needed for none to overlap."""
    figure, grid = axes.figure, axes.get_subplotspec()
    assert isinstance(figure, Figure)
    rows = 1 if grid is None else grid.get_gridspec().nrows
    inches = float(figure.get_size_inches()[1]) / rows - 1.0  # what titles and labels leave
    axes.autoscale_view()  # matplotlib puts it off until it draws
    transform = axes.transScale + axes.transLimits
    ends = [transform.transform((float(across[-1]), float(up[-1]))) for _, across, up in lines]
    ends = [np.clip(np.nan_to_num(end), -0.02, 1.02) for end in ends]
    heights = spread([float(end[1]) for end in ends], apart=_LINE / max(inches, 0.5))
    right = max(float(end[0]) for end in ends)
    for number, ((name, _, _), end, height) in enumerate(zip(lines, ends, heights, strict=True)):
        axes.annotate(
            name,
            (float(end[0]), float(end[1])),
            xycoords="axes fraction",
            xytext=(right + 0.05, height),
            textcoords="axes fraction",
            color=colors[number % len(colors)],
            fontsize=9,
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colors[number % len(colors)],
                "lw": 0.5,
                "shrinkA": 1,
                "shrinkB": 3,
            },
        )


def draw_bars(
    axes: Axes,
    names: Sequence[str],
    values: Sequence[float],
    *,
    xlabel: str,
    digits: int = 2,
    colors: Sequence[str] = PALETTE,
) -> None:
    """Draw lying bars, a row for each name, with its number at the end; colors come round again."""
    indices = range(len(names))
    axes.barh(indices, values, color=[colors[number % len(colors)] for number in indices], height=0.62)
    for index, value in zip(indices, values, strict=True):
        number, offset = f"{value:.{digits}f}", (4, 0)
        axes.annotate(number, (value, index), xytext=offset, textcoords="offset points", va="center", fontsize=9)
    axes.set_yticks(list(indices), list(names))
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(xlabel, color=MUTED, fontsize=9)
    axes.spines["left"].set_visible(False)
