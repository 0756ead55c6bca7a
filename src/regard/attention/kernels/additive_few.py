"""How the kernels of `additive_few_triton` are launched: additive attention for a few queries."""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.kernels.additive_call import (
    Arrived,
    Call,
    Gradients,
    Outputs,
    add_to_vector,
    either,
    power_of_two,
    without_weights,
)

#: Queries, and pairs times hidden units, up to which these kernels serve: then launching takes the time.
FEW, SMALL = 8, 1 << 22
#: Keys, hidden units and features that a program takes at once, and its warps of threads.
KEYS, UNITS, WIDTH, WARPS = 32, 64, 512, 4


def serves(call: Call) -> bool:
    """Return whether a problem is so small that the fewest launches are the quickest."""
    return call.query.size(1) <= FEW or call.query.numel() * call.key.size(1) <= SMALL


def forward(call: Call, *, weighted: bool = False) -> Outputs:
    """Give context, log normalizer and, if asked for, the weights before dropout, else an empty tensor."""
    from regard.attention.kernels.additive_few_triton import few_forward_kernel

    (elements, queries, _), width = call.query.shape, call.value.size(2)
    context = call.value.new_empty(elements, queries, width)
    normalizer = torch.empty(elements, queries, dtype=torch.float32, device=context.device)
    few_forward_kernel[-(-width // WIDTH), queries, elements](
        *_operands(call, normalizer), call.value, context, normalizer, *_numbers(call), **call.flags,
        BLOCK_KEY=KEYS, BLOCK_SIZE=2 * UNITS, BLOCK_WIDTH=min(WIDTH, power_of_two(width)), num_warps=2 * WARPS,
    )  # fmt: skip
    return Outputs(context, normalizer, weigh(call, normalizer) if weighted else normalizer.new_empty(0))


def weigh(call: Call, normalizer: Float[Tensor, "element query"]) -> Float[Tensor, "element query key"]:
    """Give the weights, before dropout, in float32."""
    result = normalizer.new_empty(*normalizer.shape, call.key.size(1))
    _weigh(call, (normalizer, normalizer), Arrived(normalizer), (result, result), slopes=False)
    return result


def _weigh(
    call: Call,
    outputs: tuple[Tensor, Tensor],
    arrived: Arrived,
    results: tuple[Tensor, Tensor],
    *,
    slopes: bool = True,
) -> None:
    """Write the weights, and the gradients of the scores."""
    from regard.attention.kernels.additive_few_triton import few_weights_kernel

    elements, queries, keys = results[0].shape
    few_weights_kernel[-(-keys // KEYS), queries, elements](
        *_operands(call, outputs[1]), call.value, *outputs, arrived.context, either(arrived.weights, outputs[1]),
        either(arrived.rows, outputs[1]), *results, *_numbers(call), **call.flags,
        SLOPES=slopes, BY_WEIGHT=arrived.weights is not None, BY_ROW=arrived.rows is not None, ONE=keys <= KEYS,
        BLOCK_KEY=KEYS, BLOCK_SIZE=2 * UNITS, BLOCK_WIDTH=min(WIDTH, power_of_two(call.value.size(2))),
        num_warps=2 * WARPS,
    )  # fmt: skip


def backward(call: Call, outputs: Outputs, arrived: Arrived) -> Gradients:
    """Give the gradients of query, key, vector and value, from context and log normalizer and what arrived at them."""
    from regard.attention.kernels.additive_few_triton import few_gradients_kernel, few_vector_kernel

    (elements, queries, size), keys = call.query.shape, call.key.size(1)
    width, heads, per_length, low, high = call.numbers[:5]
    by_normalizer = arrived.rows
    if arrived.weights is not None:
        arrived = without_weights(arrived, weigh(call, outputs.normalizer))
    weights, slopes = (outputs.normalizer.new_empty(elements, queries, keys) for _ in ("weights", "slopes"))
    _weigh(call, outputs[:2], arrived, (weights, slopes))
    query, key, vector, value = (torch.empty_like(tensor) for tensor in call[:4])
    by_vector = outputs.normalizer.new_empty(elements, size)
    unit_blocks, key_blocks = -(-size // UNITS), -(-keys // KEYS)
    blocks = unit_blocks + (unit_blocks - (-call.value.size(2) // UNITS)) * key_blocks
    few_gradients_kernel[blocks, elements](
        *_operands(call, by_vector)[:4], weights, slopes, arrived.context, query, key, value, by_vector,
        queries, keys, size, width, heads, per_length, low, high, unit_blocks, key_blocks,
        HAS_LENGTHS=call.masking.lengths is not None, FAST=value.is_cuda,
        BLOCK_KEY=KEYS, BLOCK_SIZE=UNITS, num_warps=WARPS,
    )  # fmt: skip
    few_vector_kernel[-(-size // 32), vector.size(0)](
        by_vector, vector, elements, size, heads, BLOCK_ELEMENT=32, BLOCK_SIZE=32, num_warps=WARPS
    )
    add_to_vector(vector, outputs.normalizer, by_normalizer)
    return Gradients(query, key, vector, value)


def _operands(call: Call, other: Tensor) -> tuple[Tensor, ...]:
    return call.query, call.key, call.vector, *call.optional(other)


def _numbers(call: Call) -> tuple[int | float, ...]:
    return call.query.size(1), call.key.size(1), call.query.size(2), *call.numbers
