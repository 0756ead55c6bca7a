"""What hypothesis draws from: rows of the case table, whole problems, and masks of any depth."""

import dataclasses
from typing import Any

from hypothesis import strategies as st
from torch import Tensor

from catalogue.operator import MASKS, Setting
from reference.cases import DEFAULTS, FACTORS, FUSED_FACTORS, Case, Row, build, valid
from regard.attention import Mask
from regard.attention.mask import as_mask

BACKENDS = ["reference", "sdpa", "chunked"]


@st.composite
def rows(draw: st.DrawFn, **fixed: Any) -> Row:
    """Draw a row that the contract allows; `fixed` lists what to draw from. The precision is float64 unless listed."""
    backend = draw(st.sampled_from(fixed.get("backend", BACKENDS)))
    row: Row = {**DEFAULTS, "backend": backend}
    for name, choices in (FUSED_FACTORS if backend == "sdpa" else FACTORS).items():
        if name == "backend" or (name == "dtype" and "dtype" not in fixed):
            continue
        wanted = fixed.get(name, choices)
        offered = [choice for choice in choices if choice in wanted and valid({**row, name: choice})]
        row[name] = draw(st.sampled_from(offered))
    return row


@st.composite
def cases(draw: st.DrawFn, **fixed: Any) -> Case:
    """Draw a case of small, random sizes."""
    row = draw(rows(**fixed))
    sizes = draw(st.integers(3, 5)), draw(st.integers(6, 8))
    return build(row, sizes=sizes, seed=draw(st.integers(0, 999)))


@st.composite
def masks(draw: st.DrawFn, setting: Setting) -> Mask:
    """Draw a mask expression: leaves of every kind, joined by and, or, not."""
    kinds = [name for name in MASKS if name != "none"]
    leaf = st.sampled_from(kinds).map(lambda name: as_mask(MASKS[name](setting).mask))
    trees = st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
            st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
            inner.map(lambda mask: ~mask),
        ),
        max_leaves=5,
    )
    return draw(trees)


def allowed(case: Case) -> Tensor:
    """Give what a case allows, as its rules have it, of the scores' shape: mask, position's window, bias of −∞."""
    return case.grids().allowed


def allowed_by_mask(case: Case) -> Tensor:
    """Give the same without the bias."""
    return dataclasses.replace(case, arguments={**case.arguments, "bias": None}).grids().allowed
