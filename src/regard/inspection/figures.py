"""Figures: weights as pictures that can be trusted, by matplotlib.

The color scale is fixed, from zero to one unless said otherwise; masked cells are hatched, not shown as zero; rows of
weights that do not sum to one say what they sum to; labels are turned or thinned out rather than overlap. Weights say
where a layer looked, not what mattered: `intervene` tests that.

`heatmap`, `head_grid`, `alignment_lines`, `image_overlay` and `figure_of` give a `Figure`, and `figure.savefig(path)`
writes it. The `draw_…` functions put the same into axes of one's own, which `panels.panels` makes. pyplot is never
touched.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Real
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from torch import Tensor

from regard.attention import Mask
from regard.attention.mask import as_mask
from regard.errors import ArgumentError
from regard.inspection.panels import FAINT, INK, MUTED, PALETTE, WordTicks, panels
from regard.inspection.trace import Call, Labels

#: White for zero, then ever darker: also in gray the order stays.
WEIGHTS = LinearSegmentedColormap.from_list(
    "regard_weights", ["#ffffff", "#d3ebe8", "#93cdd3", "#4fa3bf", "#2a74a6", "#254a86", "#1f1f55"]
)
#: From transparent to strong, to lie on a picture.
OVERLAY = LinearSegmentedColormap.from_list("regard_overlay", [(0.84, 0.37, 0.0, 0.0), (0.84, 0.2, 0.0, 0.85)])
MASKED, HATCH = "#eceef1", "#b4bac3"
NUMBERED = 150  # cells at most, to have their numbers written
LINED = 400  # cells at most, to be set apart by white lines


def draw_heatmap(
    axes: Axes,
    weights: Real[Tensor, "query key"],
    *,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
    mask: Mask | Bool[Tensor, "..."] | None = None,
    limits: tuple[float, float] = (0.0, 1.0),
    numbers: bool | None = None,
    sums: bool | None = None,
) -> QuadMesh:
    """Draw a row per query and a column per key; give what `color_bar` needs.

    - `mask`: True = may attend; the other cells are hatched.
    - `limits`: the ends of the color scale. Where it reaches below zero, two colors part at zero.
    - `numbers`: write each cell's, by default where there are few; a weight of exactly zero reads 0, not 0.00.
    - `sums`: write each row's, by default where the scale is that of weights and a row does not sum to one.
    """
    table = _table(weights, limits)
    rows, columns = table.shape
    allowed = _allowed(mask, rows, columns)
    cells = rows * columns
    mesh = axes.pcolormesh(
        table.masked_fill(~allowed, float("nan")).numpy(),
        cmap=_colors(limits),
        vmin=limits[0],
        vmax=limits[1],
        edgecolors="white" if cells <= LINED else "none",
        linewidth=1.0 if cells <= LINED else 0.0,
        rasterized=cells > LINED,
    )
    _hatch(axes, allowed)
    for axis, labels, name, count in (
        (axes.xaxis, key_labels, "key", columns),
        (axes.yaxis, query_labels, "query", rows),
    ):
        WordTicks(_labels(name, labels, count)).put_on(axis)
        axis.set_label_text(name)
        axis.labelpad = 8
    _frame(axes, rows, columns)
    if cells <= NUMBERED if numbers is None else numbers:
        _write_numbers(axes, mesh, table, allowed, decimals=2 if weights.is_floating_point() else 0)
    total = table.masked_fill(~allowed, 0.0).sum(-1)
    if sums or (sums is None and limits == (0.0, 1.0) and rows <= 40 and bool(((total - 1).abs() > 0.005).any())):
        for row, number in enumerate(total.tolist()):
            axes.text(columns + 0.15, row + 0.5, f"Σ {number:.2f}", va="center", fontsize=8, color=MUTED)
    return mesh


def _table(weights: Tensor, limits: tuple[float, float]) -> Float[Tensor, "query key"]:
    """Bring the numbers to where matplotlib reads them; what the color scale cannot show is an error."""
    if weights.ndim != 2 or not weights.numel():
        raise ArgumentError(
            f"`weights` must be a table with at least one row and one column; received shape {tuple(weights.shape)}. "
            "One head of one example is weights[example, head]."
        )
    table = weights.detach().to(device="cpu", dtype=torch.float64)
    low, high = float(table.min()), float(table.max())
    if not (limits[0] - 1e-4 <= low and high <= limits[1] + 1e-4):
        raise ArgumentError(
            f"`weights` must lie within the color scale, {limits[0]:g} to {limits[1]:g}; received numbers from "
            f"{low:.4g} to {high:.4g}. Scores and other numbers need limits=(low, high)."
        )
    return table


def _colors(limits: tuple[float, float]) -> Colormap:
    return colormaps["RdBu_r"] if limits[0] < 0 else WEIGHTS


def _allowed(mask: Mask | Tensor | None, rows: int, columns: int) -> Bool[Tensor, "query key"]:
    if mask is None:
        return torch.ones(rows, columns, dtype=torch.bool)
    dense = as_mask(mask).dense((1, rows, columns)).cpu()
    try:
        return dense.reshape(dense.shape[-2:]).expand(rows, columns)
    except RuntimeError:
        raise ArgumentError(
            f"`mask` must broadcast to (query, key) = {(rows, columns)}; received {tuple(dense.shape)}."
        ) from None


def _labels(side: str, labels: Sequence[str] | None, count: int) -> list[str]:
    words = [str(place) for place in range(count)] if labels is None else list(labels)
    if len(words) != count or isinstance(labels, str):
        found = "one string" if isinstance(labels, str) else str(len(words))
        raise ArgumentError(f"`{side}_labels` must name {count} places; received {found}.")
    return words


def _hatch(axes: Axes, allowed: Tensor) -> None:
    """Show what could not be looked at as that."""
    if not allowed.all():
        closed = allowed.double().masked_fill(allowed, float("nan")).numpy()
        axes.pcolor(closed, cmap=ListedColormap([MASKED]), hatch="//////", edgecolors=HATCH, linewidth=0.0)


def _frame(axes: Axes, rows: int, columns: int) -> None:
    axes.set(xlim=(0, columns), ylim=(rows, 0))
    axes.set_aspect("equal" if max(rows, columns) <= 4 * min(rows, columns) else "auto")
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set(visible=True, color=FAINT, linewidth=0.8)


def _write_numbers(axes: Axes, mesh: QuadMesh, table: Tensor, allowed: Tensor, *, decimals: int) -> None:
    colors = mesh.to_rgba(table.numpy())
    for row, column in allowed.nonzero().tolist():
        number = float(table[row, column])
        red, green, blue, _ = colors[row, column]
        dark = 0.3 * red + 0.59 * green + 0.11 * blue < 0.55
        place = (column + 0.5, row + 0.5)
        text = "0" if number == 0 else f"{round(number, decimals) + 0.0:.{decimals}f}".replace("-", "−")
        axes.text(*place, text, ha="center", va="center", color="white" if dark else INK, gid="number")


def color_bar(mesh: ScalarMappable, axes: Axes | Sequence[Axes], *, label: str = "weight") -> None:
    """Put the scale of a picture beside one panel or several."""
    beside = [axes] if isinstance(axes, Axes) else list(axes)
    figure = beside[0].figure
    assert isinstance(figure, Figure)
    bar = figure.colorbar(mesh, ax=beside, fraction=0.045, pad=0.025, aspect=24)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, colors=MUTED, length=2, color=FAINT)
    bar.set_label(label, color=MUTED, fontsize=9)


def _cell_size(count: int) -> float:
    """Choose how many inches a cell gets."""
    return min(0.62, max(0.14, 4.6 / max(count, 1)))


def _inches(words: Sequence[str]) -> float:
    """Guess how much room words take beside a map."""
    return 0.085 * max((len(word) for word in words), default=0)


def heatmap(
    weights: Real[Tensor, "query key"],
    *,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
    mask: Mask | Bool[Tensor, "..."] | None = None,
    title: str | None = None,
    limits: tuple[float, float] = (0.0, 1.0),
    label: str = "weight",
) -> Figure:
    """Draw weights as a map: a row per query, a column per key. See `draw_heatmap`.

    >>> from regard import Causal
    >>> figure = heatmap(torch.eye(3), query_labels=["a", "b", "c"], key_labels=["a", "b", "c"], mask=Causal())
    """
    figure, [axes] = panels(size=_map_size(weights, query_labels, key_labels), titles=[] if title is None else [title])
    mesh = draw_heatmap(axes, weights, query_labels=query_labels, key_labels=key_labels, mask=mask, limits=limits)
    color_bar(mesh, axes, label=label)
    return figure


def _map_size(
    weights: Tensor, query_labels: Sequence[str] | None, key_labels: Sequence[str] | None
) -> tuple[float, float]:
    """Choose a size in which cells are square and words have room."""
    rows, columns = weights.shape[-2:]
    cell = _cell_size(max(rows, columns))
    width = columns * cell + _inches(query_labels or ["99"]) + 1.5
    height = rows * cell + 0.7 * _inches(key_labels or ["99"]) + 0.9
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
) -> Figure:
    """Draw a map for each head, all on one scale; the mask may be one per head.

    >>> figure = head_grid(torch.full((8, 3, 3), 1 / 3))
    """
    if weights.ndim != 3 or not len(weights):
        raise ArgumentError(
            f"`weights` must have shape (heads, query, key), with one head or more; received {tuple(weights.shape)}. "
            "Those of one example are weights[example]."
        )
    heads = len(weights)
    names = [f"head {head}" for head in range(heads)] if titles is None else _labels("title", titles, heads)
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
    return figure


def draw_lines(
    axes: Axes,
    weights: Float[Tensor, "query key"],
    *,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
    names: tuple[str, str] = ("query", "key"),
) -> None:
    """Draw queries on the left, keys on the right, and between them lines as thick and strong as the weights."""
    table = _table(weights, (0.0, 1.0))
    rows, columns = table.shape
    sides = (_labels("query", query_labels, rows), _labels("key", key_labels, columns))
    longest = max(rows, columns)
    left, right = ([place + (longest - len(words)) / 2 for place in range(len(words))] for words in sides)
    for row, column in (table > 0.01).nonzero().tolist():
        weight = min(float(table[row, column]), 1.0)
        points = [(0.0, left[row]), (0.4, left[row]), (0.6, right[column]), (1.0, right[column])]
        path = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        axes.add_patch(PathPatch(path, fill=False, edgecolor=PALETTE[0], alpha=weight, linewidth=0.6 + 4.4 * weight))
    for place, words, heights, name in ((-0.03, sides[0], left, names[0]), (1.03, sides[1], right, names[1])):
        side = "right" if place < 0 else "left"
        for word, height in zip(words, heights, strict=True):
            axes.text(place, height, word, ha=side, va="center", fontsize=10, color=INK, parse_math=False)
        axes.text(place, -1.0, name, ha=side, va="center", fontsize=9, color=MUTED)
    axes.set(xlim=(0, 1), ylim=(longest - 0.4, -1.4))
    axes.axis("off")


def alignment_lines(
    weights: Float[Tensor, "query key"],
    *,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw weights as lines between two columns of words; below one in a hundred there is none.

    >>> figure = alignment_lines(torch.eye(2), query_labels=["la", "casa"], key_labels=["the", "house"])
    """
    words = _inches(query_labels or ["99"]) + _inches(key_labels or ["99"])
    size = (min(2.2 + words, 12.0), min(0.8 + 0.3 * max(weights.shape), 12.0))
    figure, [axes] = panels(size=size, titles=[] if title is None else [title])
    draw_lines(axes, weights, query_labels=query_labels, key_labels=key_labels)
    return figure


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
    table = _table(weights, (0.0, math.inf))
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
    return over


