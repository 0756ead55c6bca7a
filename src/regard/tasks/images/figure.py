"""What an image classifier weighed, drawn: positions over the image, the strongest channels as their feature maps."""

import io
import textwrap
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from torch import Tensor

from regard.inspection.drawing.figures import WEIGHTS, draw_overlay
from regard.inspection.drawing.panels import INK
from regard.inspection.drawing.picture import Picture
from regard.models.vision.features import ChannelWeights

if TYPE_CHECKING:
    from regard.tasks.images.model import ImageInspection

COLUMNS = 6


class _Panel(NamedTuple):
    title: str
    draw: Callable[[Axes], object]


def draw_inspection(inspection: "ImageInspection") -> Figure:
    """Draw the image, its positions under every gate or attention map, and a row of strongest channels for each stage.

    Gates are drawn on a scale from 0 to 1, weights that sum to one on a scale to eight equal shares, evidence to its
    own largest. Feature maps are drawn from zero to the largest value of any map of their stage.
    """
    rows = [_regions(inspection), *(_channels(item, best) for item, best in inspection.strongest(COLUMNS - 1))]
    across = min(COLUMNS, max(map(len, rows)))
    rows = [row[start : start + across] for row in rows for start in range(0, len(row), across)]
    cells = [cell for row in rows for cell in (*row, *[None] * (across - len(row)))]
    titles = ["" if cell is None else textwrap.fill(cell.title, 20) for cell in cells]
    figure, axes = _grid(len(rows), across)
    for each, cell, title in zip(axes, cells, titles, strict=True):
        each.set_title(title, fontsize=8.5, color=INK, parse_math=False)
        if cell is None:
            each.set_visible(False)
        else:
            cell.draw(each)
    return figure


def _grid(rows: int, columns: int) -> tuple[Picture, list[Axes]]:
    """Make panels that are all alike, at once: `inspection.drawing.panels` tries out layouts, which takes seconds."""
    figure = Picture(figsize=(1.7 * columns, 2.0 * rows), dpi=150, facecolor="white")
    FigureCanvasAgg(figure)
    margins = {"left": 0.03, "right": 0.99, "bottom": 0.02, "top": 1 - 0.17 / rows, "wspace": 0.12, "hspace": 0.3}
    return figure, list(figure.subplots(rows, columns, squeeze=False, gridspec_kw=margins).flat)


def as_png(figure: Figure, *, resolution: int = 100) -> bytes:
    """Give a figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=resolution)
    return buffer.getvalue()


def _regions(inspection: "ImageInspection") -> list[_Panel]:
    """Show the image, then what each layer weighed of its positions, then where the evidence lies."""
    decision, image = inspection.decision, inspection.image
    result = [_Panel(f"{decision.label} {decision.probability:.3f}", partial(_draw_image, image=image))]
    for item in inspection.last_positions():
        scale = "gate, 0 to 1" if item.limit == 1 else f"0 to {item.limit:.2g}"
        draw = partial(draw_overlay, image=image, weights=item.weights, limit=item.limit)
        result.append(_Panel(f"{item.name}: {scale}", draw))
    if inspection.evidence is not None:
        draw = partial(draw_overlay, image=image, weights=inspection.evidence.clamp(min=0))
        result.append(_Panel(f"evidence for {decision.label}", draw))
    return result


def _channels(stage: ChannelWeights, best: list[int]) -> list[_Panel]:
    """Show the weights of all channels of a stage, then the maps of the strongest."""
    result = [_Panel(f"{stage.name}: {len(stage.weights)} gates", partial(_draw_spread, weights=stage.weights))]
    limit = max(float(stage.maps.max()), 1e-9)
    for channel in best:
        draw = partial(_draw_map, map=stage.maps[channel], limit=limit)
        result.append(_Panel(f"channel {channel}: {float(stage.weights[channel]):.2f}", draw))
    return result


def _draw_image(axes: Axes, image: Tensor) -> None:
    if len(image) == 1:
        axes.imshow(image[0].numpy(), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    else:
        axes.imshow(image.clamp(0, 1).permute(1, 2, 0).numpy(), interpolation="nearest")
    axes.axis("off")


def _draw_spread(axes: Axes, weights: Tensor) -> None:
    axes.bar(range(len(weights)), weights.sort(descending=True).values.tolist(), width=1.0, color="#4fa3bf")
    axes.set(ylim=(0, 1), xticks=[], yticks=[0, 1], box_aspect=1)
    axes.tick_params(labelsize=7)


def _draw_map(axes: Axes, map: Tensor, limit: float) -> None:
    axes.imshow(map.clamp(min=0).numpy(), cmap=WEIGHTS, vmin=0, vmax=limit, interpolation="nearest")
    axes.axis("off")
