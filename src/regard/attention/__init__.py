"""Attention as pure functions and small values, in the order of the computation:

`score` → `bias`, `position` → `mask` → `normalize` → `aggregate`; `operator` composes them, `kernels/` compute the same
faster, `lookup` is the same thing seen as a dictionary.
"""

from regard.attention.bias import Alibi, RelativeBias, RelativeBuckets
from regard.attention.kernels.choose import Backend, BackendReport
from regard.attention.kernels.reference import Attended
from regard.attention.lookup import LookupResult, lookup
from regard.attention.mask import Causal, Documents, Mask, Not, Padding, Window, from_torch_mha
from regard.attention.merge import Partial, merge
from regard.attention.normalize import Entmax, Hard, Mean, Normalizer, Sigmoid, Sink, Softmax, Sparsemax
from regard.attention.operator import attention, explain_backend
from regard.attention.position import GaussianWindow, Position, Rotary, Shaw
from regard.attention.score import (
    Additive,
    Bilinear,
    Concat,
    Dot,
    Inner,
    Location,
    ScaledDot,
    Score,
)
from regard.attention.score_function import ScoreMod, ScoreRows, Softcap
from regard.attention.similarity import Cosine, Gaussian
from regard.attention.summary import WeightSummary, summarize_weights

__all__ = [
    "Additive",
    "Alibi",
    "Attended",
    "Backend",
    "BackendReport",
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
    "Inner",
    "Location",
    "LookupResult",
    "Mask",
    "Mean",
    "Normalizer",
    "Not",
    "Padding",
    "Partial",
    "Position",
    "RelativeBias",
    "RelativeBuckets",
    "Rotary",
    "ScaledDot",
    "Score",
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
]
