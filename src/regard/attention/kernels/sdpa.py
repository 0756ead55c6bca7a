"""Torch's fused kernel, for every score that is an inner product in disguise, with Softmax."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.attention.inputs import Inputs
from regard.attention.kernels.reference import operands, ungroup
from regard.attention.kernels.twice import differentiable_twice
from regard.attention.mask import Causal
from regard.attention.normalize import Softmax, normalize
from regard.attention.position import name_of
from regard.attention.score import Gaussian, Score
from regard.attention.tensors import widened


def refusal(inputs: Inputs) -> str | None:
    """Say why this call cannot run here, or None if it can."""
    if not isinstance(inputs.normalize, Softmax):
        return f"the fused kernel normalizes by Softmax only, not {name_of(inputs.normalize)}"
    if not isinstance(inputs.score, Score):
        return f"the score is a function ({name_of(inputs.score)}), whose inner-product form is unknown"
    if not inputs.score.has_inner:
        return f"{name_of(inputs.score)} is not an inner product"
    if isinstance(inputs.score, Gaussian) and inputs.dtype == torch.float16:
        return "the squared norms of Gaussian may overflow float16"
    if inputs.generator is not None and inputs.dropout:
        return "the fused kernel takes no generator for its dropout"
    if inputs.position is not None and inputs.position.needs_weights:
        return f"{name_of(inputs.position)} works on the weights, which the fused kernel does not give"
    return None


class Fused(NamedTuple):
    """The arguments of torch's kernel, four axes each."""

    query: Tensor
    key: Tensor
    value: Tensor
    bias: Tensor | None
    causal: bool
    scale: float
    grouped: bool


def attend(inputs: Inputs) -> Tensor:
    """Rewrite the call for torch's kernel and run it."""
    assert isinstance(inputs.score, Score)
    causal, mask = lower_mask(inputs)
    query, key, value, mask = operands(inputs, mask=mask)
    grouped = inputs.grouped and inputs.score.linear and key.size(-3) == value.size(-3)
    if inputs.grouped and not grouped:
        key, value = ungroup(key, query.size(-3)), ungroup(value, query.size(-3))
    center = None if mask is None or grouped or not isinstance(inputs.score, Gaussian) else attended(mask.any(-2), key)
    inner = inputs.score.inner(query, key, center)
    assert inner is not None
    if causal and inner.bias is not None:
        causal, mask = False, inputs.dense_mask()
    bias = lower_bias(inputs, query, key, inner.bias, mask)
    dtype = inputs.dtype
    query, key, value = inner.query.to(dtype), inner.key.to(dtype), value.to(dtype)
    query, key, value, bias = as_four_axes(query, key, value, bias, inputs.shape, grouped)
    width, value_width = query.size(-1), value.size(-1)
    if width != value_width:  # the fused kernels want one width
        query, key, value = (widen(tensor, max(width, value_width)) for tensor in (query, key, value))
    context = run(Fused(query, key, value, bias, causal, inner.scale, grouped), inputs.dropout)
    if width > value_width:
        context = context[..., :value_width]
    return context if len(inputs.shape) == 4 else context.reshape(*inputs.shape[:-1], value_width)


def attended(flags: Tensor, key: Tensor) -> Tensor:
    """Lay flags that say which keys any query may attend to along the keys, to center them."""
    return flags[(None,) * (key.ndim - 1 - flags.ndim)].expand(*torch.broadcast_shapes(flags.shape, key.shape[:-1]))


def widen(tensor: Tensor, width: int) -> Tensor:
    """Add features of zero up to `width`."""
    return F.pad(tensor, (0, width - tensor.size(-1))) if tensor.size(-1) < width else tensor


def lower_mask(inputs: Inputs) -> tuple[bool, Tensor | None]:
    """Give (causal, mask): the kernel's own causal path where it applies, else a dense mask."""
    query_length, key_length = inputs.shape[-2:]
    biased = inputs.bias is not None or (inputs.position is not None and inputs.position.adds_bias)
    if isinstance(inputs.mask, Causal) and inputs.mask.positions is None and not biased:
        if query_length == key_length:
            return True, None
        if query_length == 1 and key_length > 0 and inputs.mask.align == "end":
            return False, None
    return False, inputs.dense_mask()


def lower_bias(inputs: Inputs, query: Tensor, key: Tensor, extra: Tensor | None, mask: Tensor | None) -> Tensor | None:
    """Add up bias, position and mask, as the one tensor the kernel takes: boolean if there is a mask alone."""
    if inputs.grouped:
        key = ungroup(key, query.size(-3)) if key.size(-3) != query.size(-3) else key
    position = None if inputs.position is None else inputs.position.bias(inputs.score, query, key, inputs.shape)
    parts = [part for part in (inputs.bias, position, extra) if part is not None]
    if not parts:
        return mask
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    total = total.to(inputs.dtype)
    return total if mask is None else torch.where(mask, total, -torch.inf)


def as_four_axes(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, shape: tuple[int, ...], grouped: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Shape everything as (batch, heads, length, width): with fewer or more axes torch leaves its fused path."""
    lead = shape[:-2]
    key_lead = (*lead[:-1], key.size(-3)) if grouped else lead

    def fold(tensor: Tensor, axes: tuple[int, ...]) -> Tensor:
        if tensor.shape[:-2] != axes:
            tensor = tensor.expand(*axes, *tensor.shape[-2:])
        if len(axes) > 2:
            return tensor.flatten(0, -4)
        return tensor if len(axes) == 2 else tensor.unsqueeze(-3) if axes else tensor[None, None]

    if bias is not None and bias.ndim > 2:
        if len(lead) > 2:
            bias = bias.expand(*lead, *bias.shape[-2:]).flatten(0, -4)
        elif len(lead) == 1:
            bias = bias.unsqueeze(1)
    return fold(query, lead), fold(key, key_lead), fold(value, key_lead), bias


def run(fused: Fused, dropout: float) -> Tensor:
    """Call torch's kernel; without dropout, in a way that can be differentiated twice."""
    if dropout:
        return _kernel(fused, dropout)
    tensors, settings = (
        fused[:4],
        fused[4:],
    )  # what follows must not hold the tensors: autograd decides how long they live

    def filled(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None) -> Fused:
        return Fused(query, key, value, bias, *settings)

    return differentiable_twice(lambda *given: _kernel(filled(*given)), lambda *given: plain(filled(*given)), *tensors)


def _kernel(fused: Fused, dropout: float = 0.0) -> Tensor:
    return F.scaled_dot_product_attention(
        fused.query,
        fused.key,
        fused.value,
        attn_mask=fused.bias,
        dropout_p=dropout,
        is_causal=fused.causal,
        scale=fused.scale,
        enable_gqa=fused.grouped,
    )


def plain(fused: Fused) -> Tensor:
    """Compute what the kernel computes by operations that can be differentiated any number of times."""
    query, key, value = widened(fused.query), widened(fused.key), widened(fused.value)
    if fused.grouped:
        key, value = ungroup(key, query.size(-3)), ungroup(value, query.size(-3))
    scores = query * fused.scale @ key.mT
    mask = None
    if fused.causal:
        mask = Causal().dense(scores.shape, scores.device)
    elif fused.bias is not None and fused.bias.dtype == torch.bool:
        mask = fused.bias
    elif fused.bias is not None:
        scores, mask = scores + fused.bias, fused.bias != -torch.inf
    return (normalize(scores, mask, Softmax()) @ value).to(fused.value.dtype)
