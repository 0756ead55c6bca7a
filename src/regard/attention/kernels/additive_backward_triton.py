"""The gradients of queries, keys and vectors of fused additive attention; see `additive_triton`."""

from typing import no_type_check  # Triton reads the functions themselves: nothing may be wrapped around them

import triton
import triton.language as tl

from regard.attention.kernels.additive_triton import (
    BLOCK,
    MOST,
    SCALE,
    VARIES,
    _attended,
    _attending,
    _large_power,
    _length,
    _most_of_keys,
    _most_of_queries,
    _reciprocal,
    _span,
)


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
                t0 = r0 - r0 * r0
                t1 = r1 - r1 * r1
                # s stays a factor of every sum, so that each is one multiply-add
                sums_now = sums_now + (sums[i * UNITS + p] + s * t0, sums[i * UNITS + p + 1] + s * t1)
                down_now = down_now + (down[p] + s * t0, down[p + 1] + s * t1)
                parts_now = parts_now + (parts[p] + s * r0, parts[p + 1] + s * r1)
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


@triton.jit(do_not_specialize=[*VARIES, "size"])
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
