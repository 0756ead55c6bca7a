"""Additive attention in one pass over tiles of queries and keys, in Triton; nothing of size T · S · hidden is held.

One tanh for each query, key and hidden unit would be the whole cost. Instead, with a = exp(2q) and b = exp(2k), taken
once for each row,

$$\\tanh(q + k) = 1 - \\frac{2}{1 + ab}, \\qquad \\frac{v_1}{d_1} + \\frac{v_2}{d_2} = \\frac{v_1 d_2 + v_2 d_1}{d_1 d_2}$$

so that two hidden units share one reciprocal. That holds up to `LARGEST` in magnitude; a batch element with larger
numbers takes the plain way, one exponential for each term. The softmax runs along with the tiles (Milakov and
Gimelshein 2018, arXiv:1805.02867). The backward pass computes the scores again: first the gradient of each score, some
queries at a time, then from it those of queries, keys and vector. Nothing is added in an order that may change.
"""

import triton
import triton.language as tl
from triton.language.extra import libdevice

#: Up to here in magnitude, products of two terms stay finite in float32.
LARGEST = tl.constexpr(10.0)


@triton.jit
def _divide(x, y, FAST: tl.constexpr):
    """Divide; `FAST` takes one approximate reciprocal, exact to two units in the last place."""
    if FAST:
        return libdevice.fast_dividef(x, y)
    return x / y


@triton.jit
def prepare_kernel(
    own, exponentials, large, count, size, padded, BLOCK: tl.constexpr, BLOCK_SIZE: tl.constexpr
):  # fmt: skip
    """Take exp(2x) of some rows of one batch element, hidden units in front; note where a number is large."""
    element = tl.program_id(2).to(tl.int64)
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    unit = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    inside = (row[:, None] < count) & (unit[None, :] < size)
    x = tl.load(own + (element * count + row[:, None]) * size + unit[None, :], mask=inside, other=0.0).to(tl.float32)
    largest = tl.max(tl.max(tl.abs(x), axis=1), axis=0)
    if largest > LARGEST:
        tl.atomic_max(large + element, 1)
    offsets = (element * padded + unit[None, :]) * count + row[:, None]
    tl.store(exponentials + offsets, tl.exp(2.0 * x), mask=(row[:, None] < count) & (unit[None, :] < padded))


@triton.jit
def _sum_terms(
    a, b, vector, query_rows, key_rows, large, element, head, query, key, queries, keys, size, padded,
    FAST: tl.constexpr,
):  # fmt: skip
    """Sum v / (1 + ab) over the hidden units, for a tile of pairs."""
    in_query, in_key = query < queries, key < keys
    total = tl.zeros([query.shape[0], key.shape[0]], tl.float32)
    v_row = vector + head * padded
    if large:
        q_row = query_rows + (element * queries + query) * size
        k_row = key_rows + (element * keys + key) * size
        for h in range(0, size):
            x = tl.load(q_row + h, mask=in_query, other=0.0).to(tl.float32)
            y = tl.load(k_row + h, mask=in_key, other=0.0).to(tl.float32)
            total += tl.load(v_row + h) / (1.0 + tl.exp(2.0 * (x[:, None] + y[None, :])))
    else:
        a_row = a + element * padded * queries + query
        b_row = b + element * padded * keys + key
        for h in range(0, padded, 4):
            a0 = tl.load(a_row + h * queries, mask=in_query, other=0.0)
            a1 = tl.load(a_row + (h + 1) * queries, mask=in_query, other=0.0)
            a2 = tl.load(a_row + (h + 2) * queries, mask=in_query, other=0.0)
            a3 = tl.load(a_row + (h + 3) * queries, mask=in_query, other=0.0)
            b0 = tl.load(b_row + h * keys, mask=in_key, other=0.0)
            b1 = tl.load(b_row + (h + 1) * keys, mask=in_key, other=0.0)
            b2 = tl.load(b_row + (h + 2) * keys, mask=in_key, other=0.0)
            b3 = tl.load(b_row + (h + 3) * keys, mask=in_key, other=0.0)
            v0 = tl.load(v_row + h)
            v1 = tl.load(v_row + h + 1)
            v2 = tl.load(v_row + h + 2)
            v3 = tl.load(v_row + h + 3)
            d0 = 1.0 + a0[:, None] * b0[None, :]
            d1 = 1.0 + a1[:, None] * b1[None, :]
            d2 = 1.0 + a2[:, None] * b2[None, :]
            d3 = 1.0 + a3[:, None] * b3[None, :]
            total += _divide(v0 * d1 + v1 * d0, d0 * d1, FAST)
            total += _divide(v2 * d3 + v3 * d2, d2 * d3, FAST)
    return total


