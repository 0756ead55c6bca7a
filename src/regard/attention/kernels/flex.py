"""Torch's FlexAttention, for masks with many empty blocks: windows and packed documents."""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from regard.attention.bias import Alibi
from regard.attention.inputs import Inputs
from regard.attention.kernels import sdpa
from regard.attention.kernels.reference import operands
from regard.attention.mask import And, Causal, Dense, Documents, Mask, Not, Or, Padding, Window
from regard.attention.position import name_of
from regard.attention.score import Score

#: Below this many pairs a dense mask costs less than finding the empty blocks.
WORTHWHILE_PAIRS = 1 << 21

MaskRule = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def refusal(inputs: Inputs) -> str | None:
    """Say why this call cannot run here, or None if it can."""
    reason = sdpa.refusal(inputs)
    if reason:
        return reason
    if inputs.dropout:
        return "FlexAttention has no dropout"
    if inputs.bias is not None:
        return "a bias tensor is read whole, which FlexAttention exists to avoid"
    position = inputs.position
    plain_alibi = isinstance(position, Alibi) and position.query_positions is None and position.key_positions is None
    if position is not None and position.adds_bias and not plain_alibi:
        return f"{name_of(position)} is a dense bias, which FlexAttention exists to avoid"
    if len(inputs.shape) > 4 or 0 in inputs.shape:
        return f"it takes at most batch and heads before the two lengths, none of them empty, not {inputs.shape}"
    if inputs.query.device.type != "cuda":
        tensors = (inputs.query, inputs.key, inputs.value)
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            return "FlexAttention cannot train outside CUDA"
        if inputs.query.dtype == torch.float64:
            return "FlexAttention has no float64 kernel"
    return None


def pays(inputs: Inputs) -> bool:
    """Tell whether the blocks are worth finding: on CUDA, for many pairs."""
    return inputs.query.device.type == "cuda" and inputs.shape[-1] * inputs.shape[-2] >= WORTHWHILE_PAIRS


@functools.cache
def _compiled() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Compile FlexAttention and its block finder once; both are imported late, for their cost."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    return torch.compile(flex_attention), torch.compile(create_block_mask)


def attend(inputs: Inputs) -> Tensor:
    """Rewrite the call for FlexAttention and run it."""
    assert isinstance(inputs.score, Score)
    query, key, value, _ = operands(inputs, mask=inputs.dense_mask())
    inner = inputs.score.inner(query, key)
    assert inner is not None
    query, key, value, _ = sdpa.as_four_axes(inner.query, inner.key, value, None, inputs.shape, inputs.grouped)
    run, find_blocks = _compiled()
    blocks = None
    if inputs.mask is not None:
        rule = mask_rule(inputs.mask, inputs.shape)
        batch, heads = _varying_axes(inputs)
        blocks = find_blocks(rule, batch, heads, *inputs.shape[-2:], device=query.device)
    context = run(
        query,
        key,
        value,
        score_mod=_score_rule(inputs),
        block_mask=blocks,
        scale=inner.scale,
        enable_gqa=inputs.grouped,
    )
    return context.reshape(*inputs.shape[:-1], value.size(-1))  # type: ignore[no-any-return]


def _varying_axes(inputs: Inputs) -> tuple[int | None, int | None]:
    """Say how many batch elements and heads the mask tells apart."""
    dense = inputs.dense_mask()
    lead = () if dense is None else dense.shape[:-2]
    batch = lead[0] if lead and lead[0] > 1 else None
    heads = lead[1] if len(lead) > 1 and lead[1] > 1 else None
    return batch, heads


def _score_rule(inputs: Inputs) -> Callable[..., Tensor] | None:
    if not isinstance(inputs.position, Alibi):
        return None
    slopes, shift = inputs.position.slopes.to(inputs.query.device), inputs.shape[-1] - inputs.shape[-2]

    def alibi(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        slope = slopes[head] if slopes.ndim else slopes
        return score - slope * (key - query - shift).abs()

    return alibi


def mask_rule(mask: Mask, shape: tuple[int, ...]) -> MaskRule:
    """Write a mask as a rule on indices."""
    match mask:
        case And():
            left, right = mask_rule(mask.left, shape), mask_rule(mask.right, shape)
            return lambda b, h, i, j: left(b, h, i, j) & right(b, h, i, j)
        case Or():
            left, right = mask_rule(mask.left, shape), mask_rule(mask.right, shape)
            return lambda b, h, i, j: left(b, h, i, j) | right(b, h, i, j)
        case Not():
            inverse = mask_rule(mask.inverse, shape)
            return lambda b, h, i, j: ~inverse(b, h, i, j)
        case Causal() if mask.positions is None:
            shift = shape[-1] - shape[-2] if mask.align == "end" else 0
            return lambda b, h, i, j: j <= i + shift
        case Window() if mask.positions is None:
            return _window_rule(mask, shape[-1] - shape[-2] if mask.align == "end" else 0)
        case Padding():
            lengths = mask.lengths
            return (lambda b, h, i, j: j < lengths[b]) if lengths.ndim else (lambda b, h, i, j: j < lengths)
        case Documents():
            return _document_rule(mask)
    return _dense_rule(mask.dense(shape, mask.tensor.device if isinstance(mask, Dense) else None), shape)


def _window_rule(mask: Window, shift: int) -> MaskRule:
    left = shape_limit(mask.left)
    right = shape_limit(mask.right)
    return lambda b, h, i, j: (j >= i + shift - left) & (j <= i + shift + right)


def shape_limit(side: int | None) -> int:
    """Give a side of a window as a number, larger than any length where it has no limit."""
    return 1 << 30 if side is None else side


def _document_rule(mask: Documents) -> MaskRule:
    query_ids, key_ids = mask.ids, mask.ids if mask.key_ids is None else mask.key_ids
    if query_ids.ndim == 1:
        query_ids = query_ids.unsqueeze(0)
    if key_ids.ndim == 1:
        key_ids = key_ids.unsqueeze(0)
    one_query, one_key = query_ids.size(0) == 1, key_ids.size(0) == 1

    def rule(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        key = key_ids[0 if one_key else b, j]
        return (query_ids[0 if one_query else b, i] == key) & (key >= 0)

    return rule


def _dense_rule(dense: Tensor, shape: tuple[int, ...]) -> MaskRule:
    full = dense.expand(shape)
    full = full[(None,) * (4 - full.ndim)] if full.ndim < 3 else full.unsqueeze(1) if full.ndim == 3 else full
    return lambda b, h, i, j: full[b, h, i, j]
