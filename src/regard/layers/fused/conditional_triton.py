"""What stands between the matrix products of a GRU with additive attention, one step at a time, in Triton.

Attention: with r = 1 / (1 + exp(2(q + k))), v·tanh(q + k) = Σv − 2 Σ v r, and a softmax drops Σv; see `additive_triton`.
"""

from typing import no_type_check  # Triton reads the functions themselves: nothing may be wrapped around them

import triton
import triton.language as tl

from regard.attention.kernels.additive_triton import SCALE, _large_power, _length, _reciprocal

#: Numbers that change from batch to batch: a kernel compiled for each kind of them would be compiled all the time.
VARIES = ["keys", "steps", "rows"]


@triton.jit
@no_type_check
def _reciprocals(q, k, key, there, unit, inside, size, FAST: tl.constexpr):
    """Give r for one query, some keys and some hidden units; `k` points at the batch element's first key."""
    x = tl.load(q + unit, mask=inside, other=0.0).to(tl.float32) * SCALE
    y = tl.load(k + key[:, None] * size + unit[None, :], mask=there[:, None] & inside[None, :], other=0.0)
    return _reciprocal(_large_power(x[None, :], y.to(tl.float32) * SCALE) + 1.0, FAST)


@triton.jit(do_not_specialize=VARIES)
@no_type_check
def attend_kernel(
    q, k, vector, value, lengths, context, weights, keys, size, width, row_stride,
    HAS_LENGTHS: tl.constexpr, FAST: tl.constexpr,
    BLOCK_KEY: tl.constexpr, BLOCK_SIZE: tl.constexpr, BLOCK_WIDTH: tl.constexpr,
):  # fmt: skip
    """Give some features of one row's context, from all scores, which each program of a row computes.

    The first program of a row writes its weights too.
    """
    row = tl.program_id(1).to(tl.int64)
    feature = tl.program_id(0) * BLOCK_WIDTH + tl.arange(0, BLOCK_WIDTH)
    length = _length(lengths, row, keys, 1, HAS_LENGTHS)
    q += row * row_stride
    k += row * keys * size
    weights += row * keys
    largest = float("-inf")
    total = 0.0
    mixed = tl.zeros([BLOCK_WIDTH], tl.float32)
    for first in range(0, length, BLOCK_KEY):
        key = first + tl.arange(0, BLOCK_KEY)
        there = key < length
        terms = tl.zeros([BLOCK_KEY, BLOCK_SIZE], tl.float32)
        for start in range(0, size, BLOCK_SIZE):
            unit = start + tl.arange(0, BLOCK_SIZE)
            inside = unit < size
            v = tl.load(vector + unit, mask=inside, other=0.0).to(tl.float32)
            terms += v[None, :] * _reciprocals(q, k, key, there, unit, inside, size, FAST)
        scores = tl.where(there, -2.0 * tl.sum(terms, axis=1), float("-inf"))
        now = tl.maximum(largest, tl.max(scores, axis=0))
        powers = tl.exp(scores - now)
        rest = tl.exp(largest - now)
        total = total * rest + tl.sum(powers, axis=0)
        at = (row * keys + key[:, None]) * width + feature[None, :]
        values = tl.load(value + at, mask=there[:, None] & (feature < width)[None, :], other=0.0).to(tl.float32)
        mixed = mixed * rest + tl.sum(powers[:, None] * values, axis=0)
        largest = now
        if tl.program_id(0) == 0:
            tl.store(weights + key, scores, mask=there)
    some = total != 0.0  # NaN too
    mixed = tl.where(some, mixed / tl.where(some, total, 1.0), 0.0)
    tl.store(context + row * width + feature, mixed.to(context.dtype.element_ty), mask=feature < width)
    if tl.program_id(0) == 0:
        tl.debug_barrier()
        for first in range(0, keys, BLOCK_KEY):
            key = first + tl.arange(0, BLOCK_KEY)
            scores = tl.load(weights + key, mask=key < length, other=float("-inf"))
            shares = tl.where(key < length, tl.exp(scores - largest) / tl.where(some, total, 1.0), 0.0)
            tl.store(weights + key, shares, mask=key < keys)


@triton.jit
@no_type_check
def _by_shares(by_gates, by_features, value, key, there, width, BLOCK_WIDTH: tl.constexpr):
    """Give the gradients of one row's weights with some keys; all point at what belongs to the row."""
    products = tl.zeros([key.shape[0], BLOCK_WIDTH], tl.float32)
    for start in range(0, width, BLOCK_WIDTH):
        feature = start + tl.arange(0, BLOCK_WIDTH)
        wide = feature < width
        arrived = tl.load(by_gates + feature, mask=wide, other=0.0).to(tl.float32)
        arrived += tl.load(by_features + feature, mask=wide, other=0.0).to(tl.float32)
        at = key[:, None] * width + feature[None, :]
        values = tl.load(value + at, mask=there[:, None] & wide[None, :], other=0.0).to(tl.float32)
        products += arrived[None, :] * values
    return tl.sum(products, axis=1)


