"""Additive attention in one pass over tiles of queries and keys, in Triton; nothing of size T · S · hidden is held.

One tanh for each query, key and hidden unit would be the whole cost. Instead, with a = exp(2q) and b = exp(2k), taken
once for each row,

$$\\tanh(q + k) = 1 - 2r, \\qquad r = \\frac{1}{d}, \\qquad d = 1 + ab$$

leaves a multiplication and a reciprocal, and hidden units share a reciprocal:

$$\\frac{v_1}{d_1} + \\frac{v_2}{d_2} = \\frac{v_1 d_2 + v_2 d_1}{d_1 d_2}$$

In the forward pass four share one, in the backward pass two. That holds while q + k stays under `MOST`; tiles where it
may not take the exponential of each sum, held at `MOST`, where the tanh is 1 in float32. The softmax runs along with
the tiles (Milakov and Gimelshein 2018, arXiv:1805.02867).

The backward pass computes the scores again. With the gradient of each score, s, some queries at a time,

$$\\partial q_h = 4 v_h \\sum_j s\\, r (1 - r), \\qquad \\partial k_h = 4 v_h \\sum_i s\\, r (1 - r), \\qquad
\\partial v_h = -2 \\sum_{ij} s\\, r$$

(the slopes of a softmax sum to zero over a row, so the 1 of the tanh brings nothing). One program takes a few hidden
units through all pairs and adds to both sides at once. Nothing is added in an order that may change.

A mask is a tensor, or a span: query i may attend to key j where low ≤ j − i ≤ high and j < length. Tiles outside of it
are left out.
"""

from typing import no_type_check  # Triton reads the functions themselves: nothing may be wrapped around them

import triton
import triton.language as tl

#: exp(2x) = 2^(SCALE · x).
SCALE = tl.constexpr(2.8853900817779268)
#: Sums of two scaled numbers up to here: four factors 1 + 2^sum multiply to a float32 with a reciprocal.
MOST = tl.constexpr(31.0)
#: Scaled numbers up to here in magnitude have an exponential, and a product of two is right.
LARGEST = tl.constexpr(60.0)
#: Rows that share one limit; keys are padded to a multiple of it.
BLOCK = tl.constexpr(64)

#: Numbers that change from call to call: a kernel compiled for each kind of them would be compiled all the time.
VARIES = [
    "queries", "keys", "heads", "per_length", "low", "high", "mask_element", "mask_query", "dropout", "start", "rows",
    "row_step", "key_step", "key_splits", "row_splits", "fresh", "last", "unit_blocks", "key_blocks", "elements",
    "padded",
]  # fmt: skip


@triton.jit
@no_type_check
def _reciprocal(x, FAST: tl.constexpr):
    """Give 1 / x; `FAST` is exact to one unit in the last place, for x from 1 to 2¹²⁶."""
    if FAST:
        return tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )
    return 1.0 / x


@triton.jit
@no_type_check
def _large_power(x, y):
    """Give exp(2(q + k)) from the scaled numbers, held at a sum of `MOST`."""
    return tl.exp2(tl.minimum(x + y, MOST, propagate_nan=tl.PropagateNan.ALL))