@triton.jit
def _scores(
    a, b, vector, total, query_rows, key_rows, large, mask, element, head, query, key, queries, keys, size, padded,
    mask_element, mask_query, mask_key, HAS_MASK: tl.constexpr, FAST: tl.constexpr,
):  # fmt: skip
    """Give the scores of a tile of pairs, −∞ where they are masked or outside."""
    terms = _sum_terms(
        a, b, vector, query_rows, key_rows, tl.load(large + element) != 0, element, head, query, key, queries, keys,
        size, padded, FAST,
    )  # fmt: skip
    scores = tl.load(total + head) - 2.0 * terms
    allowed = (query < queries)[:, None] & (key < keys)[None, :]
    if HAS_MASK:
        pointers = mask + element * mask_element + query[:, None] * mask_query + key[None, :] * mask_key
        allowed = allowed & (tl.load(pointers, mask=allowed, other=0) != 0)
    return tl.where(allowed, scores, float("-inf"))


@triton.jit
def forward_kernel(
    a, b, vector, total, query_rows, key_rows, large, mask, value, context, normalizer,
    queries, keys, size, padded, width, heads, mask_element, mask_query, mask_key,
    HAS_MASK: tl.constexpr, FAST: tl.constexpr, PRECISION: tl.constexpr,
    BLOCK_QUERY: tl.constexpr, BLOCK_KEY: tl.constexpr, BLOCK_WIDTH: tl.constexpr,
):  # fmt: skip
    """Give context and log normalizer of some queries of one batch element."""
    element = tl.program_id(1).to(tl.int64)
    query = tl.program_id(0) * BLOCK_QUERY + tl.arange(0, BLOCK_QUERY)
    feature = tl.arange(0, BLOCK_WIDTH)
    largest = tl.full([BLOCK_QUERY], float("-inf"), tl.float32)
    sums = tl.zeros([BLOCK_QUERY], tl.float32)
    mixed = tl.zeros([BLOCK_QUERY, BLOCK_WIDTH], tl.float32)
    for first in range(0, keys, BLOCK_KEY):
        key = first + tl.arange(0, BLOCK_KEY)
        scores = _scores(
            a, b, vector, total, query_rows, key_rows, large, mask, element, element % heads, query, key,
            queries, keys, size, padded, mask_element, mask_query, mask_key, HAS_MASK, FAST,
        )  # fmt: skip
        now = tl.maximum(largest, tl.max(scores, axis=1))
        base = tl.where(now == float("-inf"), 0.0, now)
        powers = tl.exp(scores - base[:, None])
        kept = tl.exp(largest - base)
        offsets = (element * keys + key[:, None]) * width + feature[None, :]
        values = tl.load(value + offsets, mask=(key[:, None] < keys) & (feature[None, :] < width), other=0.0)
        mixed = mixed * kept[:, None] + tl.dot(powers.to(values.dtype), values, input_precision=PRECISION)
        sums = sums * kept + tl.sum(powers, axis=1)
        largest = now
    some = sums != 0.0  # NaN too
    mixed = tl.where(some[:, None], mixed / tl.where(some, sums, 1.0)[:, None], 0.0)
    offsets = (element * queries + query[:, None]) * width + feature[None, :]
    inside = (query[:, None] < queries) & (feature[None, :] < width)
    tl.store(context + offsets, mixed.to(context.dtype.element_ty), mask=inside)
    logs = tl.where(some, largest + tl.log(tl.where(some, sums, 1.0)), float("-inf"))
    tl.store(normalizer + element * queries + query, logs, mask=query < queries)