def image_overlay(
    image: Float[Tensor, "..."],
    weights: Float[Tensor, "row column"],
    *,
    title: str | None = None,
    limit: float | None = None,
) -> Figure:
    """Show where in an image the weights of its patches lie. See `draw_overlay`.

    >>> figure = image_overlay(torch.rand(3, 16, 16), torch.full((4, 4), 1 / 16), title="red")
    """
    figure, [axes] = panels(size=(4.2, 3.6), titles=[] if title is None else [title])
    color_bar(draw_overlay(axes, image, weights, limit=limit), axes)
    return figure


def figure_of(call: Call, *, example: int = 0) -> Figure:
    """Draw one call of a trace: a map, or one for each head. Padding that has no name is left out.

    >>> from regard.inspection import record
    >>> from regard.layers import SelfAttention
    >>> layer = SelfAttention()
    >>> with record(layer) as trace:
    ...     _ = layer(torch.eye(2)[None])
    >>> figure = figure_of(trace[0])
    """
    query_labels, key_labels = _words_of(call.query_labels, example), _words_of(call.key_labels, example)
    weights = call.weights[example]  # heads query key
    rows = weights.size(1) if query_labels is None else len(query_labels)
    columns = weights.size(2) if key_labels is None else len(key_labels)
    weights = weights[:, :rows, :columns]
    mask = None if call.mask is None else call.mask[example, :, :rows, :columns]
    title = f"{call.layer}, step {call.step}"
    if weights.size(0) == 1:
        return heatmap(weights[0], query_labels=query_labels, key_labels=key_labels, mask=mask, title=title)
    return head_grid(weights, query_labels=query_labels, key_labels=key_labels, mask=mask, title=title)


def _words_of(labels: Labels | None, example: int) -> list[str] | None:
    """Give the words of one example."""
    if labels is None or all(isinstance(label, str) for label in labels):
        return None if labels is None else [str(label) for label in labels]
    return list(labels[example])
