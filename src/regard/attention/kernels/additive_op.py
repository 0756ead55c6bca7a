"""The fused additive kernel as operations of torch, with their gradients: for autograd, torch.compile and export.

Eager calls go to the kernel through a plain autograd function: on the way through `torch.library`, which a graph needs,
Python takes longer than the kernel on small problems.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.kernels import additive_few, additive_launch
from regard.attention.kernels.additive_call import Arrived, Call, Gradients, Masking, Outputs
from regard.attention.kernels.blank import blank
from regard.attention.kernels.transforms import mapped, traced
from regard.attention.kernels.twice import partial_gradients
from regard.attention.normalize import softmax_and_log
from regard.attention.score import Additive


def _call(tensors: Sequence[Tensor | None], low: int, high: int, dropout: float) -> Call:
    query, key, vector, value, mask, lengths, seed = tensors
    assert query is not None
    assert key is not None
    assert vector is not None
    assert value is not None
    return Call(query, key, vector, value, Masking(mask, lengths, low, high), seed, dropout)


def _forward(call: Call, *, weighted: bool) -> Outputs:
    if additive_few.serves(call):
        return additive_few.forward(call, weighted=weighted)
    return additive_launch.forward(call, weighted=weighted)


def _backward(call: Call, outputs: Outputs, arrived: Arrived) -> Gradients:
    if additive_few.serves(call):
        return additive_few.backward(call, outputs, arrived)
    return additive_launch.backward(call, outputs, arrived)


def _attend_now(
    query: Tensor,
    key: Tensor,
    vector: Tensor,
    value: Tensor,
    mask: Tensor | None,
    lengths: Tensor | None,
    seed: Tensor | None,
    low: int,
    high: int,
    dropout: float,
    weighted: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Give context, log normalizer and, if asked for, weights: see `additive_launch`."""
    call = _call((query, key, vector, value, mask, lengths, seed), low, high, dropout)
    context, normalizer, weights = _forward(call, weighted=weighted)
    return context, normalizer, weights


additive_attention = torch.library.custom_op("regard::additive_attention", _attend_now, mutates_args=())


