"""Group sentences of like length into batches of a given number of tokens, in an order that seed and epoch fix.

A batch is as large as `tokens` allows: rows times the longest sequence of either side, padding included, since that is
what the model computes. Sentences are sorted by their longer side, and among equals by how much longer the target is,
up and down in turn, so that neighbors differ little on both sides; where that leaves a choice, chance decides.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError, DataError

Integers: TypeAlias = NDArray[np.int64]


def make_index_batches(
    source_lengths: Integers,
    target_lengths: Integers,
    *,
    tokens: int,
    seed: int = 0,
    epoch: int = 0,
    shuffle: bool = True,
    too_long: Literal["alone", "refuse"] = "alone",
) -> list[Integers]:
    """Group the sentences 0, 1, … of these lengths; every sentence is in exactly one batch.

    A sentence that alone exceeds `tokens` gets a batch of its own, or is refused, as `too_long` says.
    Without `shuffle` the batches go from short to long, the same in every epoch.

    >>> lengths = np.array([3, 9, 3, 8])
    >>> [batch.tolist() for batch in make_index_batches(lengths, lengths, tokens=18, shuffle=False)]
    [[0, 2], [3, 1]]
    """
    if tokens < 1:
        raise ArgumentError(f"`tokens` must be at least 1; received {tokens}.")
    if len(source_lengths) != len(target_lengths):
        raise ArgumentError(
            f"`target_lengths` must have one length for each of the {len(source_lengths)} sources; "
            f"received {len(target_lengths)}."
        )
    longer = np.maximum(source_lengths, target_lengths)
    if too_long == "refuse" and len(longer) and longer.max() > tokens:
        worst = int(longer.argmax())
        raise DataError(
            f"Sentences must fit the budget of {tokens:,} tokens; received {int((longer > tokens).sum()):,} that do "
            f"not, the longest of {longer[worst]:,} at index {worst:,}. Give more tokens, or clean with `max_words`."
        )
    random = _draw(seed, epoch)
    lean = np.where(longer % 2 == 0, target_lengths - source_lengths, source_lengths - target_lengths)
    chance = random.random_raw(len(longer)) if shuffle else np.arange(len(longer))
    order = np.lexsort((chance, lean, longer))
    batches = _cut(order, longer[order], tokens)
    if not shuffle:
        return batches
    return [batches[number] for number in np.argsort(random.random_raw(len(batches)), kind="stable")]


def share_batches(batches: Sequence[Integers], *, rank: int, ranks: int) -> list[Integers]:
    """Give the batches of one of `ranks` processes: the same number to each, and every sentence to exactly one.

    Where the batches do not divide evenly, the largest are halved until they do. Otherwise batch k goes to rank
    k modulo `ranks`, so that the processes together take the batches in the order one alone would.

    >>> batches = [np.array([0, 1, 2]), np.array([3]), np.array([4, 5])]
    >>> [[batch.tolist() for batch in share_batches(batches, rank=rank, ranks=2)] for rank in (0, 1)]
    [[[0, 1], [3]], [[2], [4, 5]]]
    """
    if not 0 <= rank < ranks:
        raise ArgumentError(f"`rank` must be from 0 to `ranks` - 1 = {ranks - 1}; received {rank}.")
    missing = -len(batches) % ranks
    parts = [[batch] for batch in batches]
    for _ in range(missing):
        sizes = [max(len(part) for part in item) for item in parts]
        largest = int(np.argmax(sizes))
        if sizes[largest] < 2:
            raise DataError(
                f"The corpus must have a sentence for each of the {ranks} processes in every step; received "
                f"{len(batches)} batches of one sentence. Use fewer processes."
            )
        at = int(np.argmax([len(part) for part in parts[largest]]))
        batch = parts[largest][at]
        half = (len(batch) + 1) // 2
        parts[largest][at : at + 1] = [batch[:half], batch[half:]]
    return [part for item in parts for part in item][rank::ranks]


def padding_efficiency(batches: Sequence[Integers], source_lengths: Integers, target_lengths: Integers) -> float:
    """Return which share of the padded tensors, both sides together, is text and not padding.

    >>> lengths = np.array([2, 4])
    >>> padding_efficiency([np.array([0, 1])], lengths, lengths)
    0.75
    """
    tokens = sum(int(lengths[batch].sum()) for batch in batches for lengths in (source_lengths, target_lengths))
    cells = sum(
        len(batch) * int(lengths[batch].max()) for batch in batches for lengths in (source_lengths, target_lengths)
    )
    return tokens / cells if cells else 1.0


def _cut(order: Integers, longer: Integers, tokens: int) -> list[Integers]:
    """Cut the sorted sentences where rows times the longest passes the budget."""
    batches = []
    start, count = 0, len(order)
    while start < count:
        # The longest is the last, so that rows * longest grows with every row: count those that still fit.
        most = min(count - start, max(1, tokens // max(1, int(longer[start]))))
        cells = np.arange(1, most + 1) * longer[start : start + most]
        rows = max(1, int(np.searchsorted(cells, tokens, side="right")))
        batches.append(order[start : start + rows])
        start += rows
    return batches


def _draw(seed: int, epoch: int) -> np.random.PCG64:
    # Raw 64-bit draws: numpy keeps those the same in every version, which it does not promise of permutations.
    return np.random.PCG64(np.random.SeedSequence([seed % 2**64, epoch]))
