"""Overlays: the weights of an image's patches, on the image."""

import math
from collections.abc import Iterator

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap
from torch import Tensor

from regard.inspection.drawing.heatmap import color_bar, table_of
from regard.inspection.drawing.map import WEIGHTS_CAVEAT, Map, numbered
from regard.inspection.drawing.panels import FAINT, panels
from regard.inspection.drawing.picture import Picture, Spot, show, write_number

#: From transparent to strong, to lie on a picture.
OVERLAY = LinearSegmentedColormap.from_list("regard_overlay", [(0.84, 0.37, 0.0, 0.0), (0.84, 0.2, 0.0, 0.85)])


def draw_overlay(
    axes: Axes,
    image: Float[Tensor, "..."],
    weights: Float[Tensor, "row column"],
    *,
    limit: float | None = None,
) -> ScalarMappable:
    """Lay the weights of an image's patches over the image, in gray; give what `color_bar` needs.

    `image` is (channels, height, width) or (height, width), from 0 to 1. The color scale runs from zero to `limit`, by
    default the largest weight, since over many patches every weight is small.
    """
    table = table_of(weights, (0.0, math.inf))
    limit = max(float(table.max()), 1e-9) if limit is None else limit
    pixels = image.detach().to(device="cpu", dtype=torch.float64).clamp(0, 1)
    gray = pixels if pixels.ndim == 2 else pixels.mean(0)
    height, width = gray.shape
    extent = (0, width, height, 0)
    axes.imshow((0.4 + 0.6 * gray).numpy(), cmap="gray", vmin=0, vmax=1, extent=extent, interpolation="nearest")
    over = axes.imshow(table.numpy(), cmap=OVERLAY, vmin=0, vmax=limit, extent=extent, interpolation="nearest")
    if max(table.shape) <= 20:
        axes.vlines([width * column / table.size(1) for column in range(table.size(1) + 1)], 0, height, FAINT, lw=0.5)
        axes.hlines([height * row / table.size(0) for row in range(table.size(0) + 1)], 0, width, FAINT, lw=0.5)
    axes.axis("off")
    _show(axes, table, width, height, limit)
    return over


def _show(axes: Axes, table: Tensor, width: int, height: int, limit: float) -> None:
    rows, columns = table.shape
    map = Map(
        name=axes.get_title(),
        values=table,
        axes=("query", "key"),
        labels=(numbered(None, rows), numbered(None, columns)),
        caveat=WEIGHTS_CAVEAT,
        limits=(0.0, limit),
    )

    def spots() -> Iterator[Spot]:
        across, down = width / columns, height / rows
        for index in table.flatten().argsort(descending=True, stable=True).tolist():
            row, column = divmod(index, columns)
            left, top = column * across, row * down
            corners = ((left, top), (left + across, top), (left + across, top + down), (left, top + down))
            yield Spot(corners, f"row {row}, column {column}: {write_number(float(table[row, column]))}")

    show(axes, map, spots)


def image_overlay(
    image: Float[Tensor, "..."],
    weights: Float[Tensor, "row column"],
    *,
    title: str | None = None,
    limit: float | None = None,
) -> Picture:
    """Show where in an image the weights of its patches lie. See `draw_overlay`.

    >>> figure = image_overlay(torch.rand(3, 16, 16), torch.full((4, 4), 1 / 16), title="red")
    """
    figure, [axes] = panels(size=(4.2, 3.6), titles=[] if title is None else [title])
    color_bar(draw_overlay(axes, image, weights, limit=limit), axes)
    figure.caveat = WEIGHTS_CAVEAT
    return figure
