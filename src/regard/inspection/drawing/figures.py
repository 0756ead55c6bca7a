"""Figures: weights as pictures that can be trusted, by matplotlib.

The color scale is fixed, from zero to one by default; masked cells are hatched, not shown as zero; rows of
weights that do not sum to one say what they sum to; labels are turned or thinned out rather than overlap. Weights say
what a layer attended to, not what mattered: `intervene` tests that.

`heatmap`, `head_grid`, `alignment_lines`, `image_overlay`, `bars`, `computation_figure` and `figure_of` give a
`Picture`: `picture.save("x.png")`, or .svg, .pdf and .html, writes it. The `draw_…` functions put the same into axes of
one's own, which `panels.panels` makes. pyplot is never touched.
"""

import math
from collections.abc import Sequence

from jaxtyping import Bool, Real
from torch import Tensor

from regard.attention import Mask
from regard.errors import ArgumentError
from regard.inspection.drawing.bar_chart import bars, draw_bars
from regard.inspection.drawing.heatmap import WEIGHTS, color_bar, draw_heatmap
from regard.inspection.drawing.lines import alignment_lines, draw_lines
from regard.inspection.drawing.map import WEIGHTS_CAVEAT, words_of
from regard.inspection.drawing.overlay import OVERLAY, draw_overlay, image_overlay
from regard.inspection.drawing.panels import panels
from regard.inspection.drawing.picture import Picture
from regard.inspection.drawing.step_by_step import computation_figure
from regard.inspection.drawing.words import check_labels, inches
from regard.inspection.trace.trace import Call

__all__ = [
    "OVERLAY",
    "WEIGHTS",
    "alignment_lines",
    "bars",
    "color_bar",
    "computation_figure",
    "draw_bars",
    "draw_heatmap",
    "draw_lines",
    "draw_overlay",
    "figure_of",
    "head_grid",
    "heatmap",
    "image_overlay",
]


def _cell_size(count: int) -> float:
    """Choose how many inches a cell gets."""
    return min(0.62, max(0.14, 4.6 / max(count, 1)))


def heatmap(
    weights: Real[Tensor, "query key"],
    *,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
    mask: Mask | Bool[Tensor, "..."] | None = None,
    title: str | None = None,
    limits: tuple[float, float] = (0.0, 1.0),
    label: str = "weight",
) -> Picture:
    """Draw weights as a map: a row per query, a column per key. See `draw_heatmap`.

    >>> import torch
    >>> from regard import Causal
    >>> figure = heatmap(torch.eye(3), query_labels=["a", "b", "c"], key_labels=["a", "b", "c"], mask=Causal())
    """
    figure, [axes] = panels(size=_map_size(weights, query_labels, key_labels), titles=[] if title is None else [title])
    mesh = draw_heatmap(axes, weights, query_labels=query_labels, key_labels=key_labels, mask=mask, limits=limits)
    color_bar(mesh, axes, label=label)
    figure.caveat = WEIGHTS_CAVEAT
    return figure


def _map_size(
    weights: Tensor, query_labels: Sequence[str] | None, key_labels: Sequence[str] | None
) -> tuple[float, float]:
    """Choose a size in which cells are square and words have space."""
    rows, columns = weights.shape[-2:]
    cell = _cell_size(max(rows, columns))
    width = columns * cell + inches(query_labels or ["99"]) + 1.5
    height = rows * cell + 0.7 * inches(key_labels or ["99"]) + 0.9
    return min(max(width, 2.8), 12.0), min(max(height, 2.0), 12.0)


def head_grid(
    weights: Real[Tensor, "heads query key"],
    *,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
    mask: Mask | Bool[Tensor, "..."] | None = None,
    titles: Sequence[str] | None = None,
    title: str | None = None,
    columns: int = 4,
) -> Picture:
    """Draw a map for each head, all on one scale; the mask may be one per head.

    >>> import torch
    >>> figure = head_grid(torch.full((8, 3, 3), 1 / 3))
    """
    if weights.ndim != 3 or not len(weights):
        raise ArgumentError(
            f"`weights` must have shape (heads, query, key), with one head or more; received {tuple(weights.shape)}. "
            "Those of one example are weights[example]."
        )
    heads = len(weights)
    names = [f"head {head}" for head in range(heads)] if titles is None else check_labels("title", titles, heads)
    rows = math.ceil(heads / columns)
    columns = math.ceil(heads / rows)
    width, height = _map_size(weights, query_labels, key_labels)
    shrink = min(1.0, 3.2 / width)
    figure, axes = panels(rows, columns, size=(width * shrink, height * shrink), titles=names, title=title)
    masks = list(mask) if isinstance(mask, Tensor) and mask.ndim == 3 and mask.size(0) == heads else [mask] * heads
    for each, head, own in zip(axes, weights, masks, strict=False):
        mesh = draw_heatmap(each, head, query_labels=query_labels, key_labels=key_labels, mask=own)
    for number, each in enumerate(axes):
        each.set_visible(number < heads)
        each.yaxis.set_visible(number % columns == 0)  # the words are the same all along a row, and down a column
        each.xaxis.set_visible(number < columns)
    color_bar(mesh, axes)
    figure.caveat = WEIGHTS_CAVEAT
    return figure


def figure_of(call: Call, *, example: int = 0, title: str = "") -> Picture:
    """Draw one call of a trace: a map, or one for each head. Padding that has no name is left out.

    The title is the layer and the step, unless another is given, as for calls that were `joined`.

    >>> import torch
    >>> from regard.inspection import record
    >>> from regard.layers import SelfAttention
    >>> layer = SelfAttention()
    >>> with record(layer) as trace:
    ...     _ = layer(torch.eye(2)[None])
    >>> figure = figure_of(trace[0])
    """
    query_labels, key_labels = words_of(call.query_labels, example), words_of(call.key_labels, example)
    weights = call.weights[example]  # heads query key
    rows = weights.size(1) if query_labels is None else len(query_labels)
    columns = weights.size(2) if key_labels is None else len(key_labels)
    weights = weights[:, :rows, :columns]
    mask = None if call.mask is None else call.mask[example, :, :rows, :columns]
    title = title or f"{call.layer}, step {call.step}"
    if weights.size(0) == 1:
        return heatmap(weights[0], query_labels=query_labels, key_labels=key_labels, mask=mask, title=title)
    return head_grid(weights, query_labels=query_labels, key_labels=key_labels, mask=mask, title=title)
