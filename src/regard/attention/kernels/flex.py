"""Torch's FlexAttention, for masks with many empty blocks: windows and packed documents."""

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from regard.attention.bias import Alibi
from regard.attention.inputs import Inputs
from regard.attention.kernels import sdpa
from regard.attention.kernels.flex_rules import mask_rule, varying_axes
from regard.attention.kernels.reference import Active, Operands, operands, ungroup
from regard.attention.kernels.twice import differentiable_twice_apart
from regard.attention.mask import Mask
from regard.attention.normalize import Sink
from regard.attention.score import Score, ScoreFunction
from regard.attention.score_function import ChangedScore, ScoreMod, Softcap
from regard.attention.tensors import name_of

#: Below this many pairs a dense mask costs less than finding the empty blocks (benchmarks/attention-h200.md).
WORTHWHILE_PAIRS = 1 << 24
#: The same where a function or ALiBi changes the scores: what else would be held are T · S numbers several times.
WORTHWHILE_CHANGED_PAIRS = 1 << 20
#: FlexAttention takes no narrower vectors.
LEAST_WIDTH = 16


def refusal(inputs: Inputs) -> str | None:
    """Describe why this call cannot run here, or None if it can."""
    reason = sdpa.refusal(replace(inputs, score=unchanged(inputs.score)))
    if reason:
        return reason
    if type(inputs.normalize) is Sink:
        return "FlexAttention normalizes by Softmax only, not Sink"
    if inputs.dropout:
        return "FlexAttention has no dropout"
    if inputs.bias is not None:
        return "a bias tensor is read whole, which FlexAttention exists to avoid"
    position = inputs.position
    # A subclass of Alibi may add another bias.
    alibi = position if isinstance(position, Alibi) and type(position) is Alibi else None
    plain_alibi = alibi is not None and alibi.query_positions is None and alibi.key_positions is None
    if position is not None and position.adds_bias and not plain_alibi:
        return f"{name_of(position)} is a dense bias, which FlexAttention exists to avoid"
    if alibi is not None and alibi.slopes.requires_grad and torch.is_grad_enabled():
        return "the slopes of Alibi want a gradient, which FlexAttention would not give them here"
    if position is not None and position.narrows:
        return f"{name_of(position)} narrows the mask by numbers, not by a rule on indices"
    if inputs.dtype == torch.float64:
        return "FlexAttention has no kernel for float64"
    if len(inputs.shape) > 4 or 0 in inputs.shape:
        return f"it takes at most batch and heads before the two lengths, none of them empty, not {inputs.shape}"
    if torch.compiler.is_compiling():
        return "it finds the mask's blocks outside the compiled region; call flex_attention itself there"
    if inputs.query.device.type != "cuda":
        return "outside CUDA FlexAttention cannot train and torch cannot compile every mask"
    return None


def pays(inputs: Inputs) -> bool:
    """Return whether the blocks are worth finding, or the scores that a function changes worth not holding."""
    changed = isinstance(inputs.score, ChangedScore) or isinstance(inputs.position, Alibi)
    least = WORTHWHILE_CHANGED_PAIRS if changed else WORTHWHILE_PAIRS
    return inputs.shape[-1] * inputs.shape[-2] >= least


def unchanged(score: Score | ScoreFunction) -> Score | ScoreFunction:
    """Give the score below all changes that `score_mod` can make."""
    while isinstance(score, (ScoreMod, Softcap)) and type(score) in (ScoreMod, Softcap):
        score = score.score
    return score


def _many_kernels() -> AbstractContextManager[None]:
    """Allow as many kernels as there are kinds of mask; torch stops at eight."""
    limit: AbstractContextManager[None] = torch._dynamo.config.patch(recompile_limit=256)
    return limit


@functools.cache
def _compiled() -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Active]]:
    """Compile FlexAttention, its block finder and ours for keys no one sees; imported late, for their cost.

    They are compiled inside functions of ours: torch counts compilations by function, and past its limit stops
    compiling one for everybody, silently.
    """
    from torch.nn.attention import flex_attention as torch_flex

    flex_attention: Callable[..., Any] = torch_flex.flex_attention
    create_block_mask: Callable[..., Any] = torch_flex.create_block_mask

    def run(*tensors: Tensor, **options: Any) -> Any:
        return flex_attention(*tensors, **options)

    def find_blocks(*sizes: Any, device: torch.device) -> Any:
        return create_block_mask(*sizes, device=device)

    return (
        torch.compile(run, fullgraph=True),
        torch.compile(find_blocks, fullgraph=True),
        torch.compile(_active, fullgraph=True),
    )


