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


# ---------------------------------------------------------------------------------------------------------------- masks


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


# -------------------------------------------------------------------------------------------------------- exponentials


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


# --------------------------------------------------------------------------------------------------------------- scores


@triton.jit
@no_type_check
def _four(pointers, unit, stride):
    """Read four hidden units of some rows."""
    first = pointers + unit * stride
    return tl.load(first), tl.load(first + stride), tl.load(first + 2 * stride), tl.load(first + 3 * stride)


@triton.jit
@no_type_check
def _sum_terms(total, sides, sizes, vector, element, query, key, FAST: tl.constexpr, AHEAD: tl.constexpr):
    """Add v / d over the hidden units for a tile of pairs, four units at a time; `AHEAD` reads the next four before."""
    a, b, _, _ = sides
    _, _, _, padded, a_stride, b_stride = sizes
    a_row = a + element * padded * a_stride + tl.minimum(query, a_stride - 1)
    b_row = b + element * padded * b_stride + key
    x, y = _four(a_row, 0, a_stride), _four(b_row, 0, b_stride)
    for h in range(0, padded, 4):
        if AHEAD:
            after = tl.where(h + 4 < padded, h + 4, 0)
            x_after, y_after = _four(a_row, after, a_stride), _four(b_row, after, b_stride)
        else:
            x, y = _four(a_row, h, a_stride), _four(b_row, h, b_stride)
        d0 = x[0][:, None] * y[0][None, :] + 1.0
        d1 = x[1][:, None] * y[1][None, :] + 1.0
        d2 = x[2][:, None] * y[2][None, :] + 1.0
        d3 = x[3][:, None] * y[3][None, :] + 1.0
        first = tl.load(vector + h) * d1 + tl.load(vector + h + 1) * d0
        second = tl.load(vector + h + 2) * d3 + tl.load(vector + h + 3) * d2
        d01, d23 = d0 * d1, d2 * d3
        total += (first * d23 + second * d01) * _reciprocal(d01 * d23, FAST)
        if AHEAD:
            x, y = x_after, y_after
    return total


@triton.jit
@no_type_check
def _sum_large_terms(total, sides, sizes, vector, element, query, key, counts, FAST: tl.constexpr):
    """Do the same where numbers are large: one exponential and one reciprocal for each term."""
    _, _, q, k = sides
    queries, keys, size, _, _, _ = sizes
    q_row = q + (element * queries + query) * size
    k_row = k + (element * keys + key) * size
    for h in range(0, size):
        x = tl.load(q_row + h, mask=counts[0], other=0.0).to(tl.float32) * SCALE
        y = tl.load(k_row + h, mask=counts[1], other=0.0).to(tl.float32) * SCALE
        total += tl.load(vector + h) * _reciprocal(_large_power(x[:, None], y[None, :]) + 1.0, FAST)
    return total


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


@triton.jit
@no_type_check
def _scores(sides, sizes, vector, element, query, key, length, low, high,
            LARGE: tl.constexpr, FAST: tl.constexpr, AHEAD: tl.constexpr):  # fmt: skip
    """Give the scores of a tile of pairs, masked or not."""
    queries = sizes[0]
    # A sum that starts with a load, of nothing, keeps that load's layout: four neighboring keys to a thread.
    nothing = (query[:, None] < 0) & (key[None, :] < 0)
    terms = tl.load(sides[1] + 0 * query[:, None] + key[None, :], mask=nothing, other=0.0)
    if LARGE:
        counts = _attending(query, length, queries, low, high), _attended(key, length, queries, low, high)
        terms = _sum_large_terms(terms, sides, sizes, vector + 4, element, query, key, counts, FAST)
    else:
        terms = _sum_terms(terms, sides, sizes, vector + 4, element, query, key, FAST, AHEAD)
    return tl.load(vector) - 2.0 * terms


