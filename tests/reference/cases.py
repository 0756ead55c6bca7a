"""The case table: a pairwise cover of everything the operator takes, and each case made ready to run."""

import zlib
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

import regard
from catalogue.operator import (
    INNER,
    KEY_WIDTH,
    KEYS,
    LAYOUTS,
    LINEAR,
    MASKS,
    NEEDS_WEIGHTS,
    NORMALIZERS,
    POSITIONS,
    QUERIES,
    QUERY_WIDTH,
    SCORES,
    SHAW,
    UNEQUAL_WIDTHS,
    VALUE_WIDTH,
    Setting,
    numbers,
    position_row,
)
from reference import eager, oracle
from reference.pairwise import Row, impossible, pairwise

FACTORS = {
    "score": list(SCORES),
    "normalizer": list(NORMALIZERS),
    "mask": list(MASKS),
    "position": list(POSITIONS),
    "bias": ["none", "pairs", "full with −∞"],
    "dtype": ["float64", "float32", "bfloat16", "float16"],
    "layout": list(LAYOUTS),
    "backend": ["reference", "sdpa", "chunked"],
}
DEFAULTS = {name: choices[0] for name, choices in FACTORS.items()}


def valid(row: Row) -> bool:
    """Say whether the contract allows the choices made so far."""
    score = row.get("score", "ScaledDot")
    if row.get("position") in SHAW and score not in LINEAR:
        return False
    if row.get("backend") == "chunked" and score == "function":
        return False
    if row.get("backend") == "flex" and score == "Softcap":
        return fusible({**row, "score": "ScaledDot"})
    return row.get("backend") not in ("sdpa", "flex") or fusible({**row, "score": score})


def fusible(row: Row) -> bool:
    """Say whether the contract lets a fused kernel compute this."""
    overflows = row["score"].startswith(("Gaussian", "Bilinear")) and row.get("dtype") == "float16"
    shifts = row["score"].startswith(("Gaussian", "Additive"))
    return (
        row["score"] in INNER
        and row.get("normalizer", "Softmax") in (["Softmax"] if shifts else ["Softmax", "Sink"])
        and row.get("position") not in NEEDS_WEIGHTS
        and not overflows
    )


#: Every two choices together, on every backend that takes them.
TABLE = pairwise(FACTORS, valid)
#: The same for the fused kernel alone, which the table above meets only where a row happens to suit it.
FUSED_FACTORS = {
    **FACTORS,
    "score": [name for name in SCORES if name in INNER],
    "normalizer": ["Softmax", "Sink"],
    "position": [name for name in POSITIONS if name not in NEEDS_WEIGHTS],
    "backend": ["sdpa"],
}
FUSED_TABLE = pairwise(FUSED_FACTORS, lambda row: valid({**row, "backend": "sdpa"}))
#: The same for FlexAttention, which takes no bias, and compiles a kernel for every kind of mask.
FLEX_FACTORS = {
    **FUSED_FACTORS,
    "score": ["ScaledDot", "Bilinear per head", "Gaussian", "Cosine", "Softcap"],
    "normalizer": ["Softmax"],
    "position": ["none", "Rotary halves ragged", "Alibi"],
    "bias": ["none"],
    "dtype": ["bfloat16", "float32"],
    "layout": ["heads", "plain", "batch", "grouped"],
    "backend": ["flex"],
}
FLEX_TABLE = pairwise(FLEX_FACTORS, valid)
#: Two choices that must raise together, the rest as in `DEFAULTS`.
REFUSED = [{**DEFAULTS, **pair} for pair in impossible(FACTORS, valid)]


def name_of(row: Row) -> str:
    """Name a case, so that one can be run alone."""
    return " / ".join(f"{choice}" for name, choice in row.items())