@triton.jit(do_not_specialize=VARIES)
@no_type_check
def attend_backward_kernel(
    q, k, vector, value, lengths, weights, by_gates, by_features, by_query, by_context, slopes,
    keys, size, width, row_stride, slope_stride,
    HAS_LENGTHS: tl.constexpr, FAST: tl.constexpr, ONE: tl.constexpr,
    BLOCK_KEY: tl.constexpr, BLOCK_SIZE: tl.constexpr, BLOCK_WIDTH: tl.constexpr,
):  # fmt: skip
    """Give some hidden units of the gradient of one row's query; `ONE`: all keys are one block.

    The gradient of the context is what gates and features bring. The first program of a row writes it, and the
    gradients of the row's scores, from which those of keys, values and vector are made when all steps are done.
    """
    row = tl.program_id(1).to(tl.int64)
    unit = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    inside = unit < size
    length = _length(lengths, row, keys, 1, HAS_LENGTHS)
    q += row * row_stride
    k += row * keys * size
    value += row * keys * width
    weights += row * keys
    slopes += row * keys
    by_gates += row * width
    by_features += row * width
    middle = 0.0  # Σ w ∂w, from the weights themselves: the rounded context would leave slopes that sum to something
    if not ONE:
        for first in range(0, keys, BLOCK_KEY):
            key = first + tl.arange(0, BLOCK_KEY)
            there = key < length
            shares = tl.load(weights + key, mask=there, other=0.0)
            by_share = _by_shares(by_gates, by_features, value, key, there, width, BLOCK_WIDTH)
            middle += tl.sum(shares * by_share, axis=0)
    result = tl.zeros([BLOCK_SIZE], tl.float32)
    for first in range(0, keys, BLOCK_KEY):
        key = first + tl.arange(0, BLOCK_KEY)
        there = key < length
        shares = tl.load(weights + key, mask=there, other=0.0)
        by_share = _by_shares(by_gates, by_features, value, key, there, width, BLOCK_WIDTH)
        if ONE:
            middle = tl.sum(shares * by_share, axis=0)
        slope = tl.where(there, shares * (by_share - middle), 0.0)
        if tl.program_id(0) == 0:
            tl.store(slopes + key, slope, mask=key < keys)
        r = _reciprocals(q, k, key, there, unit, inside, size, FAST)
        result += tl.sum(slope[:, None] * (r - r * r), axis=0)
    factor = 4.0 * tl.load(vector + unit, mask=inside, other=0.0).to(tl.float32)
    to = by_query + row * slope_stride + unit
    tl.store(to, (factor * result).to(by_query.dtype.element_ty), mask=inside)
    if tl.program_id(0) == 0:
        for start in range(0, width, BLOCK_WIDTH):
            feature = start + tl.arange(0, BLOCK_WIDTH)
            wide = feature < width
            arrived = tl.load(by_gates + feature, mask=wide, other=0.0).to(tl.float32)
            arrived += tl.load(by_features + feature, mask=wide, other=0.0).to(tl.float32)
            to = by_context + row * width + feature
            tl.store(to, arrived.to(by_context.dtype.element_ty), mask=wide)


