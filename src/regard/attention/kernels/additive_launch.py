"""How the kernels of `additive_triton` are launched: what is allocated, in which tiles, and in how many portions."""

from typing import Any, NamedTuple

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

#: Bytes that weights and gradients of scores may take at once in the backward pass.
SCRATCH = 12 << 20
#: Rows that share a limit; see `additive_triton.BLOCK`.
BLOCK = 64
#: Hidden units, queries and keys that one warp of the backward pass takes at once.
UNITS, ROWS, LANES = 4, 8, 32
#: Programs of one warp that fill a device.
ENOUGH = 2048


class Tile(NamedTuple):
    """How many queries and keys a program takes at once, its warps of threads, and how their registers are used."""

    queries: int
    keys: int
    warps: int
    ahead: bool = False
    """Whether the next hidden units are read before these are used."""
    registers: int | None = None
    """The most that a thread takes, for more of them to run at once."""

    @property
    def options(self) -> dict[str, Any]:
        """Give them as a kernel takes them."""
        sizes = {"BLOCK_QUERY": self.queries, "BLOCK_KEY": self.keys, "AHEAD": self.ahead}
        return sizes | {"num_warps": self.warps, "maxnreg": self.registers, "num_stages": 1}


#: The quickest of those tried on an H200; see benchmarks/additive-h200.md.
TILES = {
    "forward": Tile(32, 64, 8, registers=128),
    "wide": Tile(32, 64, 8, registers=128),
    "weights": Tile(64, 64, 8, registers=128),
}
#: Registers of a thread in the backward pass.
REGISTERS = 128


class Prepared(NamedTuple):
    """What the kernels read beside the operands: exponentials, hidden units in front, vectors, and limits."""

    query: Float[Tensor, "element padded a_stride"]
    key: Float[Tensor, "element padded b_stride"]
    vectors: Float[Tensor, "heads padded_and_four"]
    limits: Float[Tensor, "element blocks"]