@additive_attention.register_fake
def _(
    query: Tensor,
    key: Tensor,
    vector: Tensor,
    value: Tensor,
    mask: Tensor | None,
    lengths: Tensor | None,
    seed: Tensor | None,
    low: int,
    high: int,
    dropout: float,
    weighted: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    rows = query.shape[:2]
    weights = query.new_empty((*rows, key.size(1)) if weighted else (0,), dtype=torch.float32)
    return value.new_empty(*rows, value.size(2)), query.new_empty(rows, dtype=torch.float32), weights


def _differentiate_now(
    by_context: Tensor,
    by_normalizer: Tensor | None,
    by_weights: Tensor | None,
    context: Tensor,
    normalizer: Tensor,
    query: Tensor,
    key: Tensor,
    vector: Tensor,
    value: Tensor,
    mask: Tensor | None,
    lengths: Tensor | None,
    seed: Tensor | None,
    low: int,
    high: int,
    dropout: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Give the gradients of query, key, vector and value."""
    call = _call((query, key, vector, value, mask, lengths, seed), low, high, dropout)
    others = (part if part is None else part.contiguous() for part in (by_weights, by_normalizer))
    outputs = Outputs(context, normalizer, normalizer)
    by_query, by_key, by_vector, by_value = _backward(call, outputs, Arrived(by_context.contiguous(), *others))
    return by_query, by_key, by_vector, by_value


additive_attention_backward = torch.library.custom_op(
    "regard::additive_attention_backward", _differentiate_now, mutates_args=()
)


@additive_attention_backward.register_fake
def _(
    by_context: Tensor,
    by_normalizer: Tensor | None,
    by_weights: Tensor | None,
    context: Tensor,
    normalizer: Tensor,
    query: Tensor,
    key: Tensor,
    vector: Tensor,
    value: Tensor,
    *_others: object,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return torch.empty_like(query), torch.empty_like(key), torch.empty_like(vector), torch.empty_like(value)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.save_for_backward(*inputs[:7], *output[:2])
    ctx.numbers = inputs[7:]
    ctx.set_materialize_grads(False)


def _differentiate(
    ctx: Any, by_context: Tensor | None, by_normalizer: Tensor | None, by_weights: Tensor | None
) -> tuple[Tensor | None, ...]:
    *tensors, context, normalizer = ctx.saved_tensors
    low, high, dropout, weighted = ctx.numbers
    arrived = by_context, by_normalizer, by_weights if weighted else None
    tracing = traced()
    if (torch.is_grad_enabled() and not tracing) or any(part is not None and mapped(part) for part in arrived):
        return *_by_plain_operations(ctx, tensors, arrived), *[None] * 7
    if by_context is None:
        by_context = torch.zeros_like(context)
    operation: Any = additive_attention_backward if tracing else _differentiate_now
    return *operation(by_context, *arrived[1:], context, normalizer, *tensors, low, high, dropout), *[None] * 7


def _by_plain_operations(
    ctx: Any, tensors: Sequence[Tensor | None], arrived: tuple[Tensor | None, ...]
) -> list[Tensor | None]:
    """Differentiate what the kernel computes by operations that can be differentiated again."""
    call = _call(tensors, *ctx.numbers[:3])
    factors = dropped(call) if call.dropout else None
    there = [index for index, part in enumerate(arrived) if part is not None]

    def plain(query: Tensor, key: Tensor, vector: Tensor, value: Tensor) -> Any:
        results = written_out(call._replace(query=query, key=key, vector=vector, value=value), factors)
        return tuple(results[index] for index in there)

    gradients: Any = tuple(arrived[index] for index in there)
    return partial_gradients(plain, call[:4], ctx.needs_input_grad[:4], gradients)


def dropped(call: Call) -> Float[Tensor, "element query key"]:
    """Give what dropout multiplies each weight by: 0 or 1 / (1 − dropout)."""
    from regard.attention.kernels.additive_triton import dropout_kernel

    (elements, queries), keys, seed = call.query.shape[:2], call.key.size(1), call.seed
    factors = torch.empty(elements, queries, keys, dtype=torch.float32, device=call.query.device)
    dropout_kernel[-(-queries // 32), -(-keys // 32), elements](
        seed, factors, queries, keys, float(call.dropout), BLOCK_QUERY=32, BLOCK_KEY=32
    )
    return factors


def written_out(call: Call, factors: Float[Tensor, "element query key"] | None = None) -> Outputs:
    """Compute context, log normalizer and weights by plain operations; `factors` are those of dropout."""
    query, key, value = call.query.float(), call.key.float(), call.value.float()
    mask = call.masking.dense(query.size(0), query.size(1), key.size(1), query.device)
    if mask is not None:  # what no one may attend to may hold NaN
        query, attended = blank(query, mask.any(-1)), mask.any(-2)
        key, value = blank(key, attended), blank(value, attended)
    heads = (-1, call.vector.size(0))
    scores = Additive(call.vector.float()).dense(query.unflatten(0, heads), key.unflatten(0, heads)).flatten(0, 1)
    weights, normalizer = softmax_and_log(scores, mask)
    mixed = weights if factors is None else weights * factors
    return Outputs((mixed @ value).to(call.value.dtype), normalizer, weights)


additive_attention.register_autograd(_differentiate, setup_context=_keep)


class _Eager(torch.autograd.Function):
    """The same operation without the way through `torch.library`."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, ...]:
        output = _forward(_call(inputs[:7], *inputs[7:10]), weighted=inputs[10])
        _keep(ctx, inputs, output)
        return tuple(output)

    backward = staticmethod(_differentiate)


def attend(call: Call, *, weighted: bool) -> Outputs:
    """Give context, log normalizer and, if asked for, weights, with their gradients."""
    masking, tracing = call.masking, traced()
    if not tracing and not (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in call[:4])):
        return _forward(call, weighted=weighted)
    numbers = masking.low, masking.high, float(call.dropout), weighted
    inputs = *call[:4], masking.mask, masking.lengths, call.seed, *numbers
    results = additive_attention(*inputs) if tracing else _Eager.apply(*inputs)  # type: ignore[no-untyped-call]
    return Outputs(*results)
