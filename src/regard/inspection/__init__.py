"""Inspection: record what a model attends to, change it, measure, and draw.

`with record(model) as trace:` gathers every call of every attention layer; `with intervene(model, …):` forces or masks
weights. Both act by hooks on `layers.Attend`. `trace.save(path)` keeps what was recorded.

Readings give a `Map`, numbers with words and a caveat: `weights_of`, `norm_weighted`, `entropy`, `coverage` of a call;
`rollout`, `flow` of a trace; `gradient_weighted`, `leave_one_out`, `hide_each`, `value_zeroing` of a model that is run.
Three give tensors and serve every model, whatever it reads and predicts: `occlusion`, `gradient_times_input` and
`predict_with_uniform_weights`.
`compare`, `difference`, `divergences`, `rank_correlations` set two beside each other; `another_distribution` seeks
weights that change nothing.

`map.figure()`, `heatmap`, `head_grid`, `alignment_lines`, `image_overlay`, `bars`, `computation_figure` and `figure_of`
draw; they are imported on first use, since matplotlib takes half a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from regard.inspection.drawing.map import Map, weights_of
from regard.inspection.readings.compare import compare, difference, divergences, rank_correlations
from regard.inspection.readings.flow import flow
from regard.inspection.readings.gradient_times_input import gradient_times_input
from regard.inspection.readings.gradient_times_weight import gradient_weighted
from regard.inspection.readings.joined import joined
from regard.inspection.readings.norm_weighted import norm_weighted
from regard.inspection.readings.occlusion import cover_each, hide_each, leave_one_out, occlusion, without_each
from regard.inspection.readings.other_distributions import another_distribution
from regard.inspection.readings.rank import kendall_tau
from regard.inspection.readings.rollout import rollout
from regard.inspection.readings.spread import coverage, entropy
from regard.inspection.readings.uniform import predict_with_uniform_weights, uniform
from regard.inspection.readings.value_zeroing import value_zeroing
from regard.inspection.trace.attention_layers import attention_layers
from regard.inspection.trace.computation import computation
from regard.inspection.trace.intervene import intervene
from regard.inspection.trace.pin import pin_weights
from regard.inspection.trace.record import record
from regard.inspection.trace.trace import Call, Trace

if TYPE_CHECKING:
    from regard.inspection.drawing.figures import (
        alignment_lines,
        bars,
        computation_figure,
        figure_of,
        head_grid,
        heatmap,
        image_overlay,
    )

_FIGURES = ("alignment_lines", "bars", "computation_figure", "figure_of", "head_grid", "heatmap", "image_overlay")

__all__ = [
    "Call",
    "Map",
    "Trace",
    "alignment_lines",
    "another_distribution",
    "attention_layers",
    "bars",
    "compare",
    "computation",
    "computation_figure",
    "cover_each",
    "coverage",
    "difference",
    "divergences",
    "entropy",
    "figure_of",
    "flow",
    "gradient_times_input",
    "gradient_weighted",
    "head_grid",
    "heatmap",
    "hide_each",
    "image_overlay",
    "intervene",
    "joined",
    "kendall_tau",
    "leave_one_out",
    "norm_weighted",
    "occlusion",
    "pin_weights",
    "predict_with_uniform_weights",
    "rank_correlations",
    "record",
    "rollout",
    "uniform",
    "value_zeroing",
    "weights_of",
    "without_each",
]


def __getattr__(name: str) -> Any:
    if name not in _FIGURES:
        raise AttributeError(f"module 'regard.inspection' has no attribute '{name}'")
    return getattr(import_module("regard.inspection.drawing.figures"), name)
