"""Torch's fused kernel, for every score that is an inner product in disguise, with Softmax."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.attention.inputs import Inputs
from regard.attention.kernels.reference import operands, ungroup
from regard.attention.mask import Causal
from regard.attention.normalize import Softmax, normalize
from regard.attention.position import name_of
from regard.attention.score import Score


def refusal(inputs: Inputs) -> str | None:
    """Say why this call cannot run here, or None if it can."""
    if not isinstance(inputs.normalize, Softmax):
        return f"the fused kernel normalizes by Softmax only, not {name_of(inputs.normalize)}"
    if not isinstance(inputs.score, Score):
        return f"the score is a function ({name_of(inputs.score)}), whose inner-product form is unknown"
    if not has_inner(inputs.score):
        return f"{name_of(inputs.score)} is not an inner product"
    if inputs.generator is not None and inputs.dropout:
        return "the fused kernel takes no generator for its dropout"
    if inputs.position is not None and inputs.position.needs_weights:
        return f"{name_of(inputs.position)} works on the weights, which the fused kernel does not give"
    return None


def has_inner(score: Score) -> bool:
    """Tell whether the score states an inner-product form."""
    if type(score).inner is Score.inner:
        return False
    return getattr(score, "activation", "identity") == "identity"


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
    grouped = inputs.grouped
    if grouped and not inputs.score.linear:
        key, value, grouped = ungroup(key, query.size(-3)), ungroup(value, query.size(-3)), False
    inner = inputs.score.inner(query, key, None if mask is None else _attended(mask, key))
    assert inner is not None
    if causal and inner.bias is not None:
        causal, mask = False, inputs.dense_mask()
    bias = lower_bias(inputs, query, key, inner.bias, mask)
    query, key, value, bias = as_four_axes(inner.query, inner.key, value, bias, inputs.shape, grouped)
    width, value_width = query.size(-1), value.size(-1)
    if width != value_width:  # the fused kernels want one width
        query, key, value = (_widen(tensor, max(width, value_width)) for tensor in (query, key, value))
    context = run(Fused(query, key, value, bias, causal, inner.scale, grouped), inputs.dropout)
    return context[..., :value_width].reshape(*inputs.shape[:-1], value_width)


def _attended(mask: Tensor, key: Tensor) -> Tensor:
    """Say which keys any query of any head may attend to, to center them."""
    flags = mask.any(-2)
    return flags[(None,) * (key.ndim - 1 - flags.ndim)].expand(*torch.broadcast_shapes(flags.shape, key.shape[:-1]))


def _widen(tensor: Tensor, width: int) -> Tensor:
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
    dtype = query.dtype
    if torch.is_autocast_enabled(query.device.type):
        dtype = torch.get_autocast_dtype(query.device.type)
    total = total.to(dtype)
    return total if mask is None else torch.where(mask, total, -torch.inf)


def as_four_axes(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, shape: tuple[int, ...], grouped: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Shape everything as (batch, heads, length, width): with fewer or more axes torch leaves its fused path."""
    lead = shape[:-2]
    key_lead = (*lead[:-1], key.size(-3)) if grouped else lead

    def fold(tensor: Tensor, axes: tuple[int, ...]) -> Tensor:
        tensor = tensor.expand(*axes, *tensor.shape[-2:])
        if len(axes) > 2:
            return tensor.flatten(0, -4)
        return tensor if len(axes) == 2 else tensor.unsqueeze(-3) if axes else tensor[None, None]

    if bias is not None and bias.ndim > 2:
        if len(lead) > 2:
            bias = bias.expand(*lead, *bias.shape[-2:]).flatten(0, -4)
        elif len(lead) == 1:
            bias = bias.unsqueeze(1)
    if bias is not None:
        bias = bias.expand(*bias.shape[:-2], *shape[-2:])
    return fold(query, lead), fold(key, key_lead), fold(value, key_lead), bias


def run(fused: Fused, dropout: float) -> Tensor:
    """Call torch's kernel; where gradients will flow, in a way that can be differentiated twice."""
    tensors = (fused.query, fused.key, fused.value, fused.bias)
    tracked = torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)
    if tracked and not dropout and not torch.compiler.is_compiling():
        return TwiceDifferentiable.apply(*fused)  # type: ignore[no-any-return, no-untyped-call]
    return _kernel(fused, dropout)


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


class TwiceDifferentiable(torch.autograd.Function):
    """Torch's kernel, whose backward pass recomputes by plain operations when it must itself be differentiated."""

    @staticmethod
    def forward(ctx: Any, *args: Any) -> Tensor:
        """Run the kernel on leaves of its own, so that its own backward pass is at hand."""
        needed = ctx.needs_input_grad[:4]
        with torch.enable_grad():
            leaves: list[Any] = [
                tensor if tensor is None else tensor.detach().requires_grad_(need)
                for tensor, need in zip(args[:4], needed, strict=True)
            ]
            context = _kernel(Fused(*leaves, *args[4:]))
        ctx.leaves, ctx.context, ctx.settings = leaves, context, args[4:]
        ctx.save_for_backward(*args[:4])
        return context.detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        """Use the kernel's backward pass, or plain operations where a second derivative is wanted."""
        twice = torch.is_grad_enabled()
        tensors = ctx.saved_tensors if twice else ctx.leaves
        context = _eager(Fused(*tensors, *ctx.settings)) if twice else ctx.context
        needed = [index for index in range(4) if ctx.needs_input_grad[index]]
        found = torch.autograd.grad(
            context, [tensors[index] for index in needed], gradients[0], retain_graph=True, create_graph=twice
        )
        result: list[Tensor | None] = [None] * 7
        for index, gradient in zip(needed, found, strict=True):
            result[index] = gradient
        return tuple(result)


def _eager(fused: Fused) -> Tensor:
    """Compute what the kernel computes by operations that can be differentiated any number of times."""
    query, key, value = fused.query, fused.key, fused.value
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
    return normalize(scores, mask, Softmax()) @ value
