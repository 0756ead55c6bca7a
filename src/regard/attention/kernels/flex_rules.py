"""Masks as rules on indices, the form FlexAttention takes: (batch, head, query, key) → may attend."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from regard.attention.mask import And, Causal, Dense, Documents, Harmless, Mask, Not, Or, Padding, Window

MaskRule = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


#: Masks whose rule is known. A subclass may write another `dense`, so it is read off that.
KNOWN = frozenset({And, Causal, Dense, Documents, Harmless, Not, Or, Padding, Window})


def varying_axes(mask: Mask, shape: Sequence[int]) -> tuple[int | None, int | None]:
    """Give the number of batch elements and of heads the mask tells apart; None where it treats all alike."""
    if type(mask) not in KNOWN:
        return (shape[0] if len(shape) > 2 else None), (shape[1] if len(shape) > 3 else None)
    match mask:
        case And() | Or():
            left, right = varying_axes(mask.left, shape), varying_axes(mask.right, shape)
            return left[0] or right[0], left[1] or right[1]
        case Not():
            return varying_axes(mask.inverse, shape)
        case Dense():
            lead = mask.tensor.shape[:-2]
            batch = lead[0] if lead and lead[0] > 1 else None
            return batch, lead[1] if len(lead) > 1 and lead[1] > 1 else None
        case Padding():
            per_batch = mask.lengths.ndim > 0
        case Documents():
            per_batch = mask.ids.ndim > 1 or (mask.key_ids is not None and mask.key_ids.ndim > 1)
        case Causal() | Window():
            per_batch = mask.positions is not None and mask.positions.ndim > 1
        case _:
            per_batch = True
    return (shape[0] if per_batch and len(shape) > 2 else None), None


def mask_rule(mask: Mask, shape: Sequence[int], device: torch.device) -> MaskRule:
    """Write a mask as a rule on indices."""
    if type(mask) not in KNOWN:
        return _dense_rule(mask.dense(shape, device), shape)
    match mask:
        case And():
            left, right = mask_rule(mask.left, shape, device), mask_rule(mask.right, shape, device)
            return lambda b, h, i, j: left(b, h, i, j) & right(b, h, i, j)
        case Or():
            left, right = mask_rule(mask.left, shape, device), mask_rule(mask.right, shape, device)
            return lambda b, h, i, j: left(b, h, i, j) | right(b, h, i, j)
        case Not():
            inverse = mask_rule(mask.inverse, shape, device)
            return lambda b, h, i, j: ~inverse(b, h, i, j)
        case Causal() if mask.positions is None:
            shift = shape[-1] - shape[-2] if mask.align == "end" else 0
            return lambda b, h, i, j: j <= i + shift
        case Window() if mask.positions is None:
            return _window_rule(mask, shape[-1] - shape[-2] if mask.align == "end" else 0)
        case Padding():
            lengths = (mask.lengths.squeeze() if mask.lengths.numel() == 1 else mask.lengths).to(device)
            return (lambda b, h, i, j: j < lengths[b]) if lengths.ndim else (lambda b, h, i, j: j < lengths)
        case Documents():
            return _document_rule(mask, device)
    return _dense_rule(mask.dense(shape, device), shape)


def _window_rule(mask: Window, shift: int) -> MaskRule:
    left, right = _limit(mask.left), _limit(mask.right)
    return lambda b, h, i, j: (j >= i + shift - left) & (j <= i + shift + right)


def _limit(side: int | None) -> int:
    """Give a side of a window as a number, larger than any length where it has no limit."""
    return 1 << 30 if side is None else side


def _document_rule(mask: Documents, device: torch.device) -> MaskRule:
    query_ids, key_ids = mask.ids.to(device), (mask.ids if mask.key_ids is None else mask.key_ids).to(device)
    if query_ids.ndim == 1:
        query_ids = query_ids.unsqueeze(0)
    if key_ids.ndim == 1:
        key_ids = key_ids.unsqueeze(0)
    one_query, one_key = query_ids.size(0) == 1, key_ids.size(0) == 1

    def rule(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        key = key_ids[0 if one_key else b, j]
        return (query_ids[0 if one_query else b, i] == key) & (key >= 0)

    return rule


def _dense_rule(dense: Tensor, shape: Sequence[int]) -> MaskRule:
    full = dense.expand(shape)
    full = full[(None,) * (4 - full.ndim)] if full.ndim < 3 else full.unsqueeze(1) if full.ndim == 3 else full
    return lambda b, h, i, j: full[b, h, i, j]
