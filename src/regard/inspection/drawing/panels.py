"""Panels: where pictures go. Space for each, words that never overlap, titles that fit."""

import math
import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.axis import Axis, YAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedFormatter, FixedLocator

from regard.inspection.drawing.picture import Picture
from regard.inspection.drawing.words import families, readable, short

INK, MUTED, FAINT = "#1d2330", "#667080", "#d9dde3"
#: Colors for a few things side by side, told apart by color-blind eyes too (Okabe and Ito, 2008).
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b6472")


class WordTicks(FixedLocator):
    """Ticks that carry the words they stand for, so that the layout can choose which to show."""

    def __init__(self, words: Sequence[str], every: int = 1) -> None:
        self.words = [short(word) for word in words]
        self.shown = self.words[::every]
        super().__init__([index + 0.5 for index in range(0, len(words), every)])

    def put_on(self, axis: Axis) -> None:
        """Label an axis by these words."""
        axis.set_major_locator(self)
        axis.set_major_formatter(FixedFormatter(self.shown))
        fonts = families(self.words)
        for text in axis.get_majorticklabels():
            text.set(parse_math=False, fontfamily=fonts)
            if isinstance(axis, YAxis):
                text.set_verticalalignment("center")


class WordLayout(ConstrainedLayoutEngine):
    """Gives every panel its space, then turns words, thins them out and wraps titles, until nothing overlaps."""

    def __init__(self, titles: dict[Axes, str]) -> None:
        super().__init__(compress=True, w_pad=0.08, h_pad=0.08, wspace=0.04, hspace=0.04)
        self.titles = titles

    def execute(self, fig: Figure) -> None:
        """Lay the figure out; called by matplotlib before it draws. Words change the space, and the space the words."""
        for _ in range(2):
            self._settle(fig)
            for axes in fig.axes:
                _fit_title(axes, self.titles.get(axes))
                _fit_columns(axes)
                _fit_rows(axes)
        self._settle(fig)
        for axes in fig.axes:
            _fit_numbers(axes)

    def _settle(self, fig: Figure) -> None:
        super().execute(fig)
        for axes in fig.axes:
            axes.apply_aspect()


def _pitch(axes: Axes) -> tuple[float, float]:
    """Measure one cell, in pixels across and down."""
    box = axes.get_window_extent()
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    return box.width / abs(right - left), box.height / abs(top - bottom)


def _fit_title(axes: Axes, title: str | None) -> None:
    """Break a title into lines as wide as its panel."""
    if title is not None:
        inches = axes.get_window_extent().width / axes.figure.dpi
        width = max(12, int(inches * 11.5))
        axes.title.set_text(textwrap.fill(readable(title), width, break_long_words=False, break_on_hyphens=False))


def _fit_columns(axes: Axes) -> None:
    """Turn the words along the top or bottom, or leave some out, where they would overlap."""
    ticks = axes.xaxis.get_major_locator()
    if not isinstance(ticks, WordTicks):
        return
    WordTicks(ticks.words).put_on(axes.xaxis)
    _turn(axes, 0)
    boxes = [text.get_window_extent() for text in axes.get_xticklabels()]
    widest, tallest = max(box.width for box in boxes), max(box.height for box in boxes)
    across, _ = _pitch(axes)
    if widest < 0.92 * across:
        return
    if all(len(word) < 4 for word in ticks.words):  # numbers, mostly: leave some out and keep them upright
        WordTicks(ticks.words, math.ceil(1.4 * widest / across)).put_on(axes.xaxis)
        return
    WordTicks(ticks.words, math.ceil(1.1 * tallest / across)).put_on(axes.xaxis)
    _turn(axes, 45 if 1.5 * tallest < across else 90)


def _fit_rows(axes: Axes) -> None:
    """Leave out some of the words along the side, where they would overlap."""
    ticks = axes.yaxis.get_major_locator()
    if isinstance(ticks, WordTicks):
        WordTicks(ticks.words).put_on(axes.yaxis)
        tallest = max(text.get_window_extent().height for text in axes.get_yticklabels())
        _, down = _pitch(axes)
        WordTicks(ticks.words, math.ceil(1.1 * tallest / down)).put_on(axes.yaxis)


def _turn(axes: Axes, angle: int) -> None:
    """Turn the words above or below a panel so that each ends, or begins, at its column."""
    above = axes.xaxis.get_ticks_position() == "top"
    for text in axes.get_xticklabels():
        text.set_rotation(angle)
        text.set_rotation_mode("anchor" if angle else "default")
        text.set_horizontalalignment("center" if not angle else "left" if above else "right")
        text.set_verticalalignment("center" if angle == 90 else "bottom" if above else "top")


def _fit_numbers(axes: Axes) -> None:
    """Make the numbers as large as their cells allow, or hide them."""
    across, down = _pitch(axes)
    numbers = [text for text in axes.texts if text.get_gid() == "number"]
    longest = max((len(text.get_text()) for text in numbers), default=1)
    space = min(across * 0.86 / (0.64 * longest), down * 0.6) * 72 / axes.figure.dpi
    for text in numbers:
        text.set_fontsize(min(space, 9.5))
        text.set_visible(space >= 4.5)


def panels(
    rows: int = 1,
    columns: int = 1,
    *,
    size: tuple[float, float] = (4.0, 3.4),
    titles: Sequence[str] = (),
    title: str | None = None,
    widths: Sequence[float] | None = None,
) -> tuple[Picture, list[Axes]]:
    """Make a figure and its axes, row by row, each about `size` inches; `widths` are those of columns, relative.

    >>> figure, (left, right) = panels(1, 2, titles=["scores", "weights"])
    """
    figure = Picture(figsize=(size[0] * columns, size[1] * rows + 0.35 * (title is not None)), dpi=150)
    FigureCanvasAgg(figure)
    figure.set_facecolor("white")
    axes: list[Axes] = list(figure.subplots(rows, columns, squeeze=False, width_ratios=widths).flat)
    for each, words in zip(axes, titles, strict=False):
        each.set_title(readable(words), loc="center", fontsize=10.5, color=INK, pad=8, parse_math=False)
        each.title.set_fontfamily(families([words]))
    for each in axes:
        each.tick_params(colors=INK, labelsize=9, length=0)
        each.xaxis.label.set(color=MUTED, fontsize=9)
        each.yaxis.label.set(color=MUTED, fontsize=9)
        each.spines[["top", "right"]].set_visible(False)
        each.spines[["left", "bottom"]].set_color(FAINT)
    if title is not None:
        width = max(24, int(size[0] * columns * 9.5))
        wrapped = textwrap.fill(readable(title), width, break_long_words=False, break_on_hyphens=False)
        figure.suptitle(wrapped, fontsize=12.5, color=INK, fontweight="bold", parse_math=False)
    figure.set_layout_engine(WordLayout(dict(zip(axes, titles, strict=False))))
    return figure, axes
