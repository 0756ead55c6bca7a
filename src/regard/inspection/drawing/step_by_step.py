"""The computation of one query as a figure: compare, weigh, scale, add up."""

import torch
from matplotlib.axes import Axes

from regard.attention.tensors import name_of
from regard.inspection.drawing.bar_chart import draw_bars
from regard.inspection.drawing.heatmap import color_bar, draw_heatmap
from regard.inspection.drawing.panels import INK, WordTicks, panels
from regard.inspection.drawing.picture import Picture
from regard.inspection.drawing.words import inches, short
from regard.inspection.trace.computation import Computation

MOST_FEATURES = 24
"""Features at most that are drawn; the rest are in `Computation`."""
BARS = 2.0  # inches of a panel of bars
CAVEAT = "These are the numbers of one head of one layer; what the model says is made of many, and of what follows."


def computation_figure(result: Computation) -> Picture:
    """Draw scores, weights, weighted values and the context of one query, from left to right.

    >>> from regard.inspection.trace.computation import computation
    >>> from regard.layers import SelfAttention
    >>> layer, x = SelfAttention(), torch.eye(3)[None]
    >>> figure = computation_figure(computation(layer, lambda: layer(x), layer="SelfAttention", query=0))
    """
    count, size = result.values.shape
    shown = min(size, MOST_FEATURES)
    height = min(1.7 + 0.27 * (count + 1), 12.0)
    features = max(2.4, 0.3 * shown)
    width = inches(result.key_labels) + 2 * BARS + features + 3.4
    left_out = f" ({shown} of {size} features)" if shown < size else ""
    titles = [
        f"1. scores: {name_of(result.score)}",
        f"2. weights: {name_of(result.normalizer)}",
        f"3. weighted values and their sum{left_out}",
    ]
    figure, [scores, weights, values] = panels(
        1,
        3,
        size=(width / 3, height),
        titles=titles,
        title=f"{result.layer}: what “{short(result.query_label)}” attends to",
        widths=[BARS, BARS, features],
    )
    closed = torch.zeros_like(result.scores, dtype=torch.bool) if result.mask is None else ~result.mask
    compared = result.scores.masked_fill(closed, 0.0).nan_to_num(neginf=0.0)
    low, high = (min(float(compared.min()), 0.0), max(float(compared.max()), 0.0)) if count else (0.0, 1.0)
    ends = (low, high if high > low else low + 1.0)
    draw_bars(scores, compared, labels=result.key_labels, mask=result.mask, limits=ends)
    draw_bars(weights, result.weights, labels=result.key_labels, mask=result.mask)
    _draw_sum(values, result, shown)
    for axes in (scores, weights):
        axes.set_ylim(count + 1, 0)  # so that rows stand beside those of the values
    weights.yaxis.set_visible(False)
    figure.caveat = CAVEAT
    return figure


def _draw_sum(axes: Axes, result: Computation, shown: int) -> None:
    """Draw a row for each weighted value, and one below them for what they add up to."""
    table = torch.cat([result.weighted_values, result.context.unsqueeze(0)])[:, :shown].double()
    largest = max(float(table.abs().max()), 1e-9)
    allowed = torch.ones_like(table, dtype=torch.bool)
    if result.mask is not None:
        allowed[:-1] = result.mask.unsqueeze(-1)
    mesh = draw_heatmap(
        axes,
        table,
        query_labels=[*result.key_labels, "context"],
        key_labels=[str(feature) for feature in range(shown)],
        mask=allowed,
        limits=(-largest, largest),
    )
    WordTicks([""] * len(result.key_labels) + ["context"]).put_on(axes.yaxis)
    axes.axhline(len(result.key_labels), color=INK, linewidth=1.6)
    axes.set(xlabel="feature", ylabel="", aspect="auto")
    color_bar(mesh, axes, label="value")
