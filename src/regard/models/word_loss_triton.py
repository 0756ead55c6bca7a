"""The loss of logits and their gradients in one kernel: written over the logits, a row or two to a program."""

import triton
import triton.language as tl


@triton.jit
def _normalizer(logits, vocabulary, BLOCK: tl.constexpr):
    """Give log Σ exp z, and Σ z, of a row."""
    largest = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    sums = tl.zeros([BLOCK], tl.float32)
    for first in range(0, vocabulary, BLOCK):
        word = first + tl.arange(0, BLOCK)
        z = tl.load(logits + word, mask=word < vocabulary, other=float("-inf")).to(tl.float32)
        now = tl.maximum(largest, z)
        base = tl.where(now == float("-inf"), 0.0, now)
        sums = sums * tl.exp(largest - base) + tl.exp(z - base)
        total += tl.where(word < vocabulary, z, 0.0)
        largest = now
    highest = tl.max(largest, axis=0)
    return highest + tl.log(tl.sum(sums * tl.exp(largest - highest), axis=0)), tl.sum(total, axis=0)


@triton.jit
def _store_losses(losses, row, rows, of_right, normalizer, total, vocabulary, smoothing, added):
    """Write the loss of a row, with smoothing and without, of the logit `of_right`.

    That is read before the sums over the row, for which all threads wait: later, others write over it.
    """
    tl.store(losses + row, normalizer - (1 - smoothing) * of_right - smoothing * total / vocabulary + added)
    tl.store(losses + rows + row, normalizer - of_right)


@triton.jit
def _store_nothing(losses, row, rows, logits, vocabulary, BLOCK: tl.constexpr):
    """Make a row zero that does not count."""
    tl.store(losses + row, 0.0)
    tl.store(losses + rows + row, 0.0)
    for first in range(0, vocabulary, BLOCK):
        word = first + tl.arange(0, BLOCK)
        tl.store(logits + word, tl.zeros([BLOCK], logits.dtype.element_ty), mask=word < vocabulary)


@triton.jit
def row_kernel(
    logits, right, counts, losses, rows, vocabulary, smoothing, r_drop, BLOCK: tl.constexpr
):  # fmt: skip
    """Compute one row."""
    row = tl.program_id(0).to(tl.int64)
    own = logits + row * vocabulary
    if tl.load(counts + row):
        answer = tl.load(right + row)
        of_right = tl.load(own + answer).to(tl.float32)
        normalizer, total = _normalizer(own, vocabulary, BLOCK)
        _store_losses(losses, row, rows, of_right, normalizer, total, vocabulary, smoothing, 0.0)
        for first in range(0, vocabulary, BLOCK):
            word = first + tl.arange(0, BLOCK)
            z = tl.load(own + word, mask=word < vocabulary, other=float("-inf")).to(tl.float32)
            slope = tl.exp(z - normalizer) - tl.where(word == answer, 1.0 - smoothing, 0.0)
            tl.store(own + word, slope.to(logits.dtype.element_ty), mask=word < vocabulary)
    else:
        _store_nothing(losses, row, rows, own, vocabulary, BLOCK)


@triton.jit
def pair_kernel(
    logits, right, counts, losses, rows, vocabulary, smoothing, r_drop, BLOCK: tl.constexpr
):  # fmt: skip
    """Compute two passes over one word, with how far they are apart."""
    row = 2 * tl.program_id(0).to(tl.int64)
    own = logits + row * vocabulary
    other = own + vocabulary
    if tl.load(counts + row):
        answer = tl.load(right + row)
        right0 = tl.load(own + answer).to(tl.float32)
        right1 = tl.load(other + answer).to(tl.float32)
        n0, total0 = _normalizer(own, vocabulary, BLOCK)
        n1, total1 = _normalizer(other, vocabulary, BLOCK)
        sum0 = tl.zeros([BLOCK], tl.float32)
        sum1 = tl.zeros([BLOCK], tl.float32)
        for first in range(0, vocabulary, BLOCK):
            word = first + tl.arange(0, BLOCK)
            inside = word < vocabulary
            l0 = tl.load(own + word, mask=inside, other=0.0).to(tl.float32) - n0
            l1 = tl.load(other + word, mask=inside, other=0.0).to(tl.float32) - n1
            sum0 += tl.where(inside, tl.exp(l0) * (l0 - l1), 0.0)
            sum1 += tl.where(inside, tl.exp(l1) * (l1 - l0), 0.0)
        mean0 = tl.sum(sum0, axis=0)
        mean1 = tl.sum(sum1, axis=0)
        added = r_drop / 4 * (mean0 + mean1)
        _store_losses(losses, row, rows, right0, n0, total0, vocabulary, smoothing, added)
        _store_losses(losses, row + 1, rows, right1, n1, total1, vocabulary, smoothing, added)
        for first in range(0, vocabulary, BLOCK):
            word = first + tl.arange(0, BLOCK)
            inside = word < vocabulary
            l0 = tl.load(own + word, mask=inside, other=0.0).to(tl.float32) - n0
            l1 = tl.load(other + word, mask=inside, other=0.0).to(tl.float32) - n1
            p0 = tl.exp(l0)
            p1 = tl.exp(l1)
            taken = tl.where(word == answer, 1.0 - smoothing, 0.0)
            slope0 = p0 - taken + r_drop / 2 * (p0 * (l0 - l1 - mean0 + 1.0) - p1)
            slope1 = p1 - taken + r_drop / 2 * (p1 * (l1 - l0 - mean1 + 1.0) - p0)
            tl.store(own + word, slope0.to(logits.dtype.element_ty), mask=inside)
            tl.store(other + word, slope1.to(logits.dtype.element_ty), mask=inside)
    else:
        _store_nothing(losses, row, rows, own, vocabulary, BLOCK)
        _store_nothing(losses, row + 1, rows, other, vocabulary, BLOCK)
