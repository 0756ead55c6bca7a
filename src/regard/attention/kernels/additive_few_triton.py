"""Additive attention for a few queries, as a recurrent decoder makes at every step, in few launches.

With one query each exponential would be used once, so none is kept: v·tanh(q + k) = Σv − 2 Σ v r, with
r = 1 / (1 + exp(2(q + k))) for each term, straight from the rows. Forward is one launch; backward is one for the
gradients of the scores, one for those of query, key and value, and one that sums the vector's over the batch.
The equations are those of `additive_triton`.
"""

from typing import no_type_check  # Triton reads the functions themselves: nothing may be wrapped around them

import triton
import triton.language as tl

from regard.attention.kernels.additive_triton import (
    SCALE,
    VARIES,
    _allowed,
    _attended,
    _attending,
    _kept,
    _large_power,
    _length,
    _reciprocal,
    _span,
)


@triton.jit
@no_type_check
def _scores_of(q, k, vector, counts, query, key, there, size, FAST: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    """Give one query's scores with some keys; `q` and `k` point at the batch element's rows."""
    terms = tl.zeros([key.shape[0], BLOCK_SIZE], tl.float32)
    total = tl.zeros([BLOCK_SIZE], tl.float32)
    for start in range(0, size, BLOCK_SIZE):
        unit = start + tl.arange(0, BLOCK_SIZE)
        inside = unit < size
        x = tl.load(q + query * size + unit, mask=inside, other=0.0).to(tl.float32) * SCALE
        x = tl.where(counts, x, 0.0)
        y = tl.load(k + key[:, None] * size + unit[None, :], mask=there[:, None] & inside[None, :], other=0.0)
        v = tl.load(vector + unit, mask=inside, other=0.0).to(tl.float32)
        terms += v[None, :] * _reciprocal(_large_power(x[None, :], y.to(tl.float32) * SCALE) + 1.0, FAST)
        total += v
    return tl.sum(total, axis=0) - 2.0 * tl.sum(terms, axis=1)


@triton.jit(do_not_specialize=VARIES)
@no_type_check
def few_forward_kernel(
    q, k, vector, lengths, mask, seed, value, context, normalizer,
    queries, keys, size, width, heads, per_length, low, high, mask_element, mask_query, mask_key, dropout,
    HAS_LENGTHS: tl.constexpr, HAS_MASK: tl.constexpr, HAS_DROPOUT: tl.constexpr, FAST: tl.constexpr,
    BLOCK_KEY: tl.constexpr, BLOCK_SIZE: tl.constexpr, BLOCK_WIDTH: tl.constexpr,
):  # fmt: skip
    """Give some features of the context of one query of one batch element, and its log normalizer."""
    element = tl.program_id(2).to(tl.int64)
    query = tl.program_id(1)
    row = query + tl.arange(0, 1)
    feature = tl.program_id(0) * BLOCK_WIDTH + tl.arange(0, BLOCK_WIDTH)
    length = _length(lengths, element, keys, per_length, HAS_LENGTHS)
    counts = _attending(query, length, queries, low, high)
    q += element * queries * size
    k += element * keys * size
    vector += element % heads * size
    strides = mask_element, mask_query, mask_key
    largest = float("-inf")
    sums = 0.0
    mixed = tl.zeros([BLOCK_WIDTH], tl.float32)
    start, stop = _span(query, 1, queries, length, low, high, BLOCK_KEY)
    for first in range(start, stop, BLOCK_KEY):
        key = first + tl.arange(0, BLOCK_KEY)
        there = _attended(key, length, queries, low, high)
        scores = _scores_of(q, k, vector, counts, query, key, there, size, FAST, BLOCK_SIZE)
        allowed = _allowed(mask, strides, element, row, key, queries, length, low, high, HAS_MASK)
        scores = tl.where(tl.reshape(allowed, [BLOCK_KEY]), scores, float("-inf"))
        now = tl.maximum(largest, tl.max(scores, axis=0))
        base = tl.where(now == float("-inf"), 0.0, now)
        powers = tl.exp(scores - base)
        rest = tl.exp(largest - base)
        sums = sums * rest + tl.sum(powers, axis=0)
        if HAS_DROPOUT:
            powers = powers * tl.reshape(_kept(seed, element, row, key, dropout), [BLOCK_KEY])
        at = (element * keys + key[:, None]) * width + feature[None, :]
        values = tl.load(value + at, mask=there[:, None] & (feature[None, :] < width), other=0.0).to(tl.float32)
        mixed = mixed * rest + tl.sum(powers[:, None] * values, axis=0)
        largest = now
    some = sums != 0.0  # NaN too
    mixed = tl.where(some, mixed / tl.where(some, sums, 1.0), 0.0)
    to = context + (element * queries + query) * width + feature
    tl.store(to, mixed.to(context.dtype.element_ty), mask=feature < width)
    logs = tl.where(some, largest + tl.log(tl.where(some, sums, 1.0)), float("-inf"))
    tl.store(normalizer + element * queries + query, logs)


@triton.jit(do_not_specialize=VARIES)
@no_type_check
def few_weights_kernel(
    q, k, vector, lengths, mask, seed, value, context, normalizer, by_context, by_weight, by_row, weights, slopes,
    queries, keys, size, width, heads, per_length, low, high, mask_element, mask_query, mask_key, dropout,
    HAS_LENGTHS: tl.constexpr, HAS_MASK: tl.constexpr, HAS_DROPOUT: tl.constexpr, FAST: tl.constexpr,
    SLOPES: tl.constexpr, BY_WEIGHT: tl.constexpr, BY_ROW: tl.constexpr, ONE: tl.constexpr,
    BLOCK_KEY: tl.constexpr, BLOCK_SIZE: tl.constexpr, BLOCK_WIDTH: tl.constexpr,
):  # fmt: skip
    """Give one query's weights with some keys and, where `SLOPES`, the gradients of their scores, in float32.

    Where all keys are `ONE` block, slopes sum to zero; by the context, which was rounded, they do so but for rounding.
    """
    element = tl.program_id(2).to(tl.int64)
    query = tl.program_id(1)
    key = tl.program_id(0) * BLOCK_KEY + tl.arange(0, BLOCK_KEY)
    row = query + tl.arange(0, 1)
    length = _length(lengths, element, keys, per_length, HAS_LENGTHS)
    counts = _attending(query, length, queries, low, high)
    there = _attended(key, length, queries, low, high)
    q += element * queries * size
    k += element * keys * size
    vector += element % heads * size
    scores = _scores_of(q, k, vector, counts, query, key, there, size, FAST, BLOCK_SIZE)
    strides = mask_element, mask_query, mask_key
    allowed = _allowed(mask, strides, element, row, key, queries, length, low, high, HAS_MASK)
    at = element * queries + query
    shares = tl.where(tl.reshape(allowed, [BLOCK_KEY]), tl.exp(scores - tl.load(normalizer + at)), 0.0)
    kept = shares
    if SLOPES:
        products = tl.zeros([BLOCK_KEY, BLOCK_WIDTH], tl.float32)
        middle = 0.0
        for start in range(0, width, BLOCK_WIDTH):
            feature = start + tl.arange(0, BLOCK_WIDTH)
            inside = feature < width
            by_feature = tl.load(by_context + at * width + feature, mask=inside, other=0.0).to(tl.float32)
            mixed = tl.load(context + at * width + feature, mask=inside, other=0.0).to(tl.float32)
            pointers = value + (element * keys + key[:, None]) * width + feature[None, :]
            values = tl.load(pointers, mask=there[:, None] & inside[None, :], other=0.0).to(tl.float32)
            products += by_feature[None, :] * values
            middle += tl.sum(by_feature * mixed, axis=0)
        arrived = tl.sum(products, axis=1)
        if HAS_DROPOUT:
            factors = tl.reshape(_kept(seed, element, row, key, dropout), [BLOCK_KEY])
            arrived = arrived * factors
            kept = shares * factors
        if ONE:
            middle = tl.sum(shares * arrived, axis=0)
        if BY_ROW:
            middle -= tl.load(by_row + at)
        if BY_WEIGHT:
            arrived += tl.load(by_weight + at * keys + key, mask=key < keys, other=0.0).to(tl.float32)
        by_score = tl.where(shares == 0.0, 0.0, shares * (arrived - middle))
        tl.store(slopes + at * keys + key, by_score, mask=key < keys)
    tl.store(weights + at * keys + key, kept, mask=key < keys)


@triton.jit
@no_type_check
def _slope_terms(q, k, slopes, query, key, unit, counts, there, keys, size, FAST: tl.constexpr):
    """Give s r and s r (1 − r) for one query, some keys and some hidden units."""
    inside = unit < size
    x = tl.load(q + query * size + unit, mask=inside, other=0.0).to(tl.float32) * SCALE
    x = tl.where(counts, x, 0.0)
    y = tl.load(k + key[:, None] * size + unit[None, :], mask=there[:, None] & inside[None, :], other=0.0)
    r = _reciprocal(_large_power(x[None, :], y.to(tl.float32) * SCALE) + 1.0, FAST)
    f = tl.load(slopes + query * keys + key, mask=key < keys, other=0.0)[:, None] * r
    return f, f - f * r


@triton.jit(do_not_specialize=VARIES)
@no_type_check
def few_gradients_kernel(
    q, k, vector, lengths, weights, slopes, by_context, by_query, by_key, by_value, by_vector,
    queries, keys, size, width, heads, per_length, low, high, unit_blocks, key_blocks,
    HAS_LENGTHS: tl.constexpr, FAST: tl.constexpr, BLOCK_KEY: tl.constexpr, BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    """Give the gradients of one batch element, some hidden units or features at a time; programs have three tasks.

    The first `unit_blocks` go over queries, for theirs and the vector's; the next over keys; the last over values.
    """
    element = tl.program_id(1).to(tl.int64)
    block = tl.program_id(0)
    length = _length(lengths, element, keys, per_length, HAS_LENGTHS)
    q += element * queries * size
    k += element * keys * size
    slopes += element * queries * keys
    lane = tl.arange(0, BLOCK_SIZE)
    if block < unit_blocks:
        unit = block * BLOCK_SIZE + lane
        factor = 4.0 * tl.load(vector + element % heads * size + unit, mask=unit < size, other=0.0).to(tl.float32)
        part = tl.zeros([BLOCK_SIZE], tl.float32)
        for query in range(queries):
            counts = _attending(query, length, queries, low, high)
            total = tl.zeros([BLOCK_SIZE], tl.float32)
            for first in range(0, length, BLOCK_KEY):
                key = first + tl.arange(0, BLOCK_KEY)
                there = _attended(key, length, queries, low, high)
                f, g = _slope_terms(q, k, slopes, query, key, unit, counts, there, keys, size, FAST)
                total += tl.sum(g, axis=0)
                part += tl.sum(f, axis=0)
            to = by_query + (element * queries + query) * size + unit
            tl.store(to, (factor * total).to(by_query.dtype.element_ty), mask=unit < size)
        tl.store(by_vector + element * size + unit, part, mask=unit < size)
    elif block < unit_blocks * (1 + key_blocks):
        unit = (block - unit_blocks) // key_blocks * BLOCK_SIZE + lane
        key = (block - unit_blocks) % key_blocks * BLOCK_KEY + tl.arange(0, BLOCK_KEY)
        factor = 4.0 * tl.load(vector + element % heads * size + unit, mask=unit < size, other=0.0).to(tl.float32)
        there = _attended(key, length, queries, low, high)
        result = tl.zeros([BLOCK_KEY, BLOCK_SIZE], tl.float32)
        for query in range(queries):
            counts = _attending(query, length, queries, low, high)
            _, g = _slope_terms(q, k, slopes, query, key, unit, counts, there, keys, size, FAST)
            result += g
        to = by_key + (element * keys + key[:, None]) * size + unit[None, :]
        inside = (key < keys)[:, None] & (unit < size)[None, :]
        tl.store(to, (factor[None, :] * result).to(by_key.dtype.element_ty), mask=inside)
    else:
        block -= unit_blocks * (1 + key_blocks)
        feature = block // key_blocks * BLOCK_SIZE + lane
        key = block % key_blocks * BLOCK_KEY + tl.arange(0, BLOCK_KEY)
        result = tl.zeros([BLOCK_KEY, BLOCK_SIZE], tl.float32)
        for query in range(queries):
            at = element * queries + query
            share = tl.load(weights + at * keys + key, mask=key < keys, other=0.0)
            arrived = tl.load(by_context + at * width + feature, mask=feature < width, other=0.0).to(tl.float32)
            result += share[:, None] * arrived[None, :]
        to = by_value + (element * keys + key[:, None]) * width + feature[None, :]
        inside = (key < keys)[:, None] & (feature < width)[None, :]
        tl.store(to, result.to(by_value.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=VARIES)
@no_type_check
def few_vector_kernel(
    by_vector, result, elements, size, heads, BLOCK_ELEMENT: tl.constexpr, BLOCK_SIZE: tl.constexpr
):  # fmt: skip
    """Sum what reaches a head's vector, times −2, over the batch elements."""
    head = tl.program_id(1)
    unit = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    total = tl.zeros([BLOCK_ELEMENT, BLOCK_SIZE], tl.float32)
    for first in range(0, elements, heads * BLOCK_ELEMENT):
        element = first + head + heads * tl.arange(0, BLOCK_ELEMENT)
        inside = (element < elements)[:, None] & (unit < size)[None, :]
        total += tl.load(by_vector + element[:, None] * size + unit[None, :], mask=inside, other=0.0)
    summed = -2.0 * tl.sum(total, axis=0)
    tl.store(result + head * size + unit, summed.to(result.dtype.element_ty), mask=unit < size)
