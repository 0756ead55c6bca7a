"""Heat: a table of weights drawn into axes, so that it can be trusted."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Bool, Float, Real
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap, LinearSegmentedColormap, ListedColormap
from matplotlib.figure import Figure
from torch import Tensor

from regard.attention import Mask
from regard.attention.mask import as_mask
from regard.errors import ArgumentError
from regard.inspection.drawing.map import WEIGHTS_CAVEAT, Map
from regard.inspection.drawing.panels import FAINT, INK, MUTED, WordTicks
from regard.inspection.drawing.picture import Spot, show, write_number
from regard.inspection.drawing.words import check_labels

#: White for zero, then ever darker: also in gray the order stays.
WEIGHTS = LinearSegmentedColormap.from_list(
    "regard_weights", ["#ffffff", "#d3ebe8", "#93cdd3", "#4fa3bf", "#2a74a6", "#254a86", "#1f1f55"]
)
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
    table = table_of(weights, limits)
    rows, columns = table.shape
    allowed = allowed_of(mask, rows, columns)
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
    queries, keys = check_labels("query", query_labels, rows), check_labels("key", key_labels, columns)
    for axis, words, name in ((axes.xaxis, keys, "key"), (axes.yaxis, queries, "query")):
        WordTicks(words).put_on(axis)
        axis.set_label_text(name)
        axis.labelpad = 8
    _frame(axes, rows, columns)
    if cells <= NUMBERED if numbers is None else numbers:
        _write_numbers(axes, mesh, table, allowed, decimals=2 if weights.is_floating_point() else 0)
    total = table.masked_fill(~allowed, 0.0).sum(-1)
    if sums or (sums is None and limits == (0.0, 1.0) and rows <= 40 and bool(((total - 1).abs() > 0.005).any())):
        for row, number in enumerate(total.tolist()):
            axes.text(columns + 0.15, row + 0.5, f"Σ {number:.2f}", va="center", fontsize=8, color=MUTED)
    _show(axes, table, allowed, (queries, keys), limits)
    return mesh


def _show(
    axes: Axes, table: Tensor, allowed: Tensor, labels: tuple[list[str], list[str]], limits: tuple[float, float]
) -> None:
    """Register what is drawn with the picture, and the text of each cell when pointed at."""
    map = Map(
        name=axes.get_title(),
        values=table,
        axes=("query", "key"),
        labels=(tuple(labels[0]), tuple(labels[1])),
        caveat=WEIGHTS_CAVEAT,
        mask=None if bool(allowed.all()) else allowed,
        limits=limits,
    )

    def spots() -> Iterator[Spot]:
        columns = table.size(1)
        for index in table.flatten().argsort(descending=True, stable=True).tolist():
            row, column = divmod(index, columns)
            corners = ((column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1))
            number = write_number(float(table[row, column])) if allowed[row, column] else "masked"
            yield Spot(corners, f"{labels[0][row]} → {labels[1][column]}: {number}")

    show(axes, map, spots)


def table_of(weights: Real[Tensor, "..."], limits: tuple[float, float]) -> Float[Tensor, "query key"]:
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


def allowed_of(mask: Mask | Tensor | None, rows: int, columns: int) -> Bool[Tensor, "query key"]:
    """Give a mask as a table: True = may attend."""
    if mask is None:
        return torch.ones(rows, columns, dtype=torch.bool)
    dense = as_mask(mask).dense((1, rows, columns)).cpu()
    try:
        return dense.reshape(dense.shape[-2:]).expand(rows, columns)
    except RuntimeError:
        raise ArgumentError(
            f"`mask` must broadcast to (query, key) = {(rows, columns)}; received {tuple(dense.shape)}."
        ) from None


def _hatch(axes: Axes, allowed: Tensor) -> None:
    """Hatch the keys that were masked."""
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
        center = (column + 0.5, row + 0.5)
        text = "0" if number == 0 else f"{round(number, decimals) + 0.0:.{decimals}f}".replace("-", "−")
        axes.text(*center, text, ha="center", va="center", color="white" if dark else INK, gid="number")


def color_bar(mesh: ScalarMappable, axes: Axes | Sequence[Axes], *, label: str = "weight") -> None:
    """Put the scale of a picture beside one panel or several."""
    beside = [axes] if isinstance(axes, Axes) else list(axes)
    figure = beside[0].figure
    assert isinstance(figure, Figure)
    bar = figure.colorbar(mesh, ax=beside, fraction=0.045, pad=0.025, aspect=24)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, colors=MUTED, length=2, color=FAINT)
    bar.set_label(label, color=MUTED, fontsize=9)
