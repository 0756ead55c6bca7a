"""What stands between the matrix products of a Transformer block, in Triton: each number is read and written once.

A program takes some rows at a time and, in the backward passes, goes on to others, while it adds up the gradients of
biases and norms along the columns: one row of sums for each program, which torch adds up in a fixed order.

Whether dropout keeps a number follows from the seed, the number of the call, row and column alone, so that the backward
pass computes it again and nothing is stored. A Philox draw for each number would take longer than to read it; these are
the mixing steps of a 32-bit hash ("lowbias32", by C. Wellons), three for each row and one for each number.
"""

import triton
import triton.language as tl


@triton.jit
def _mix(bits):
    bits = bits ^ (bits >> 16)
    bits = bits * 0x7FEB352D
    bits = bits ^ (bits >> 15)
    bits = bits * 0x846CA68B
    return bits ^ (bits >> 16)


@triton.jit
def _factors(seed, call, row, unit, dropout):
    """Give 0 for the numbers that are dropped and 1 / (1 − dropout) for the others."""
    drawn = tl.load(seed)
    low = (drawn & 0xFFFFFFFF).to(tl.uint32)
    high = (drawn >> 32).to(tl.uint32)
    key = _mix(_mix(row.to(tl.uint32) ^ _mix(_mix(low) + call)) + high)
    bits = _mix(key[:, None] + unit.to(tl.uint32)[None, :] * 0x9E3779B9)
    number = (bits >> 8).to(tl.int32).to(tl.float32) * 5.9604644775390625e-08  # 2⁻²⁴: from 0 to 1
    return tl.where(number >= dropout, 1.0 / (1.0 - dropout), 0.0)