@dataclass(frozen=True)
class Case:
    """One row of the table: the tensors, the arguments, and the rules for the oracle."""

    row: Row
    query: Tensor
    key: Tensor
    value: Tensor
    arguments: dict[str, Any]
    compare: oracle.Compare
    weigh: oracle.Normalize
    allowed: Any
    rules: oracle.Position
    eager_score: Any
    eager_normalize: Any

    @property
    def inputs(self) -> dict[str, Tensor]:
        """The tensors that take a gradient."""
        named = {"query": self.query, "key": self.key, "value": self.value, "bias": self.arguments["bias"]}
        return {name: tensor for name, tensor in named.items() if tensor is not None}

    def attend(self, **changes: Any) -> regard.Attended:
        """Run the operator."""
        arguments = {**self.arguments, **changes}
        return regard.attention(self.query, self.key, self.value, return_weights=True, **arguments)

    def truth(self) -> oracle.Result:
        """Run the oracle."""
        bias = self.arguments["bias"]
        arrays = [tensor.detach().cpu().double().numpy() for tensor in (self.query, self.key, self.value)]
        return oracle.attend(
            *arrays,
            compare=self.compare,
            normalize=self.weigh,
            allowed=self.allowed,
            position=self.rules,
            bias=None if bias is None else torch.tensor(numbers(bias), dtype=torch.float64).numpy(),
            grouped=self.arguments["grouped"],
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the scores."""
        return (*LAYOUTS[self.row["layout"]].lead, self.query.size(-2), self.key.size(-2))

    def grids(self) -> eager.Grids:
        """Ask the rules about every pair."""
        widths = (self.query.size(-1), self.key.size(-1), self.value.size(-1))
        return eager.grids(self.shape, widths, self.allowed, self.rules, self.arguments["bias"])

    def eager(self) -> tuple[Tensor, Tensor]:
        """Run the textbook's lines."""
        return eager.attend(
            self.query,
            self.key,
            self.value,
            score=self.eager_score,
            normalize=self.eager_normalize,
            grid=self.grids(),
            bias=self.arguments["bias"],
            grouped=self.arguments["grouped"],
        )


def build(
    row: Row,
    *,
    device: torch.device | None = None,
    dtype: torch.dtype | None = None,
    sizes: tuple[int, int] = (QUERIES, KEYS),
    seed: int = 0,
) -> Case:
    """Make a case ready; `dtype` gives the same rounded numbers in another precision, `sizes` other lengths."""
    rounded = getattr(torch, row["dtype"])
    key = [row[name] for name in ("score", "mask", "position", "bias", "layout")]
    setting = Setting(
        LAYOUTS[row["layout"]],
        dtype=dtype or rounded,
        rounded=rounded,
        device=device or torch.device("cpu"),
        seed=zlib.crc32(repr(key).encode()) + seed,
        queries=sizes[0],
        keys=sizes[1],
    )
    layout = setting.layout
    key_width = KEY_WIDTH if row["score"] in UNEQUAL_WIDTHS else QUERY_WIDTH
    query = setting.draw(*layout.query, setting.queries, QUERY_WIDTH)
    key_tensor = setting.draw(*layout.key, setting.keys, key_width)
    value = setting.draw(*layout.value, setting.keys, VALUE_WIDTH)
    score, compare, eager_score = SCORES[row["score"]](setting)
    normalizer, weigh, eager_normalize = NORMALIZERS[row["normalizer"]]
    mask, allowed = MASKS[row["mask"]](setting)
    position, rules = position_row(row["position"], setting, key_width)
    bias = None
    if row["bias"] == "pairs":
        bias = setting.draw(setting.queries, setting.keys)
    elif row["bias"] == "full with −∞":
        closed = torch.rand(setting.shape, generator=setting.random).to(setting.device) < 0.1
        bias = setting.draw(*setting.shape).masked_fill(closed, -torch.inf)
    arguments = {
        "score": score,
        "normalize": normalizer,
        "mask": mask,
        "position": position,
        "bias": bias,
        "grouped": layout.grouped,
        "backend": row["backend"],
    }
    return Case(row, query, key_tensor, value, arguments, compare, weigh, allowed, rules, eager_score, eager_normalize)