@triton.jit(do_not_specialize=VARIES)
@no_type_check
def memory_gradients_kernel(
    q, k, vector, lengths, slopes, by_key, by_vector, steps, rows, keys, size, step_stride, row_stride,
    HAS_LENGTHS: tl.constexpr, FAST: tl.constexpr, BLOCK_KEY: tl.constexpr, BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    """Give the gradients of some keys of one row, of all steps, and what they bring the vector."""
    row = tl.program_id(2).to(tl.int64)
    key = tl.program_id(1) * BLOCK_KEY + tl.arange(0, BLOCK_KEY)
    unit = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    inside = unit < size
    there = key < _length(lengths, row, keys, 1, HAS_LENGTHS)
    q += row * row_stride
    k += row * keys * size
    slopes += row * keys
    y = tl.load(k + key[:, None] * size + unit[None, :], mask=there[:, None] & inside[None, :], other=0.0)
    y = y.to(tl.float32) * SCALE
    total = tl.zeros([BLOCK_KEY, BLOCK_SIZE], tl.float32)
    part = tl.zeros([BLOCK_KEY, BLOCK_SIZE], tl.float32)
    for _ in range(steps):
        x = tl.load(q + unit, mask=inside, other=0.0).to(tl.float32) * SCALE
        slope = tl.load(slopes + key, mask=key < keys, other=0.0)
        r = _reciprocal(_large_power(x[None, :], y) + 1.0, FAST)
        f = slope[:, None] * r
        part += f
        total += f - f * r
        q += step_stride
        slopes += rows * keys
    factor = 4.0 * tl.load(vector + unit, mask=inside, other=0.0).to(tl.float32)
    to = by_key + (row * keys + key[:, None]) * size + unit[None, :]
    tl.store(to, (factor[None, :] * total).to(by_key.dtype.element_ty), mask=(key < keys)[:, None] & inside[None, :])
    to = by_vector + (row * tl.num_programs(1) + tl.program_id(1)) * size + unit
    tl.store(to, -2.0 * tl.sum(part, axis=0), mask=inside)


@triton.jit
@no_type_check
def _sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
@no_type_check
def _tanh(x):
    return 1.0 - 2.0 / (1.0 + tl.exp(2.0 * x))


@triton.jit
@no_type_check
def open_kernel(projected, of_context, gates, state, kept, size, gate_stride, BLOCK: tl.constexpr):
    """Give the reset and update gates, over what they are made of, and the state that the reset lets through."""
    row = tl.program_id(1).to(tl.int64)
    unit = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = unit < size
    s = tl.load(state + row * size + unit, mask=inside, other=0.0).to(tl.float32)
    gates += row * gate_stride
    for gate in tl.static_range(2):
        at = gate * size + unit
        x = tl.load(gates + at, mask=inside, other=0.0).to(tl.float32)
        x += tl.load(projected + row * 3 * size + at, mask=inside, other=0.0).to(tl.float32)
        x += tl.load(of_context + row * 3 * size + at, mask=inside, other=0.0).to(tl.float32)
        share = _sigmoid(x)
        tl.store(gates + at, share.to(gates.dtype.element_ty), mask=inside)
        if gate == 0:
            tl.store(kept + row * size + unit, (share * s).to(kept.dtype.element_ty), mask=inside)


@triton.jit
@no_type_check
def close_kernel(
    projected, of_context, product, update, state, candidate, following, size, gate_stride, BLOCK: tl.constexpr
):  # fmt: skip
    """Give the candidate and the next state."""
    row = tl.program_id(1).to(tl.int64)
    unit = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = unit < size
    at = row * size + unit
    x = tl.load(product + at, mask=inside, other=0.0).to(tl.float32)
    x += tl.load(projected + row * 3 * size + 2 * size + unit, mask=inside, other=0.0).to(tl.float32)
    x += tl.load(of_context + row * 3 * size + 2 * size + unit, mask=inside, other=0.0).to(tl.float32)
    new = _tanh(x)
    z = tl.load(update + row * gate_stride + unit, mask=inside, other=0.0).to(tl.float32)
    s = tl.load(state + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(candidate + at, new.to(candidate.dtype.element_ty), mask=inside)
    tl.store(following + at, (s + z * (new - s)).to(following.dtype.element_ty), mask=inside)


@triton.jit
@no_type_check
def close_backward_kernel(
    by_following, by_products, carried, candidate, update, state, by_update, by_candidate,
    size, gate_stride, slope_stride, LAST: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Give the gradients of update gate and candidate before their nonlinearities; carry what stays in the state.

    The gradient of the next state is what the outputs bring and, but for the last step, what the step behind it does.
    """
    row = tl.program_id(1).to(tl.int64)
    unit = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = unit < size
    at = row * size + unit
    arrived = tl.load(by_following + at, mask=inside, other=0.0).to(tl.float32)
    if not LAST:
        arrived += tl.load(carried + at, mask=inside, other=0.0)
        arrived += tl.load(by_products + at, mask=inside, other=0.0).to(tl.float32)
    new = tl.load(candidate + at, mask=inside, other=0.0).to(tl.float32)
    z = tl.load(update + row * gate_stride + unit, mask=inside, other=0.0).to(tl.float32)
    s = tl.load(state + at, mask=inside, other=0.0).to(tl.float32)
    by_z = arrived * (new - s) * z * (1.0 - z)
    by_new = arrived * z * (1.0 - new * new)
    tl.store(by_update + row * slope_stride + unit, by_z.to(by_update.dtype.element_ty), mask=inside)
    tl.store(by_candidate + row * slope_stride + unit, by_new.to(by_candidate.dtype.element_ty), mask=inside)
    tl.store(carried + at, arrived * (1.0 - z), mask=inside)


@triton.jit
@no_type_check
def open_backward_kernel(
    by_kept, carried, reset, state, by_reset, size, gate_stride, slope_stride, BLOCK: tl.constexpr
):  # fmt: skip
    """Give the gradient of the reset gate before its nonlinearity; carry what it lets through to the state."""
    row = tl.program_id(1).to(tl.int64)
    unit = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = unit < size
    at = row * size + unit
    arrived = tl.load(by_kept + at, mask=inside, other=0.0).to(tl.float32)
    r = tl.load(reset + row * gate_stride + unit, mask=inside, other=0.0).to(tl.float32)
    s = tl.load(state + at, mask=inside, other=0.0).to(tl.float32)
    by_r = arrived * s * r * (1.0 - r)
    tl.store(by_reset + row * slope_stride + unit, by_r.to(by_reset.dtype.element_ty), mask=inside)
    tl.store(carried + at, tl.load(carried + at, mask=inside, other=0.0) + arrived * r, mask=inside)