@triton.jit
def weights_kernel(
    a, b, vector, total, query_rows, key_rows, large, mask, normalizer, by_weight, by_sum, weights, by_score,
    queries, keys, size, padded, heads, mask_element, mask_query, mask_key, start, rows,
    HAS_MASK: tl.constexpr, FAST: tl.constexpr, BLOCK_QUERY: tl.constexpr, BLOCK_KEY: tl.constexpr,
):  # fmt: skip
    """Give the weights of `rows` queries from `start` on once more, and the gradients of their scores.

    `by_weight` holds the gradients of the weights, `by_sum` each row's sum of them times weights.
    """
    element = tl.program_id(2).to(tl.int64)
    row = tl.program_id(0) * BLOCK_QUERY + tl.arange(0, BLOCK_QUERY)
    key = tl.program_id(1) * BLOCK_KEY + tl.arange(0, BLOCK_KEY)
    query = start + row
    scores = _scores(
        a, b, vector, total, query_rows, key_rows, large, mask, element, element % heads, query, key,
        queries, keys, size, padded, mask_element, mask_query, mask_key, HAS_MASK, FAST,
    )  # fmt: skip
    counts = (row < rows) & (query < queries)
    logs = tl.load(normalizer + element * queries + query, mask=counts, other=0.0)
    shares = tl.where(
        scores == float("-inf"), 0.0, tl.exp(scores - tl.where(logs == float("-inf"), 0.0, logs)[:, None])
    )
    offsets = (element * rows + row[:, None]) * keys + key[None, :]
    inside = counts[:, None] & (key[None, :] < keys)
    tl.store(weights + offsets, shares.to(weights.dtype.element_ty), mask=inside)
    arrived = tl.load(by_weight + offsets, mask=inside, other=0.0).to(tl.float32)
    middle = tl.load(by_sum + element * queries + query, mask=counts, other=0.0)
    slopes = tl.where(shares == 0.0, 0.0, shares * (arrived - middle[:, None]))
    tl.store(by_score + offsets, slopes.to(by_score.dtype.element_ty), mask=inside)


@triton.jit
def _add_terms(slopes, x, y, large, sums, parts, VECTOR: tl.constexpr, FAST: tl.constexpr):
    """Add what a tile of pairs brings to one hidden unit: r (1 − r) and r, times the gradients of the scores."""
    if large:
        r = 1.0 / (1.0 + tl.exp(2.0 * (x[:, None] + y[None, :])))
    else:
        d = 1.0 + x[:, None] * y[None, :]
        r = _divide(tl.full(d.shape, 1.0, tl.float32), d, FAST)
    first = slopes * r
    if VECTOR:
        parts += first
    return sums + (first - first * r), parts


@triton.jit
def _units(exponentials, rows, large, row, row_is, element, unit, stride, size, padded):
    """Read hidden unit `unit` of some rows: its exponential, or itself where numbers are large."""
    if large:
        here = row_is & (tl.zeros_like(row) + unit < size)
        units = tl.load(rows + (element * stride + row) * size + unit, mask=here, other=0.0).to(tl.float32)
    else:
        units = tl.load(exponentials + (element * padded + unit) * stride + row, mask=row_is, other=0.0)
    return units


