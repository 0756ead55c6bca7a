r"""Learn a unigram vocabulary: the pieces, and their log-probabilities, under which the words are likeliest.

A word is a sequence of pieces drawn independently, so that its probability is the sum over all its divisions,

$$P(w) = \sum_{x \in S(w)} \prod_i p(x_i).$$

Starting from the most frequent substrings, two steps of expectation-maximization fit $p$; then the quarter of the
pieces that would be missed least is removed, and so on until the size is reached. Single characters always stay.

Reference: Kudo (2018), section 3.2, arXiv:1804.10959, and its implementation in SentencePiece.
Differs: the loss of a piece weighs its expected count, not its count in the best division; seeds come from the
100,000 most frequent words. All words are worked on at once, in numpy, with ties broken by the text of a piece.
"""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

_MOST_WORDS = 100_000
_FEWEST_SEEDS = 100_000
_LONGEST = 16
_SHRINK = 0.75
_STEPS = 2
_RARE = 0.5  # expected count below which a piece goes at once, as in SentencePiece


def train_unigram(counts: Mapping[str, int], size: int) -> list[tuple[str, float]]:
    """Give at most `size` pieces with their log-probabilities, the likeliest first.

    >>> pieces = train_unigram({"aaab": 10, "ab": 5, "b": 1}, 3)
    >>> sorted(piece for piece, score in pieces)
    ['a', 'aaab', 'b']
    """
    ranked = sorted(counts, key=lambda word: (-counts[word], word))
    words, rest = ranked[:_MOST_WORDS], ranked[_MOST_WORDS:]
    words += sorted({character for word in rest for character in word})  # each counts as a word, so that it stays
    frequency = np.array([counts.get(word, 1) for word in words], dtype=np.float64)
    pieces, scores = _seeds(words, frequency, max(8 * size, _FEWEST_SEEDS))
    is_character = np.array([len(piece) == 1 for piece in pieces])
    alive = np.ones(len(pieces), dtype=bool)
    capacity = max(size - int(is_character.sum()), 0)
    lattice, inner = _lattice(words, pieces), None
    while True:
        for _ in range(_STEPS):
            lattice = lattice.among(alive)
            expected = _expect(lattice, scores, frequency)
            alive &= is_character | (expected >= _RARE)
            scores = _maximize(expected, alive)
        candidates = np.flatnonzero(alive & ~is_character)
        if len(candidates) <= capacity:
            break
        if inner is None:
            inner_pieces = candidates
            inner = _lattice([pieces[number] for number in candidates], pieces, proper=True)
        inner = inner.among(alive)
        others = np.full(len(pieces), -np.inf)
        others[inner_pieces] = _best(inner, scores)
        loss = expected[candidates] * (scores[candidates] - others[candidates])
        # Rounding keeps the last bits of a sum from deciding between pieces of equal use.
        order = sorted(range(len(candidates)), key=lambda rank: (-float(f"{loss[rank]:.9g}"), pieces[candidates[rank]]))
        alive[candidates[order[max(capacity, int(_SHRINK * len(candidates))) :]]] = False
    chosen = [(pieces[number], round(float(scores[number]), 6)) for number in np.flatnonzero(alive)]
    return sorted(chosen, key=lambda item: (-item[1], item[0]))[: max(size, int(is_character.sum()))]


class _Lattice(NamedTuple):
    """Every way through every word: an edge is a piece between two positions, a node a position in a word."""

    start: Integers  # node where each edge starts
    end: Integers
    piece: Integers
    column: Integers  # how far into its word each edge ends
    first: Integers  # first node of each word
    last: Integers

    def among(self, alive: NDArray[np.bool_]) -> "_Lattice":
        kept = alive[self.piece]
        return self._replace(
            start=self.start[kept], end=self.end[kept], piece=self.piece[kept], column=self.column[kept]
        )


def _seeds(words: Sequence[str], frequency: Floats, most: int) -> tuple[list[str], Floats]:
    """Take all characters and the substrings that cover most text."""
    result: Counter[str] = Counter()
    for word, count in zip(words, frequency.astype(np.int64).tolist(), strict=True):
        for start in range(len(word)):
            for end in range(start + 1, min(start + _LONGEST, len(word)) + 1):
                result[word[start:end]] += count
    characters = sorted(piece for piece in result if len(piece) == 1)
    longer = [piece for piece, count in result.items() if len(piece) > 1 and count > 1]
    longer.sort(key=lambda piece: (-result[piece] * len(piece), piece))
    pieces = characters + longer[:most]
    weight = np.array([result[piece] * len(piece) for piece in pieces], dtype=np.float64)
    return pieces, np.log(weight / weight.sum())