def _active(mask: Mask, shape: tuple[int, ...], device: torch.device) -> Active:
    """Return which queries and keys take part; compiled, the dense mask is never made."""
    dense = mask.dense(shape, device)
    dense = dense[(None,) * (len(shape) - dense.ndim)]
    return dense.any(-1), dense.any(-2)


def attend(inputs: Inputs, ready: Operands | None = None) -> Tensor:
    """Rewrite the call for FlexAttention and run it; `ready` spares preparing the operands again."""
    score = unchanged(inputs.score)
    assert isinstance(score, Score)
    run, find_blocks, find_active = _compiled()
    active = blocks = None
    if inputs.mask is not None:
        batch, heads = varying_axes(inputs.mask, inputs.shape)
        rule = mask_rule(inputs.mask, inputs.shape, inputs.query.device)
        with _many_kernels():
            if ready is None or ready.mask is None:
                active = find_active(inputs.mask, inputs.shape, inputs.query.device)
            else:
                active = ready.mask.any(-1), ready.mask.any(-2)
            blocks = find_blocks(rule, batch, heads, *inputs.shape[-2:], device=inputs.query.device)
    prepared = operands(inputs, mask=None, active=active) if ready is None else ready
    query, key, value = prepared[:3]
    grouped = inputs.grouped and score.linear and key.size(-3) == value.size(-3)
    if inputs.grouped and not grouped:
        key, value = ungroup(key, query.size(-3)), ungroup(value, query.size(-3))
    inner = score.inner(query, key, None if active is None or grouped else sdpa.attended(active[1], key))
    assert inner is not None
    if inner.bias is not None:
        return sdpa.attend(inputs, ready)
    parts = (inner.query.to(inputs.dtype), inner.key.to(inputs.dtype), value.to(inputs.dtype))
    query, key, value, _ = sdpa.as_four_axes(*parts, None, inputs.shape, grouped)
    value_width = value.size(-1)
    query, key, value = (sdpa.widen(tensor, LEAST_WIDTH) for tensor in (query, key, value))
    options = {"score_mod": _score_rule(inputs), "block_mask": blocks, "scale": inner.scale, "enable_gqa": grouped}

    # What follows must not hold the tensors: autograd decides how long they live.
    scale, mask, position, shape, score = inner.scale, inputs.mask, inputs.position, inputs.shape, inputs.score

    def plain(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        allowed = None if mask is None else mask.dense(shape, query.device)
        bias = None if position is None else position.bias(None, query, key, shape)
        if bias is not None and allowed is not None:
            bias, allowed = torch.where(allowed, bias, -torch.inf), None
        folded = _four_axes(bias if allowed is None else allowed, len(shape))
        change = score.change if isinstance(score, Softcap) else None
        return sdpa.plain(sdpa.Fused(query, key, value, folded, False, scale, grouped), change)

    def fused(*tensors: Tensor) -> Tensor:
        with _many_kernels():
            return run(*tensors, **options)  # type: ignore[no-any-return]

    if _holds_a_function(score):  # which may hold tensors that are learned: torch must see them
        context = fused(query, key, value)
    else:
        context = differentiable_twice_apart(fused, plain, query, key, value)
    return context[..., :value_width].reshape(*inputs.shape[:-1], value_width)


def _four_axes(bias: Tensor | None, axes: int) -> Tensor | None:
    """Give what broadcasts to the scores, of `axes` axes, the kernel's four: (batch, heads, query, key)."""
    if bias is None or bias.ndim < 3:
        return bias
    return bias.unsqueeze(1) if axes == 3 else bias


def _holds_a_function(score: Score | ScoreFunction) -> bool:
    while isinstance(score, ChangedScore):
        if isinstance(score, ScoreMod):
            return True
        score = score.score
    return False


def _score_rule(inputs: Inputs) -> Callable[..., Tensor] | None:
    """Write what changes the scores, and ALiBi after it, as FlexAttention's `score_mod`."""
    rules: list[Callable[..., Tensor]] = []
    score = inputs.score
    while isinstance(score, ChangedScore):
        rules.insert(0, score.modify)
        score = score.score
    if isinstance(inputs.position, Alibi):
        rules.append(_alibi_rule(inputs.position, inputs))
    if not rules:
        return None

    def rule(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        for change in rules:
            score = change(score, batch, head, query, key)
        return score

    return rule


def _alibi_rule(position: Alibi, inputs: Inputs) -> Callable[..., Tensor]:
    slopes, shift = position.slopes.to(inputs.query.device), inputs.shape[-1] - inputs.shape[-2]
    three_axes = len(inputs.shape) == 3  # the third axis from the end is then the first, and the kernel's batch

    def alibi(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        slope = slopes[batch if three_axes else head] if slopes.ndim else slopes
        return score - slope * (key - query - shift).abs()

    return alibi