@triton.jit
@no_type_check
def _length(lengths, element, keys, per_length, HAS_LENGTHS: tl.constexpr):
    """Give how many keys of a batch element count."""
    if HAS_LENGTHS:
        return tl.minimum(tl.load(lengths + element // per_length).to(tl.int32), keys)
    return keys


@triton.jit
@no_type_check
def _attended(key, length, queries, low, high):
    """Return which keys any query may attend to, as far as the span says."""
    return (key < length) & (key >= low) & (key < queries + high)


@triton.jit
@no_type_check
def _attending(query, length, queries, low, high):
    """Return which queries may attend to any key, as far as the span says."""
    return (query < queries) & (tl.maximum(query + low, 0) <= tl.minimum(query + high, length - 1))


@triton.jit
@no_type_check
def _span(first, count, queries, length, low, high, STEP: tl.constexpr):
    """Give the keys, rounded to whole tiles, that `count` queries from `first` on may attend to."""
    last = tl.minimum(first + count, queries) - 1
    return tl.maximum(first + low, 0) // STEP * STEP, tl.minimum(last + high + 1, length)


@triton.jit
@no_type_check
def _allowed(mask, strides, element, query, key, queries, length, low, high, HAS_MASK: tl.constexpr):
    """Return which pairs of a tile may attend."""
    apart = key[None, :] - query[:, None]
    allowed = (query < queries)[:, None] & (key < length)[None, :] & (apart >= low) & (apart <= high)
    if HAS_MASK:
        pointers = mask + element * strides[0] + query[:, None] * strides[1] + key[None, :] * strides[2]
        allowed = allowed & (tl.load(pointers, mask=allowed, other=0) != 0)
    return allowed


@triton.jit
@no_type_check
def _kept(seed, element, query, key, dropout):
    """Give 0 for the weights that are dropped and 1 / (1 − dropout) for the others (Philox, counted by position)."""
    nothing = 0 * (query[:, None] + key[None, :])
    batch = nothing + element.to(tl.int32)
    bits, _, _, _ = tl.philox(tl.load(seed), nothing + key[None, :], nothing + query[:, None], batch, nothing)
    number = (bits >> 8).to(tl.float32) * 5.9604644775390625e-08  # 2⁻²⁴: from 0 to 1
    return tl.where(number >= dropout, 1.0 / (1.0 - dropout), 0.0)


@triton.jit(do_not_specialize=VARIES)
@no_type_check
def dropout_kernel(seed, factors, queries, keys, dropout, BLOCK_QUERY: tl.constexpr, BLOCK_KEY: tl.constexpr):
    """Write the factors of dropout, (element, query, key)."""
    element = tl.program_id(2).to(tl.int64)
    query = tl.program_id(0) * BLOCK_QUERY + tl.arange(0, BLOCK_QUERY)
    key = tl.program_id(1) * BLOCK_KEY + tl.arange(0, BLOCK_KEY)
    to = factors + (element * queries + query[:, None]) * keys + key[None, :]
    inside = (query < queries)[:, None] & (key < keys)[None, :]
    tl.store(to, _kept(seed, element, query, key, dropout), mask=inside)


@triton.jit
@no_type_check
def _prepare_rows(rows, exponentials, limit, element, first, count, counts, size, padded, stride, BLOCK_SIZE: tl.constexpr):  # fmt: skip
    """Take exp(2x) of some rows, hidden units in front, zero where a row does not count; note how large x is."""
    row = first + tl.arange(0, BLOCK)
    most = tl.zeros([BLOCK], tl.float32)
    for start in range(0, padded, BLOCK_SIZE):
        unit = start + tl.arange(0, BLOCK_SIZE)
        inside = counts[:, None] & (unit[None, :] < size)
        x = tl.load(rows + (element * count + row[:, None]) * size + unit[None, :], mask=inside, other=0.0)
        x = x.to(tl.float32) * SCALE
        most = tl.maximum(most, tl.max(tl.where(tl.abs(x) > LARGEST, float("inf"), x), axis=1))
        to = exponentials + (element * padded + unit[None, :]) * stride + row[:, None]
        tl.store(to, tl.where(inside, tl.exp2(x), 0.0), mask=(row[:, None] < stride) & (unit[None, :] < padded))
    tl.store(limit, tl.max(most, axis=0))


@triton.jit(do_not_specialize=VARIES)
@no_type_check
def prepare_kernel(
    query, key, vector, a, b, limits, vectors, lengths, queries, keys, size, padded, heads, a_stride, b_stride,
    low, high, per_length, HAS_LENGTHS: tl.constexpr, BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    """Take the exponentials of one side's rows; the vectors in float32, each behind its sum, go along.

    `limits` holds for each block of queries, then of keys, the largest scaled number: infinity where exponentials will
    not do. `vectors` is (head, 4 + padded): the sum of a vector stands at 0, its numbers from 4 on.
    """
    element = tl.program_id(1).to(tl.int64)
    block = tl.program_id(0)
    blocks = tl.cdiv(queries, BLOCK)
    limit = limits + element * tl.num_programs(0) + block
    length = _length(lengths, element, keys, per_length, HAS_LENGTHS)
    row = tl.arange(0, BLOCK)
    if block < blocks:
        first = block * BLOCK
        counts = _attending(first + row, length, queries, low, high)
        _prepare_rows(query, a, limit, element, first, queries, counts, size, padded, a_stride, BLOCK_SIZE)
    else:
        first = (block - blocks) * BLOCK
        counts = _attended(first + row, length, queries, low, high)
        _prepare_rows(key, b, limit, element, first, keys, counts, size, padded, b_stride, BLOCK_SIZE)
    if (block == 0) & (element < heads):
        total = tl.zeros([BLOCK_SIZE], tl.float32)
        for start in range(0, padded, BLOCK_SIZE):
            unit = start + tl.arange(0, BLOCK_SIZE)
            part = tl.load(vector + element * size + unit, mask=unit < size, other=0.0).to(tl.float32)
            tl.store(vectors + element * (padded + 4) + 4 + unit, part, mask=unit < padded)
            total += part
        tl.store(vectors + element * (padded + 4), tl.sum(total, axis=0))


@triton.jit
@no_type_check
def _most_of_keys(limits, element, queries, keys):
    """Give the limit of all keys of a batch element."""
    blocks, key_blocks = tl.cdiv(queries, BLOCK), tl.cdiv(keys, BLOCK)
    limit = limits + element * (blocks + key_blocks) + blocks
    most = tl.load(limit)
    for block in range(1, key_blocks):
        most = tl.maximum(most, tl.load(limit + block))
    return most


@triton.jit
@no_type_check
def _most_of_queries(limits, element, queries, keys, first_query):
    """Give the limit of the block of queries that one belongs to."""
    blocks, key_blocks = tl.cdiv(queries, BLOCK), tl.cdiv(keys, BLOCK)
    return tl.load(limits + element * (blocks + key_blocks) + first_query // BLOCK)