def _lattice(words: Sequence[str], pieces: Sequence[str], *, proper: bool = False) -> _Lattice:
    """Lay out the edges, sorted by where they end; `proper` leaves out the piece that is the whole word."""
    numbers = {piece: number for number, piece in enumerate(pieces)}
    columns, nodes, starts, result = array("q"), array("q"), array("q"), array("q")
    first, node = [], 0
    for word in words:
        first.append(node)
        whole = len(word) if proper else -1
        for start in range(len(word)):
            for end in range(start + 1, min(start + _LONGEST, len(word)) + 1):
                number = numbers.get(word[start:end])
                if number is not None and end - start != whole:
                    columns.append(end)
                    nodes.append(node + end)
                    starts.append(node + start)
                    result.append(number)
        node += len(word) + 1
    edges = np.array([starts, nodes, result, columns], dtype=np.int64)
    begin = np.array(first, dtype=np.int64)
    start, end, piece, column = edges[:, np.lexsort((edges[1], edges[3]))]
    return _Lattice(start, end, piece, column, begin, np.append(begin[1:], node) - 1)


def _expect(lattice: _Lattice, scores: Floats, frequency: Floats) -> Floats:
    """E-step: how often each piece is expected, over all divisions of all words."""
    num_nodes = int(lattice.last[-1]) + 1
    value = scores[lattice.piece]
    forward = _sweep(lattice.start, lattice.end, lattice.column, value, lattice.first, num_nodes, np.logaddexp)
    word = np.repeat(np.arange(len(lattice.first)), np.diff(np.append(lattice.first, num_nodes)))
    column = (lattice.last[word] - np.arange(num_nodes))[lattice.start]  # counted from the other end
    order = np.lexsort((lattice.start, column))
    backward = _sweep(
        lattice.end[order], lattice.start[order], column[order], value[order], lattice.last, num_nodes, np.logaddexp
    )
    total = forward[lattice.last][word[lattice.start]]
    share = np.exp(forward[lattice.start] + value + backward[lattice.end] - total)
    weights = share * frequency[word[lattice.start]]
    return np.bincount(lattice.piece, weights=weights, minlength=len(scores)).astype(np.float64)


def _best(lattice: _Lattice, scores: Floats) -> Floats:
    """Score the best division of each piece into others."""
    num_nodes = int(lattice.last[-1]) + 1
    value = scores[lattice.piece]
    best = _sweep(lattice.start, lattice.end, lattice.column, value, lattice.first, num_nodes, np.maximum)
    return best[lattice.last]


def _sweep(
    start: Integers,
    end: Integers,
    column: Integers,
    value: Floats,
    origins: Integers,
    num_nodes: int,
    combine: np.ufunc,
) -> Floats:
    """Carry values along the edges, one column of all words at a time; edges come sorted by column, then `end`."""
    reached = np.full(num_nodes, -np.inf)
    reached[origins] = 0.0
    borders = np.searchsorted(column, np.arange(1, (int(column[-1]) if len(column) else 0) + 2))
    for low, high in pairwise(borders.tolist()):
        if low == high:
            continue
        nodes = end[low:high]
        heads = np.flatnonzero(np.append(True, nodes[1:] != nodes[:-1]))
        reached[nodes[heads]] = combine.reduceat(reached[start[low:high]] + value[low:high], heads)
    return reached


def _maximize(expected: Floats, alive: NDArray[np.bool_]) -> Floats:
    """M-step, with the digamma function in place of the logarithm, which favors fewer pieces (as SentencePiece)."""
    scores = np.full(len(expected), -np.inf)
    # A character that the words no longer need keeps a small score, so that every word can still be divided.
    counts = np.maximum(expected[alive], 1e-3)
    scores[alive] = _digamma(counts) - _digamma(np.array([counts.sum()]))
    return scores


def _digamma(value: Floats) -> Floats:
    shift = np.zeros_like(value)
    for step in range(6):  # raise the argument to where the asymptotic series is exact to nine digits
        shift -= 1 / (value + step)
    value = value + 6
    inverse = 1 / (value * value)
    return shift + np.log(value) - 0.5 / value - inverse * (1 / 12 - inverse * (1 / 120 - inverse / 252))
