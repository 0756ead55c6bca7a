"""Inspection: look on while a model attends, meddle, and draw what was seen.

`with record(model) as trace:` gathers every call of every attention layer; `with intervene(model, …):` forces or masks
weights. Both act at the one seam, `layers.Attend`. `heatmap`, `head_grid`, `alignment_lines`, `image_overlay` and
`figure_of` draw; they are imported on first use, since matplotlib takes half a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from regard.inspection.intervene import intervene
from regard.inspection.record import record
from regard.inspection.seam import attention_layers
from regard.inspection.trace import Call, Trace

if TYPE_CHECKING:
    from regard.inspection.figures import (
        alignment_lines,
        figure_of,
        head_grid,
        heatmap,
        image_overlay,
    )

_FIGURES = ("alignment_lines", "figure_of", "head_grid", "heatmap", "image_overlay")

__all__ = [
    "Call",
    "Trace",
    "alignment_lines",
    "attention_layers",
    "figure_of",
    "head_grid",
    "heatmap",
    "image_overlay",
    "intervene",
    "record",
]


def __getattr__(name: str) -> Any:
    if name not in _FIGURES:
        raise AttributeError(f"module 'regard.inspection' has no attribute '{name}'")
    return getattr(import_module("regard.inspection.figures"), name)
