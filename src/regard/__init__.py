"""Attention for sequence models, in one library.

Names are imported on first use, so that `import regard` and `regard --help` stay quick.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.attention import (
        Additive as Additive,
        Alibi as Alibi,
        Attended as Attended,
        Bilinear as Bilinear,
        Causal as Causal,
        Concat as Concat,
        Cosine as Cosine,
        Documents as Documents,
        Dot as Dot,
        Entmax as Entmax,
        Gaussian as Gaussian,
        GaussianWindow as GaussianWindow,
        Hard as Hard,
        Location as Location,
        Mean as Mean,
        Not as Not,
        Padding as Padding,
        Partial as Partial,
        RelativeBias as RelativeBias,
        RelativeBuckets as RelativeBuckets,
        Rotary as Rotary,
        ScaledDot as ScaledDot,
        ScoreMod as ScoreMod,
        ScoreRows as ScoreRows,
        Shaw as Shaw,
        Sigmoid as Sigmoid,
        Sink as Sink,
        Softcap as Softcap,
        Softmax as Softmax,
        Sparsemax as Sparsemax,
        WeightSummary as WeightSummary,
        Window as Window,
        attention as attention,
        explain_backend as explain_backend,
        from_torch_mha as from_torch_mha,
        lookup as lookup,
        merge as merge,
        summarize_weights as summarize_weights,
    )
    from regard.client import Client as Client
    from regard.studio.notebook import inspect as inspect, studio as studio
    from regard.pretrained.shipped import list_models as list_models
    from regard.tasks.calls import (
        align as align,
        compare as compare,
        evaluate as evaluate,
    )
    from regard.tasks.doctor.doctor import doctor as doctor
    from regard.tasks.load import load as load
    from regard.tasks.run_list import list_runs as list_runs
    from regard.tasks.training import train as train

__version__ = "0.1.0"

_HOMES = {
    "regard.attention": [
        "Additive",
        "Alibi",
        "Attended",
        "Bilinear",
        "Causal",
        "Concat",
        "Cosine",
        "Documents",
        "Dot",
        "Entmax",
        "Gaussian",
        "GaussianWindow",
        "Hard",
        "Location",
        "Mean",
        "Not",
        "Padding",
        "Partial",
        "RelativeBias",
        "RelativeBuckets",
        "Rotary",
        "ScaledDot",
        "ScoreMod",
        "ScoreRows",
        "Shaw",
        "Sigmoid",
        "Sink",
        "Softcap",
        "Softmax",
        "Sparsemax",
        "WeightSummary",
        "Window",
        "attention",
        "explain_backend",
        "from_torch_mha",
        "lookup",
        "merge",
        "summarize_weights",
    ],
    "regard.client": ["Client"],
    "regard.studio.notebook": ["inspect", "studio"],
    "regard.pretrained.shipped": ["list_models"],
    "regard.tasks.calls": ["align", "compare", "evaluate"],
    "regard.tasks.doctor.doctor": ["doctor"],
    "regard.tasks.load": ["load"],
    "regard.tasks.run_list": ["list_runs"],
    "regard.tasks.training": ["train"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'regard' has no attribute '{name}'")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """Keeps `regard.attention` and `regard.studio` functions, also after the folders of these names were imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in ("attention", "studio") and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
