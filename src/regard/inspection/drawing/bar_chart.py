"""Bars: one number for every token."""

from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection.drawing.map import Map
from regard.inspection.drawing.panels import FAINT, INK, MUTED, PALETTE, WordTicks, panels
from regard.inspection.drawing.picture import Picture, Spot, show, write_number
from regard.inspection.drawing.words import check_labels, inches

HATCHED = "#b4bac3"


def draw_bars(
    axes: Axes,
    values: Float[Tensor, " token"],
    *,
    labels: Sequence[str] | None = None,
    mask: Bool[Tensor, " token"] | None = None,
    limits: tuple[float, float] = (0.0, 1.0),
    axis: Literal["query", "key"] = "key",
) -> None:
    """Draw horizontal bars, a row per token, with its number where there is space; masked tokens are hatched.

    What is no number has no bar and is written –; what lies outside `limits`, the ends of the scale, is an error.
    """
    numbers = _numbers(values, limits)
    count = len(numbers)
    words = check_labels(axis, labels, count)
    allowed = [True] * count if mask is None else mask.tolist()
    low, high = limits
    for index, (number, is_allowed) in enumerate(zip(numbers.tolist(), allowed, strict=True)):
        middle = index + 0.5
        if not is_allowed:
            axes.barh(
                middle, high - low, left=low, height=0.72, color="white", edgecolor=HATCHED, hatch="//////", linewidth=0
            )
        elif number == number:  # not NaN
            axes.barh(middle, number, height=0.72, color=PALETTE[0] if number >= 0 else PALETTE[1])
        if count <= 40:
            text = "masked" if not is_allowed else _written(number)
            spot = (high, middle)
            axes.annotate(text, spot, xytext=(5, 0), textcoords="offset points", va="center", fontsize=8, color=MUTED)
    WordTicks(words).put_on(axes.yaxis)
    axes.set(xlim=limits, ylim=(count, 0))
    axes.set_ylabel(axis)
    axes.xaxis.set_major_locator(MaxNLocator(2))
    axes.grid(axis="x", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.axvline(0.0, color=INK, linewidth=0.8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    _show(axes, numbers, words, mask, limits, axis)


def _numbers(values: Tensor, limits: tuple[float, float]) -> Float[Tensor, " token"]:
    numbers = values.detach().to(device="cpu", dtype=torch.float64)
    if numbers.ndim != 1 or not numbers.numel():
        raise ArgumentError(
            f"`values` must be one number for each of some tokens; received shape {tuple(values.shape)}."
        )
    finite = numbers[~numbers.isnan()]
    if finite.numel() and not (limits[0] - 1e-4 <= float(finite.min()) and float(finite.max()) <= limits[1] + 1e-4):
        raise ArgumentError(
            f"`values` must lie within the scale, {limits[0]:g} to {limits[1]:g}; received numbers from "
            f"{float(finite.min()):.4g} to {float(finite.max()):.4g}. Give limits=(low, high)."
        )
    return numbers


def _written(number: float) -> str:
    return "–" if number != number else "0" if number == 0 else f"{number:.2f}".replace("-", "−")


def _show(
    axes: Axes,
    numbers: Tensor,
    words: list[str],
    mask: Tensor | None,
    limits: tuple[float, float],
    axis: Literal["query", "key"],
) -> None:
    """Register what is drawn with the picture, and the text of each row when pointed at."""
    map = Map(
        name=axes.get_title(), values=numbers, axes=(axis,), labels=(tuple(words),), caveat="", mask=mask, limits=limits
    )

    def spots() -> Iterator[Spot]:
        for index, (word, number) in enumerate(zip(words, numbers.tolist(), strict=True)):
            corners = ((limits[0], index), (limits[1], index), (limits[1], index + 1), (limits[0], index + 1))
            closed = mask is not None and not bool(mask[index])
            yield Spot(corners, f"{word}: {'masked' if closed else write_number(number)}")

    show(axes, map, spots)


def bars(
    values: Float[Tensor, " token"],
    *,
    labels: Sequence[str] | None = None,
    mask: Bool[Tensor, " token"] | None = None,
    title: str | None = None,
    limits: tuple[float, float] = (0.0, 1.0),
    axis: Literal["query", "key"] = "key",
) -> Picture:
    """Draw a bar for every token. See `draw_bars`.

    >>> figure = bars(torch.tensor([0.2, 0.7, 0.1]), labels=["the", "black", "dog"])
    """
    width = 3.6 + inches(labels or ["99"])
    figure, [axes] = panels(
        size=(min(width, 10.0), min(0.9 + 0.26 * values.numel(), 12.0)), titles=[] if title is None else [title]
    )
    draw_bars(axes, values, labels=labels, mask=mask, limits=limits, axis=axis)
    return figure