@triton.jit
@no_type_check
def _mix(
    sides, sizes, vector, mask, strides, seed, dropout, value, width, element, first_query, length, low, high,
    HAS_MASK: tl.constexpr, HAS_DROPOUT: tl.constexpr, LARGE: tl.constexpr, FAST: tl.constexpr, AHEAD: tl.constexpr,
    BLOCK_QUERY: tl.constexpr, BLOCK_KEY: tl.constexpr, BLOCK_WIDTH: tl.constexpr,
):  # fmt: skip
    """Go over the keys: give each query's largest score, its sum of exponentials, and the values they weigh."""
    queries, keys = sizes[0], sizes[1]
    query = first_query + tl.arange(0, BLOCK_QUERY)
    feature = tl.arange(0, BLOCK_WIDTH)
    largest = tl.full([BLOCK_QUERY], float("-inf"), tl.float32)
    sums = tl.zeros([BLOCK_QUERY], tl.float32)
    mixed = tl.zeros([BLOCK_QUERY, BLOCK_WIDTH], tl.float32)
    start, stop = _span(first_query, BLOCK_QUERY, queries, length, low, high, BLOCK_KEY)
    for first_key in range(start, stop, BLOCK_KEY):
        key = first_key + tl.arange(0, BLOCK_KEY)
        scores = _scores(sides, sizes, vector, element, query, key, length, low, high, LARGE, FAST, AHEAD)
        allowed = _allowed(mask, strides, element, query, key, queries, length, low, high, HAS_MASK)
        scores = tl.where(allowed, scores, float("-inf"))
        now = tl.maximum(largest, tl.max(scores, axis=1))
        base = tl.where(now == float("-inf"), 0.0, now)
        powers = tl.exp(scores - base[:, None])
        rest = tl.exp(largest - base)
        sums = sums * rest + tl.sum(powers, axis=1)
        if HAS_DROPOUT:
            powers = powers * _kept(seed, element, query, key, dropout)
        there = _attended(key, length, queries, low, high)
        offsets = (element * keys + key[:, None]) * width + feature[None, :]
        values = tl.load(value + offsets, mask=there[:, None] & (feature[None, :] < width), other=0.0)
        mixed = mixed * rest[:, None] + tl.dot(powers.to(values.dtype), values, input_precision="ieee")
        largest = now
    return largest, sums, mixed


@triton.jit(do_not_specialize=VARIES)
@no_type_check
def forward_kernel(
    a, b, q, k, vectors, limits, lengths, mask, seed, value, context, normalizer,
    queries, keys, size, padded, a_stride, b_stride, width, heads, per_length, low, high,
    mask_element, mask_query, mask_key, dropout,
    HAS_LENGTHS: tl.constexpr, HAS_MASK: tl.constexpr, HAS_DROPOUT: tl.constexpr, FAST: tl.constexpr,
    AHEAD: tl.constexpr, BLOCK_QUERY: tl.constexpr, BLOCK_KEY: tl.constexpr, BLOCK_WIDTH: tl.constexpr,
):  # fmt: skip
    """Give context and log normalizer of some queries of one batch element."""
    element = tl.program_id(1).to(tl.int64)
    first_query = tl.program_id(0) * BLOCK_QUERY
    sides = a, b, q, k
    sizes = queries, keys, size, padded, a_stride, b_stride
    strides = mask_element, mask_query, mask_key
    length = _length(lengths, element, keys, per_length, HAS_LENGTHS)
    vector = vectors + element % heads * (padded + 4)
    most = _most_of_queries(limits, element, queries, keys, first_query) + _most_of_keys(limits, element, queries, keys)
    if most <= MOST:
        largest, sums, mixed = _mix(
            sides, sizes, vector, mask, strides, seed, dropout, value, width, element, first_query, length, low, high,
            HAS_MASK, HAS_DROPOUT, False, FAST, AHEAD, BLOCK_QUERY, BLOCK_KEY, BLOCK_WIDTH,
        )  # fmt: skip
    else:
        largest, sums, mixed = _mix(
            sides, sizes, vector, mask, strides, seed, dropout, value, width, element, first_query, length, low, high,
            HAS_MASK, HAS_DROPOUT, True, FAST, AHEAD, BLOCK_QUERY, BLOCK_KEY, BLOCK_WIDTH,
        )  # fmt: skip
    query = first_query + tl.arange(0, BLOCK_QUERY)
    feature = tl.arange(0, BLOCK_WIDTH)
    some = sums != 0.0  # NaN too
    mixed = tl.where(some[:, None], mixed / tl.where(some, sums, 1.0)[:, None], 0.0)
    offsets = (element * queries + query[:, None]) * width + feature[None, :]
    inside = (query[:, None] < queries) & (feature[None, :] < width)
    tl.store(context + offsets, mixed.to(context.dtype.element_ty), mask=inside)
    logs = tl.where(some, largest + tl.log(tl.where(some, sums, 1.0)), float("-inf"))
    tl.store(normalizer + element * queries + query, logs, mask=query < queries)


