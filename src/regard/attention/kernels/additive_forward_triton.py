"""The forward pass of fused additive attention, and its weights once more for the backward pass; see `additive_triton`."""

from typing import no_type_check  # Triton reads the functions themselves: nothing may be wrapped around them

import triton
import triton.language as tl

from regard.attention.kernels.additive_triton import (
    BLOCK,
    MOST,
    SCALE,
    VARIES,
    _allowed,
    _attended,
    _attending,
    _kept,
    _large_power,
    _length,
    _most_of_keys,
    _most_of_queries,
    _reciprocal,
    _span,
)


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


@triton.jit(do_not_specialize=[*VARIES, "size"])
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


@triton.jit(do_not_specialize=[*VARIES, "size"])
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