@triton.jit(do_not_specialize=["rows", "epsilon", "dropout", "call"])
def add_norm_kernel(
    states, product, bias, weight, shift, seed, total, normed, means, scales, rows, size, epsilon, dropout, call,
    PRODUCT: tl.constexpr, BIAS: tl.constexpr, DROPOUT: tl.constexpr, NORM: tl.constexpr, SHIFT: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Add what a sublayer gave, and normalize the sum."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    unit = tl.arange(0, BLOCK)
    wide = unit < size
    inside = (row < rows)[:, None] & wide[None, :]
    at = row[:, None].to(tl.int64) * size + unit[None, :]
    x = tl.load(states + at, mask=inside, other=0.0).to(tl.float32)
    if PRODUCT:
        added = tl.load(product + at, mask=inside, other=0.0).to(tl.float32)
        if BIAS:
            added += tl.load(bias + unit, mask=wide, other=0.0).to(tl.float32)[None, :]
        if DROPOUT:
            added *= _factors(seed, call, row, unit, dropout)
        rounded = (x + added).to(total.dtype.element_ty)
        tl.store(total + at, rounded, mask=inside)
        x = rounded.to(tl.float32)
    if NORM:
        mean = tl.sum(tl.where(inside, x, 0.0), axis=1) / size
        apart = tl.where(inside, x - mean[:, None], 0.0)
        scale = 1.0 / tl.sqrt(tl.sum(apart * apart, axis=1) / size + epsilon)
        tl.store(means + row, mean, mask=row < rows)
        tl.store(scales + row, scale, mask=row < rows)
        result = apart * scale[:, None] * tl.load(weight + unit, mask=wide, other=0.0).to(tl.float32)[None, :]
        if SHIFT:
            result += tl.load(shift + unit, mask=wide, other=0.0).to(tl.float32)[None, :]
        tl.store(normed + at, result.to(normed.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["rows", "dropout", "call"])
def add_norm_backward_kernel(
    by_total, by_normed, total, weight, means, scales, seed, by_states, by_product, sums, rows, size, dropout, call,
    TOTAL: tl.constexpr, NORM: tl.constexpr, PRODUCT: tl.constexpr, DROPOUT: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Differentiate it; `sums` are those of the norm's weight and shift and of the product's bias."""
    unit = tl.arange(0, BLOCK)
    wide = unit < size
    by_weight = tl.zeros([BLOCK], tl.float32)
    by_shift = tl.zeros([BLOCK], tl.float32)
    by_bias = tl.zeros([BLOCK], tl.float32)
    for first in range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & wide[None, :]
        at = row[:, None].to(tl.int64) * size + unit[None, :]
        slope = tl.zeros([ROWS, BLOCK], tl.float32)
        if TOTAL:
            slope = tl.load(by_total + at, mask=inside, other=0.0).to(tl.float32)
        if NORM:
            arrived = tl.load(by_normed + at, mask=inside, other=0.0).to(tl.float32)
            mean = tl.load(means + row, mask=row < rows, other=0.0)
            scale = tl.load(scales + row, mask=row < rows, other=0.0)
            x = tl.load(total + at, mask=inside, other=0.0).to(tl.float32)
            x = tl.where(inside, (x - mean[:, None]) * scale[:, None], 0.0)
            by_weight += tl.sum(arrived * x, axis=0)
            by_shift += tl.sum(arrived, axis=0)
            arrived = arrived * tl.load(weight + unit, mask=wide, other=0.0).to(tl.float32)[None, :]
            along = tl.sum(arrived * x, axis=1) / size
            mean = tl.sum(arrived, axis=1) / size
            slope += scale[:, None] * (arrived - mean[:, None] - x * along[:, None])
            tl.store(by_states + at, slope.to(by_states.dtype.element_ty), mask=inside)
        if PRODUCT:
            if DROPOUT:
                slope = slope * _factors(seed, call, row, unit, dropout)
            slope = tl.where(inside, slope, 0.0)
            tl.store(by_product + at, slope.to(by_product.dtype.element_ty), mask=inside)
            by_bias += tl.sum(slope, axis=0)
    sums = sums + tl.program_id(0) * 3 * size + unit
    tl.store(sums, by_weight, mask=wide)
    tl.store(sums + size, by_shift, mask=wide)
    tl.store(sums + 2 * size, by_bias, mask=wide)


@triton.jit
def _activated(x, ACTIVATION: tl.constexpr):
    """Give φ(x) and φ′(x)."""
    if ACTIVATION == "relu":
        value = tl.where(x > 0, x, 0.0)
        slope = tl.where(x > 0, 1.0, 0.0)
    elif ACTIVATION == "gelu":
        below = 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))
        value = x * below
        slope = below + x * 0.3989422804014327 * tl.exp(-0.5 * x * x)
    else:
        below = 1.0 / (1.0 + tl.exp(-x))
        value = x * below
        slope = below * (1.0 + x * (1.0 - below))
    return value, slope


@triton.jit(do_not_specialize=["rows", "dropout", "call"])
def activate_kernel(
    product, bias, seed, hidden, rows, width, dropout, call,
    ACTIVATION: tl.constexpr, GATED: tl.constexpr, BIAS: tl.constexpr, DROPOUT: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Add the bias and apply the nonlinearity; a gate stands in the second half of the columns."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    unit = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    wide = unit < width
    inside = (row < rows)[:, None] & wide[None, :]
    at = row[:, None].to(tl.int64) * width + unit[None, :]
    own = at + (row[:, None].to(tl.int64) * width if GATED else 0)
    x = tl.load(product + own, mask=inside, other=0.0).to(tl.float32)
    if BIAS:
        x += tl.load(bias + unit, mask=wide, other=0.0).to(tl.float32)[None, :]
    value, _ = _activated(x, ACTIVATION)
    if GATED:
        gate = tl.load(product + own + width, mask=inside, other=0.0).to(tl.float32)
        if BIAS:
            gate += tl.load(bias + width + unit, mask=wide, other=0.0).to(tl.float32)[None, :]
        value *= gate
    if DROPOUT:
        value *= _factors(seed, call, row, unit, dropout)
    tl.store(hidden + at, value.to(hidden.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["rows", "dropout", "call"])
def activate_backward_kernel(
    by_hidden, product, bias, seed, by_product, sums, rows, width, dropout, call,
    ACTIVATION: tl.constexpr, GATED: tl.constexpr, BIAS: tl.constexpr, DROPOUT: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Differentiate it; `sums` are those of the bias."""
    unit = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    wide = unit < width
    by_bias = tl.zeros([BLOCK], tl.float32)
    by_gate_bias = tl.zeros([BLOCK], tl.float32)
    for first in range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & wide[None, :]
        at = row[:, None].to(tl.int64) * width + unit[None, :]
        own = at + (row[:, None].to(tl.int64) * width if GATED else 0)
        arrived = tl.load(by_hidden + at, mask=inside, other=0.0).to(tl.float32)
        if DROPOUT:
            arrived *= _factors(seed, call, row, unit, dropout)
        x = tl.load(product + own, mask=inside, other=0.0).to(tl.float32)
        if BIAS:
            x += tl.load(bias + unit, mask=wide, other=0.0).to(tl.float32)[None, :]
        value, slope = _activated(x, ACTIVATION)
        if GATED:
            gate = tl.load(product + own + width, mask=inside, other=0.0).to(tl.float32)
            if BIAS:
                gate += tl.load(bias + width + unit, mask=wide, other=0.0).to(tl.float32)[None, :]
            by_gate = tl.where(inside, arrived * value, 0.0)
            tl.store(by_product + own + width, by_gate.to(by_product.dtype.element_ty), mask=inside)
            by_gate_bias += tl.sum(by_gate, axis=0)
            slope *= gate
        slope = tl.where(inside, slope * arrived, 0.0)
        tl.store(by_product + own, slope.to(by_product.dtype.element_ty), mask=inside)
        by_bias += tl.sum(slope, axis=0)
    if BIAS:
        sums = sums + tl.program_id(0) * (2 * width if GATED else width) + unit
        tl.store(sums, by_bias, mask=wide)
        if GATED:
            tl.store(sums + width, by_gate_bias, mask=wide)


@triton.jit(do_not_specialize=["rows", "step_1", "step_2", "step_3"])
def merge_kernel(
    part_1, part_2, part_3, merged, sums, rows, step_1, step_2, step_3, width_1, width_2, width_3, start, columns,
    STORE: tl.constexpr, SUMS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Lay up to three parts side by side, from the column `start` on, and add up their rows."""
    number = tl.program_id(2)
    unit = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    width = width_1
    if number == 1:
        start += width_1
        width = width_2
    if number == 2:
        start += width_1 + width_2
        width = width_3
    wide = unit < width
    total = tl.zeros([BLOCK], tl.float32)
    for first in range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS):
        row = first + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & wide[None, :]
        row = row[:, None].to(tl.int64)
        if number == 0:
            tile = tl.load(part_1 + row * step_1 + unit[None, :], mask=inside, other=0.0)
        elif number == 1:
            tile = tl.load(part_2 + row * step_2 + unit[None, :], mask=inside, other=0.0)
        else:
            tile = tl.load(part_3 + row * step_3 + unit[None, :], mask=inside, other=0.0)
        if STORE:
            tl.store(merged + row * columns + start + unit[None, :], tile, mask=inside)
        total += tl.sum(tile.to(tl.float32), axis=0)
    if SUMS:
        tl.store(sums + tl.program_id(0) * columns + start + unit, total, mask=wide)