@triton.jit(do_not_specialize=VARIES)
@no_type_check
def weights_kernel(
    a, b, q, k, vectors, limits, lengths, mask, seed, value, context, normalizer, by_context, by_weight, by_row,
    weights, slopes,
    queries, keys, size, padded, a_stride, b_stride, width, heads, per_length, low, high,
    mask_element, mask_query, mask_key, dropout, start, rows, row_stride, key_stride,
    HAS_LENGTHS: tl.constexpr, HAS_MASK: tl.constexpr, HAS_DROPOUT: tl.constexpr, FAST: tl.constexpr,
    SLOPES: tl.constexpr, BY_WEIGHT: tl.constexpr, BY_ROW: tl.constexpr,
    AHEAD: tl.constexpr, BLOCK_QUERY: tl.constexpr, BLOCK_KEY: tl.constexpr, BLOCK_WIDTH: tl.constexpr,
):  # fmt: skip
    """Give the weights of `rows` queries from `start` on once more and, where `SLOPES`, the gradients of their scores.

    With w the weights, m the dropout (0, or 1 / (1 − p)) and g the gradient of the context, the weights' own is
    m g·v + `by_weight`, and the scores' is w (that − g·context + `by_row`): Σ w m g·v over a row is g·context, and
    `by_row` holds the rest of the row's sum, and the gradient of the log normalizer. `weights` become w m then.
    Both are (element, row_stride, key_stride), with zeros up to there.
    """
    element = tl.program_id(2).to(tl.int64)
    first_row = tl.program_id(0) * BLOCK_QUERY
    first_key = tl.program_id(1) * BLOCK_KEY
    row = first_row + tl.arange(0, BLOCK_QUERY)
    key = first_key + tl.arange(0, BLOCK_KEY)
    query = start + row
    sides = a, b, q, k
    sizes = queries, keys, size, padded, a_stride, b_stride
    strides = mask_element, mask_query, mask_key
    length = _length(lengths, element, keys, per_length, HAS_LENGTHS)
    counts = (row < rows) & (query < queries)
    offsets = (element * row_stride + row[:, None]) * key_stride + key[None, :]
    inside = (row < row_stride)[:, None] & (key < key_stride)[None, :]
    first, stop = _span(start + first_row, BLOCK_QUERY, queries, length, low, high, BLOCK_KEY)
    shares = tl.zeros([BLOCK_QUERY, BLOCK_KEY], tl.float32)
    by_score = tl.zeros([BLOCK_QUERY, BLOCK_KEY], tl.float32)
    if (first_key >= first) & (first_key < stop):
        vector = vectors + element % heads * (padded + 4)
        most = _most_of_queries(limits, element, queries, keys, start + first_row)
        most += tl.load(limits + element * (tl.cdiv(queries, BLOCK) + tl.cdiv(keys, BLOCK)) + tl.cdiv(queries, BLOCK) + first_key // BLOCK)  # fmt: skip
        if most <= MOST:
            scores = _scores(sides, sizes, vector, element, query, key, length, low, high, False, FAST, AHEAD)
        else:
            scores = _scores(sides, sizes, vector, element, query, key, length, low, high, True, FAST, AHEAD)
        allowed = _allowed(mask, strides, element, query, key, queries, length, low, high, HAS_MASK)
        logs = tl.load(normalizer + element * queries + query, mask=counts, other=0.0)
        shares = tl.where(allowed & counts[:, None], tl.exp(scores - logs[:, None]), 0.0)
        if SLOPES:
            arrived = tl.zeros([BLOCK_QUERY, BLOCK_KEY], tl.float32)
            middle = tl.zeros([BLOCK_QUERY], tl.float32)
            there = _attended(key, length, queries, low, high)
            for w in range(0, width, BLOCK_WIDTH):
                feature = w + tl.arange(0, BLOCK_WIDTH)
                at = (element * queries + query[:, None]) * width + feature[None, :]
                ours = counts[:, None] & (feature[None, :] < width)
                by_feature = tl.load(by_context + at, mask=ours, other=0.0)
                mixed = tl.load(context + at, mask=ours, other=0.0)
                at = (element * keys + key[:, None]) * width + feature[None, :]
                values = tl.load(value + at, mask=there[:, None] & (feature[None, :] < width), other=0.0)
                arrived += tl.dot(by_feature, tl.trans(values), input_precision="ieee")
                middle += tl.sum(by_feature.to(tl.float32) * mixed.to(tl.float32), axis=1)
            kept = shares
            if HAS_DROPOUT:
                factors = _kept(seed, element, query, key, dropout)
                arrived = arrived * factors
                kept = shares * factors
            if BY_ROW:
                middle -= tl.load(by_row + element * queries + query, mask=counts, other=0.0)
            if BY_WEIGHT:
                at = (element * queries + query[:, None]) * keys + key[None, :]
                arrived += tl.load(by_weight + at, mask=counts[:, None] & (key < keys)[None, :], other=0.0).to(
                    tl.float32
                )
            by_score = tl.where(shares == 0.0, 0.0, shares * (arrived - middle[:, None]))
            shares = kept
    tl.store(weights + offsets, shares.to(weights.dtype.element_ty), mask=inside)
    if SLOPES:
        tl.store(slopes + offsets, by_score.to(slopes.dtype.element_ty), mask=inside)


# ------------------------------------------------------------------------------------------------------------ gradients


@triton.jit
@no_type_check
def _add_rows(
    a_unit, b_unit, slope, by_query, by_key, parts, a_stride, b_stride, row_stride, first_key, last_key, skip,
    FAST: tl.constexpr, ROWS: tl.constexpr, LANES: tl.constexpr, UNITS: tl.constexpr,
):  # fmt: skip
    """Take a few queries past some keys: add what reaches `UNITS` hidden units of either side.

    Each query's sums stand in the threads' registers, one for each lane of keys, and are added up at the end; those of
    the keys are complete in a thread. Nothing was added yet to keys before `skip`.
    """
    x = ()
    sums = ()
    for n in tl.static_range(ROWS * UNITS):
        x = x + (tl.load(a_unit + n % UNITS * a_stride + n // UNITS),)
        sums = sums + (tl.zeros([LANES], tl.float32),)
    for at in range(first_key, last_key, LANES):
        key = at + tl.arange(0, LANES)
        y = ()
        down = ()
        for u in tl.static_range(UNITS):
            y = y + (tl.load(b_unit + u * b_stride + key),)
            down = down + (tl.load(by_key + u * b_stride + key, mask=key >= skip, other=0.0),)
        sums_now = ()
        for i in tl.static_range(ROWS):
            s = tl.load(slope + i * b_stride + key).to(tl.float32)
            down_now = ()
            parts_now = ()
            for p in tl.static_range(0, UNITS, 2):
                d0 = x[i * UNITS + p] * y[p] + 1.0
                d1 = x[i * UNITS + p + 1] * y[p + 1] + 1.0
                r = _reciprocal(d0 * d1, FAST)
                r0 = r * d1
                r1 = r * d0
                f0 = s * r0
                f1 = s * r1
                g0 = f0 - f0 * r0
                g1 = f1 - f1 * r1
                sums_now = sums_now + (sums[i * UNITS + p] + g0, sums[i * UNITS + p + 1] + g1)
                down_now = down_now + (down[p] + g0, down[p + 1] + g1)
                parts_now = parts_now + (parts[p] + f0, parts[p + 1] + f1)
            down = down_now
            parts = parts_now
        sums = sums_now
        for u in tl.static_range(UNITS):
            tl.store(by_key + u * b_stride + key, down[u])
    for n in tl.static_range(ROWS * UNITS):
        tl.store(by_query + n % UNITS * row_stride + n // UNITS, tl.sum(sums[n], axis=0))
    return parts


@triton.jit
@no_type_check
def _add_large_rows(
    sides, sizes, slope, by_query, by_key, extra, element, unit, first_row, length, low, high, row_stride,
    first_key, last_key, skip, FAST: tl.constexpr, ROWS: tl.constexpr, LANES: tl.constexpr, UNITS: tl.constexpr,
):  # fmt: skip
    """Do the same where numbers are large, one query and one hidden unit at a time."""
    _, _, q, k = sides
    queries, keys, size, _, _, b_stride = sizes
    for i in range(ROWS):
        row = first_row + i
        for u in range(tl.minimum(size - unit, UNITS)):
            inside = _attending(row, length, queries, low, high)
            x = tl.load(q + (element * queries + row) * size + unit + u, mask=inside, other=0.0).to(tl.float32) * SCALE
            total = tl.zeros([LANES], tl.float32)
            part = tl.zeros([LANES], tl.float32)
            for at in range(first_key, last_key, LANES):
                key = at + tl.arange(0, LANES)
                there = _attended(key, length, queries, low, high)
                y = tl.load(k + (element * keys + key) * size + unit + u, mask=there, other=0.0).to(tl.float32) * SCALE
                r = _reciprocal(_large_power(x, y) + 1.0, FAST)
                f = tl.load(slope + i * b_stride + key).to(tl.float32) * r
                g = f - f * r
                total += g
                part += f
                to = by_key + u * b_stride + key
                tl.store(to, tl.load(to, mask=key >= tl.where(i == 0, skip, 0), other=0.0) + g)
            tl.store(by_query + u * row_stride + i, tl.sum(total, axis=0))
            extra += tl.where(tl.arange(0, UNITS) == u, tl.sum(part, axis=0), 0.0)
    return extra


@triton.jit(do_not_specialize=VARIES)
@no_type_check
def gradients_kernel(
    a, b, q, k, limits, lengths, slopes, by_query, by_key, by_vector,
    queries, keys, size, padded, a_stride, b_stride, per_length, low, high,
    start, rows, row_stride, row_step, key_step, key_splits, fresh,
    HAS_LENGTHS: tl.constexpr, FAST: tl.constexpr, ROWS: tl.constexpr, LANES: tl.constexpr, UNITS: tl.constexpr,
):  # fmt: skip
    """Add r (1 − r) times the gradients of the scores of `rows` queries from `start` on to both sides.

    One program takes `UNITS` hidden units of one batch element, `row_step` of the queries and `key_step` of the keys.
    Writes `by_query`, (key split, element, unit, row_stride), adds to `by_key`, (row split, element, unit, b_stride),
    and to `by_vector`, (split, element, unit), r times the gradients of the scores. Where `fresh`, nothing was there.
    """
    element = tl.program_id(2).to(tl.int64)
    elements = tl.num_programs(2)
    unit = tl.program_id(0) * UNITS
    row_split = tl.program_id(1) // key_splits
    key_split = tl.program_id(1) % key_splits
    sides = a, b, q, k
    sizes = queries, keys, size, padded, a_stride, b_stride
    length = _length(lengths, element, keys, per_length, HAS_LENGTHS)
    a_unit = a + (element * padded + unit) * a_stride + start
    b_unit = b + (element * padded + unit) * b_stride
    by_query += ((key_split * elements + element) * padded + unit) * row_stride
    by_key += ((row_split * elements + element) * padded + unit) * b_stride
    slope = slopes + element * row_stride * b_stride
    first_row = row_split * row_step
    last_row = tl.minimum(first_row + row_step, rows)
    most = 0.0
    for first in range((start + first_row) // BLOCK * BLOCK, start + last_row, BLOCK):
        most = tl.maximum(most, _most_of_queries(limits, element, queries, keys, first))
    most += _most_of_keys(limits, element, queries, keys)
    parts = ()
    for _ in tl.static_range(UNITS):
        parts = parts + (tl.zeros([LANES], tl.float32),)
    extra = tl.zeros([UNITS], tl.float32)
    if most <= MOST:
        for first in range(first_row, last_row, ROWS):
            begin, stop = _span(start + first, ROWS, queries, length, low, high, BLOCK)
            begin = tl.maximum(begin, key_split * key_step)
            stop = tl.minimum(stop, (key_split + 1) * key_step)
            skip = tl.where((first > first_row) | (fresh == 0), 0, b_stride)
            parts = _add_rows(
                a_unit + first, b_unit, slope + first * b_stride, by_query + first, by_key, parts,
                a_stride, b_stride, row_stride, begin, stop, skip, FAST, ROWS, LANES, UNITS,
            )  # fmt: skip
    else:
        for first in range(first_row, last_row, ROWS):
            begin, stop = _span(start + first, ROWS, queries, length, low, high, BLOCK)
            begin = tl.maximum(begin, key_split * key_step)
            stop = tl.minimum(stop, (key_split + 1) * key_step)
            skip = tl.where((first > first_row) | (fresh == 0), 0, b_stride)
            extra = _add_large_rows(
                sides, sizes, slope + first * b_stride, by_query + first, by_key, extra, element, unit, start + first,
                length, low, high, row_stride, begin, stop, skip, FAST, ROWS, LANES, UNITS,
            )  # fmt: skip
    for u in tl.static_range(UNITS):
        extra += tl.where(tl.arange(0, UNITS) == u, tl.sum(parts[u], axis=0), 0.0)
    lane = tl.arange(0, UNITS)
    to = by_vector + (tl.program_id(1) * elements + element) * padded + unit + lane
    tl.store(to, extra + tl.load(to, mask=lane >= tl.where(fresh == 0, 0, UNITS), other=0.0))


@triton.jit
@no_type_check
def _finish_rows(sums, vector, rows, element, elements, first, count, start, total, size, padded, stride, splits,
                 BLOCK_SIZE: tl.constexpr):  # fmt: skip
    """Add up what the splits brought to some rows, times 4v, and write it with the hidden units last."""
    row = first + tl.arange(0, BLOCK)
    for unit_start in range(0, size, BLOCK_SIZE):
        unit = unit_start + tl.arange(0, BLOCK_SIZE)
        inside = (row[:, None] < count) & (unit[None, :] < size)
        result = tl.zeros([BLOCK, BLOCK_SIZE], tl.float32)
        for split in range(splits):
            at = ((split * elements + element) * padded + unit[None, :]) * stride + row[:, None]
            result += tl.load(sums + at, mask=inside, other=0.0)
        factor = 4.0 * tl.load(vector + unit, mask=unit < size, other=0.0)
        to = rows + (element * total + start + row[:, None]) * size + unit[None, :]
        tl.store(to, (result * factor[None, :]).to(rows.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=VARIES)
@no_type_check
def finish_kernel(
    by_query, by_key, by_vector, vectors, query, key, vector,
    queries, keys, size, padded, heads, row_stride, b_stride, start, rows, key_splits, row_splits, last,
    BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    """Write the gradients of `rows` queries and, after the last of them, those of keys and vector, in their precision."""
    element = tl.program_id(1).to(tl.int64)
    elements = tl.num_programs(1)
    block = tl.program_id(0)
    blocks = tl.cdiv(rows, BLOCK)
    scale = vectors + element % heads * (padded + 4) + 4
    if block < blocks:
        _finish_rows(by_query, scale, query, element, elements, block * BLOCK, rows, start, queries, size, padded,
                     row_stride, key_splits, BLOCK_SIZE)  # fmt: skip
    elif last:
        first = (block - blocks) * BLOCK
        _finish_rows(by_key, scale, key, element, elements, first, keys, 0, keys, size, padded, b_stride, row_splits,
                     BLOCK_SIZE)  # fmt: skip
    if (last != 0) & (block == 0) & (element < heads):
        for unit_start in range(0, size, BLOCK_SIZE):
            unit = unit_start + tl.arange(0, BLOCK_SIZE)
            total = tl.zeros([BLOCK_SIZE], tl.float32)
            for part in range(element, key_splits * row_splits * elements, heads):
                total += tl.load(by_vector + part * padded + unit, mask=unit < size, other=0.0)
            to = vector + element * size + unit
            tl.store(to, (-2.0 * total).to(vector.dtype.element_ty), mask=unit < size)