@triton.jit
def operand_kernel(
    own, other, own_rows, other_rows, large, by_score, gradient, by_vector,
    count, others, size, padded, own_stride, other_stride, own_start, other_start, rows, keys,
    VECTOR: tl.constexpr, FAST: tl.constexpr, BLOCK_OWN: tl.constexpr, BLOCK_OTHER: tl.constexpr,
):  # fmt: skip
    """Add what reaches four hidden units of some queries, from all keys, or of some keys, from `rows` queries.

    `own` and `other` are the exponentials of either side, `own_stride` and `other_stride` how many of them there are,
    of which `count` and `others`, from `own_start` and `other_start` on, take part. Adds 4 r (1 − r) times the gradient
    of the score to `gradient`. Where `VECTOR`, queries are our own, and −2 r times the gradient of the score, which
    reaches the vector, is written for each program.
    """
    element = tl.program_id(2).to(tl.int64)
    unit = tl.program_id(1) * 4
    mine = tl.program_id(0) * BLOCK_OWN + tl.arange(0, BLOCK_OWN)
    is_large = tl.load(large + element) != 0
    is_mine = mine < count
    at = own_start + mine
    x0 = _units(own, own_rows, is_large, at, is_mine, element, unit, own_stride, size, padded)
    x1 = _units(own, own_rows, is_large, at, is_mine, element, unit + 1, own_stride, size, padded)
    x2 = _units(own, own_rows, is_large, at, is_mine, element, unit + 2, own_stride, size, padded)
    x3 = _units(own, own_rows, is_large, at, is_mine, element, unit + 3, own_stride, size, padded)
    sum0 = tl.zeros([BLOCK_OWN, BLOCK_OTHER], tl.float32)
    sum1 = tl.zeros([BLOCK_OWN, BLOCK_OTHER], tl.float32)
    sum2 = tl.zeros([BLOCK_OWN, BLOCK_OTHER], tl.float32)
    sum3 = tl.zeros([BLOCK_OWN, BLOCK_OTHER], tl.float32)
    part0 = tl.zeros([BLOCK_OWN, BLOCK_OTHER], tl.float32)
    part1 = tl.zeros([BLOCK_OWN, BLOCK_OTHER], tl.float32)
    part2 = tl.zeros([BLOCK_OWN, BLOCK_OTHER], tl.float32)
    part3 = tl.zeros([BLOCK_OWN, BLOCK_OTHER], tl.float32)
    for first in range(0, others, BLOCK_OTHER):
        theirs = first + tl.arange(0, BLOCK_OTHER)
        is_theirs = theirs < others
        if VECTOR:
            offsets = (element * rows + mine[:, None]) * keys + theirs[None, :]
        else:
            offsets = (element * rows + theirs[None, :]) * keys + mine[:, None]
        slopes = tl.load(by_score + offsets, mask=is_mine[:, None] & is_theirs[None, :], other=0.0).to(tl.float32)
        there = other_start + theirs
        y0 = _units(other, other_rows, is_large, there, is_theirs, element, unit, other_stride, size, padded)
        y1 = _units(other, other_rows, is_large, there, is_theirs, element, unit + 1, other_stride, size, padded)
        y2 = _units(other, other_rows, is_large, there, is_theirs, element, unit + 2, other_stride, size, padded)
        y3 = _units(other, other_rows, is_large, there, is_theirs, element, unit + 3, other_stride, size, padded)
        sum0, part0 = _add_terms(slopes, x0, y0, is_large, sum0, part0, VECTOR, FAST)
        sum1, part1 = _add_terms(slopes, x1, y1, is_large, sum1, part1, VECTOR, FAST)
        sum2, part2 = _add_terms(slopes, x2, y2, is_large, sum2, part2, VECTOR, FAST)
        sum3, part3 = _add_terms(slopes, x3, y3, is_large, sum3, part3, VECTOR, FAST)
    pointer = gradient + (element * padded + unit) * own_stride + at
    tl.store(pointer, tl.load(pointer, mask=is_mine) + 4.0 * tl.sum(sum0, axis=1), mask=is_mine)
    pointer += own_stride
    tl.store(pointer, tl.load(pointer, mask=is_mine) + 4.0 * tl.sum(sum1, axis=1), mask=is_mine)
    pointer += own_stride
    tl.store(pointer, tl.load(pointer, mask=is_mine) + 4.0 * tl.sum(sum2, axis=1), mask=is_mine)
    pointer += own_stride
    tl.store(pointer, tl.load(pointer, mask=is_mine) + 4.0 * tl.sum(sum3, axis=1), mask=is_mine)
    if VECTOR:
        to = by_vector + (element * tl.num_programs(0) + tl.program_id(0)) * padded + unit
        tl.store(to, -2.0 * tl.sum(tl.sum(part0, axis=1), axis=0))
        tl.store(to + 1, -2.0 * tl.sum(tl.sum(part1, axis=1), axis=0))
        tl.store(to + 2, -2.0 * tl.sum(tl.sum(part2, axis=1), axis=0))
        tl.store(to + 3, -2.0 * tl.sum(tl.sum(part3, axis=1), axis=0))
