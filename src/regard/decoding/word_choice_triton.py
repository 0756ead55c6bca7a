"""The likeliest words after each hypothesis from their logits, in Triton: a pass over all, then one over a few chunks."""

import triton
import triton.language as tl


@triton.jit
def maxima_kernel(
    logits, highest, log_sums, maxima, words, chunks, logits_row, CHUNK: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    """Give the maximum m of one row, log Σ exp(z − m), and the maximum of each chunk of words.

    The first two are kept apart: added up, they would round the log-probabilities of large logits. A row that holds NaN,
    ∞ or nothing but −∞ has a sum of NaN.
    """
    row = tl.program_id(0).to(tl.int64)
    own = logits + row * logits_row
    largest = tl.full([GROUP], float("-inf"), tl.float32)
    sums = tl.zeros([GROUP, CHUNK], tl.float32)
    for first in range(0, chunks, GROUP):
        chunk = first + tl.arange(0, GROUP)
        word = chunk[:, None] * CHUNK + tl.arange(0, CHUNK)[None, :]
        z = tl.load(own + word, mask=word < words, other=float("-inf")).to(tl.float32)
        of_chunk = tl.max(z, axis=1)
        tl.store(maxima + row * chunks + chunk, of_chunk, mask=chunk < chunks)
        now = tl.maximum(largest, of_chunk)
        base = tl.where(now == float("-inf"), 0.0, now)
        sums = sums * tl.exp(largest - base)[:, None] + tl.exp(z - base[:, None])
        largest = now
    of_row = tl.max(largest, axis=0)
    total = tl.sum(tl.sum(sums, axis=1) * tl.exp(largest - of_row), axis=0)
    tl.store(highest + row, of_row)
    tl.store(log_sums + row, tl.log(total))


@triton.jit
def _rank(score, inside):
    """Put NaN above all numbers, as a sort of torch does, and what is no candidate below −∞."""
    score = tl.maximum(tl.where(score != score, float("inf"), score), -3.4028234663852886e38)
    return tl.where(inside, score, float("-inf"))


@triton.jit
def choice_kernel(
    logits, highest, log_sums, maxima, start, parents, tokens, log_probabilities,
    words, chunks, width, count, logits_row,
    CHUNK: tl.constexpr, BLOCK: tl.constexpr, COUNT: tl.constexpr,
):  # fmt: skip
    """Give the `count` best continuations of one sentence: of the best chunks by their maxima, the best words."""
    sentence = tl.program_id(0).to(tl.int64)
    first_row = sentence * width
    index = tl.arange(0, BLOCK)
    inside = index < width * chunks
    row = first_row + index // chunks
    score = tl.load(maxima + first_row * chunks + index, mask=inside, other=0.0)
    score = score - tl.load(highest + row, mask=inside, other=0.0) - tl.load(log_sums + row, mask=inside, other=0.0)
    ranked = _rank(score + tl.load(start + row, mask=inside, other=0.0), inside)
    slot = tl.arange(0, COUNT)
    chosen = tl.zeros([COUNT], tl.int32)
    for number in range(0, count):
        best = tl.argmax(ranked, axis=0)
        chosen = tl.where(slot == number, best, chosen)
        ranked = tl.where(index == best, float("-inf"), ranked)

    row = first_row + chosen // chunks
    word = (chosen % chunks * CHUNK)[:, None] + tl.arange(0, CHUNK)[None, :]
    inside = (word < words) & (slot < count)[:, None]
    z = tl.load(logits + (row * logits_row)[:, None] + word, mask=inside, other=0.0).to(tl.float32)
    score = z - tl.load(highest + row)[:, None] - tl.load(log_sums + row)[:, None]
    ranked = tl.reshape(_rank(score + tl.load(start + row)[:, None], inside), [COUNT * CHUNK])
    index = tl.arange(0, COUNT * CHUNK)
    for number in range(0, count):
        best = tl.argmax(ranked, axis=0)
        ranked = tl.where(index == best, float("-inf"), ranked)
        held = tl.sum(tl.where(slot == best // CHUNK, chosen, 0), axis=0)
        parent = held // chunks
        token = held % chunks * CHUNK + best % CHUNK
        own = first_row + parent
        logit = tl.load(logits + own * logits_row + token).to(tl.float32)
        at = sentence * count + number
        tl.store(parents + at, parent.to(tl.int64))
        tl.store(tokens + at, token.to(tl.int64))
        tl.store(log_probabilities + at, logit - tl.load(highest + own) - tl.load(log_sums + own))