def prepare(call: Call) -> Prepared:
    """Take exp(2q) and exp(2k) in float32."""
    from regard.attention.kernels.additive_triton import prepare_kernel

    queries, keys, size, padded = _sizes(call)
    elements, heads = call.query.size(0), call.vector.size(0)
    blocks = -(-queries // BLOCK) - (-keys // BLOCK)
    a = _floats(call, elements, padded, -(-queries // 16) * 16)
    b = _floats(call, elements, padded, -(-keys // BLOCK) * BLOCK)
    vectors, limits = _floats(call, heads, padded + 4), _floats(call, elements, blocks)
    masking = call.masking
    prepare_kernel[blocks, elements](
        call.query, call.key, call.vector, a, b, limits, vectors, either(masking.lengths, limits),
        queries, keys, size, padded, heads, a.size(2), b.size(2), masking.low, masking.high, call.per_length,
        HAS_LENGTHS=masking.lengths is not None, BLOCK_SIZE=64,
    )  # fmt: skip
    return Prepared(a, b, vectors, limits)


def forward(call: Call, *, weighted: bool = False) -> Outputs:
    """Give context, log normalizer and, if asked for, the weights before dropout, else an empty tensor."""
    from regard.attention.kernels.additive_forward_triton import forward_kernel

    ready, width = prepare(call), call.value.size(2)
    elements, queries = call.query.shape[:2]
    context = call.value.new_empty(elements, queries, width)
    normalizer = ready.limits.new_empty(elements, queries)
    tile = TILES["wide" if width > 256 else "forward"]
    forward_kernel[-(-queries // tile.queries), elements](
        *_operands(call, ready), call.value, context, normalizer, *_numbers(call, ready), **call.flags,
        BLOCK_WIDTH=power_of_two(width), **tile.options,
    )  # fmt: skip
    return Outputs(context, normalizer, weigh(call, ready, normalizer) if weighted else normalizer.new_empty(0))


def weigh(
    call: Call, ready: Prepared, normalizer: Float[Tensor, "element query"]
) -> Float[Tensor, "element query key"]:
    """Give the weights, before dropout, in float32."""
    shape = (*call.query.shape[:2], call.key.size(1))
    result, nothing = normalizer.new_empty(shape), Arrived(normalizer)
    _weigh(call, ready, (normalizer, normalizer), nothing, (result, result), (0, shape[1]), slopes=False)
    return result


def _weigh(
    call: Call,
    ready: Prepared,
    outputs: tuple[Tensor, Tensor],
    arrived: Arrived,
    results: tuple[Tensor, Tensor],
    rows: tuple[int, int],
    *,
    slopes: bool = True,
) -> None:
    """Write the weights of some queries, from the first on, and the gradients of their scores."""
    from regard.attention.kernels.additive_forward_triton import weights_kernel

    tile, (elements, row_stride, key_stride) = TILES["weights"], results[0].shape
    weights_kernel[-(-row_stride // tile.queries), -(-key_stride // tile.keys), elements](
        *_operands(call, ready), call.value, *outputs, arrived.context, either(arrived.weights, ready.limits),
        either(arrived.rows, ready.limits), *results, *_numbers(call, ready), *rows, row_stride, key_stride,
        **call.flags, SLOPES=slopes, BY_WEIGHT=arrived.weights is not None, BY_ROW=arrived.rows is not None,
        BLOCK_WIDTH=64, **tile.options,
    )  # fmt: skip


def backward(call: Call, outputs: Outputs, arrived: Arrived) -> Gradients:
    """Give the gradients of query, key, vector and value, from context and log normalizer and what arrived at them."""
    from regard.attention.kernels.additive_backward_triton import finish_kernel, gradients_kernel

    ready, masking, value = prepare(call), call.masking, call.value
    by_normalizer = arrived.rows
    if arrived.weights is not None:
        arrived = without_weights(arrived, weigh(call, ready, outputs.normalizer))
    (elements, queries, size), (_, padded, b_stride) = call.query.shape, ready.key.shape
    keys, heads = call.key.size(1), call.vector.size(0)
    step = _portion(call, b_stride)
    row_splits, key_splits = _splits(elements * padded // UNITS, step, keys)
    by_key = _floats(call, row_splits, elements, padded, b_stride)
    by_vector = _floats(call, row_splits * key_splits, elements, padded)
    if masking.leaves_out:
        by_key.zero_()
        by_vector.zero_()
    row_stride = -(-step // 16) * 16
    by_query = _floats(call, key_splits, elements, padded, row_stride)
    shares, slopes = (value.new_empty(elements, row_stride, b_stride) for _ in ("weights", "slopes"))
    results = torch.empty_like(call.query), torch.empty_like(call.key), torch.empty_like(call.vector)
    by_value: Tensor | None = None
    for start in range(0, queries, step):
        rows, last = min(step, queries - start), start + step >= queries
        _weigh(call, ready, outputs[:2], arrived, (shares, slopes), (start, rows))
        mixed = shares[:, :rows, :keys].mT, arrived.context[:, start : start + rows]
        by_value = torch.bmm(*mixed) if by_value is None else by_value.baddbmm_(*mixed)
        gradients_kernel[padded // UNITS, row_splits * key_splits, elements](
            ready.query, ready.key, call.query, call.key, ready.limits, either(masking.lengths, ready.limits),
            slopes, by_query, by_key, by_vector, *_numbers(call, ready)[:6], call.per_length,
            masking.low, masking.high, start, rows, row_stride, _share(rows, row_splits, ROWS),
            _share(keys, key_splits, BLOCK), key_splits, int(start == 0 and not masking.leaves_out),
            HAS_LENGTHS=masking.lengths is not None, FAST=value.is_cuda,
            ROWS=ROWS, LANES=LANES, UNITS=UNITS, num_warps=1, maxnreg=REGISTERS,
        )  # fmt: skip
        finish_kernel[-(-rows // BLOCK) + (-(-keys // BLOCK) if last else 0), elements](
            by_query, by_key, by_vector, ready.vectors, *results,
            queries, keys, size, padded, heads, row_stride, b_stride, start, rows, key_splits, row_splits, int(last),
            BLOCK_SIZE=64,
        )  # fmt: skip
    assert by_value is not None
    add_to_vector(results[2], outputs.normalizer, by_normalizer)
    return Gradients(*results, by_value)


def _floats(call: Call, *shape: int) -> Tensor:
    return torch.empty(shape, dtype=torch.float32, device=call.query.device)


def _portion(call: Call, b_stride: int) -> int:
    """Return how many queries the backward pass takes at once: all, or equal portions within `SCRATCH`."""
    queries = call.query.size(1)
    needed = 2 * call.value.element_size() * call.query.size(0) * b_stride * queries
    blocks = -(-queries // BLOCK)
    return min(queries, -(-blocks // min(blocks, max(1, -(-needed // SCRATCH)))) * BLOCK)


def _splits(programs: int, rows: int, keys: int) -> tuple[int, int]:
    """Return into how many parts queries and keys are split, so that there are programs enough."""
    row_splits = min(2, -(-rows // ROWS)) if programs < ENOUGH else 1
    wanted = ENOUGH // max(1, programs * row_splits)
    return row_splits, max(1, min(wanted, keys // (4 * BLOCK)))


def _share(count: int, splits: int, step: int) -> int:
    return -(-count // (splits * step)) * step


def _sizes(call: Call) -> tuple[int, int, int, int]:
    """Give the numbers of queries, keys, hidden units, and these rounded up to a multiple of `UNITS`."""
    size = call.query.size(2)
    return call.query.size(1), call.key.size(1), size, -(-size // UNITS) * UNITS


def _operands(call: Call, ready: Prepared) -> tuple[Tensor, ...]:
    """Give the tensors that both score kernels start with."""
    sides = ready.query, ready.key, call.query, call.key
    return *sides, ready.vectors, ready.limits, *call.optional(ready.limits)


def _numbers(call: Call, ready: Prepared) -> tuple[int | float, ...]:
    """Give the sizes and strides that both score kernels take."""
    return *_sizes(call), ready.query.size(2), ready.key.size(2), *call.numbers
