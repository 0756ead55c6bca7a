"""N-grams with interpolated, modified Kneser-Ney smoothing: the best that counting can do."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import ArgumentError
from regard.models.language.network import History, NextWord

Numbers = NDArray[np.int64]


class Level(NamedTuple):
    """The n-grams of one length. An n-gram is the number of its first words, one length shorter, and its last word."""

    keys: Numbers
    """first · vocabulary + last, sorted: the index in this array is the n-gram's number."""
    counts: Numbers
    """How often it came, for the longest; else how many different words it came after."""
    totals: NDArray[np.float64]
    """The sum of the counts over the last word, for each number of the first words."""
    left: NDArray[np.float64]
    """The share that discounting leaves to shorter n-grams, for each number of the first words."""
    discounts: NDArray[np.float64]
    """What is taken from counts of 0, 1, 2, and 3 or more."""


class NGramModel:
    r"""Predict a word from the `order` - 1 words before it, and trust shorter memories where longer ones are thin.

    $$p_k(w \mid h) = \frac{\max(c(hw) - D(c(hw)),\, 0)}{\sum_v c(hv)} + \gamma(h)\, p_{k-1}(w \mid h'), \qquad
    \gamma(h) = \frac{\sum_v D(c(hv))}{\sum_v c(hv)}$$

    where $h'$ is $h$ without its first word, $c$ counts occurrences for the longest n-grams and, for shorter ones,
    the different words they came after; $p_0 = 1/V$. The discounts of each length follow from $n_i$, the number of
    n-grams with count $i$: $Y = n_1 / (n_1 + 2 n_2)$, $D_1 = 1 - 2Y n_2/n_1$, $D_2 = 2 - 3Y n_3/n_2$,
    $D_{3+} = 3 - 4Y n_4/n_3$.

    Reference: Kneser and Ney (1995); Chen and Goodman (1999), section 3, equations 19 to 26.
    Differs: the text is one stream, lines and all, so that a context may reach into the line before; where a text is
    too small to have the counts that a discount is made of, it is $Y$, and where there is no $Y$, 1/2; none is below
    0.05.

    >>> model = NGramModel.fit(np.array([1, 2, 1, 2, 1, 3]), vocabulary_size=4, order=2)
    >>> log_probabilities, _, _ = model.step(torch.tensor([[1]]), model.start(1))
    >>> round(log_probabilities.exp().sum().item(), 6), log_probabilities.argmax().item()
    (1.0, 2)
    """

    def __init__(self, levels: Sequence[Level], *, vocabulary_size: int) -> None:
        self.levels, self.vocabulary_size = tuple(levels), vocabulary_size

    @property
    def order(self) -> int:
        """How many words the longest n-grams have."""
        return len(self.levels)

    @property
    def context(self) -> int:
        """How many words before it a word depends on."""
        return self.order - 1

    @classmethod
    def fit(cls, tokens: NDArray[np.integer], *, vocabulary_size: int, order: int) -> "NGramModel":
        """Count a text."""
        if order < 1:
            raise ArgumentError(f"`order` must be at least 1; received {order}.")
        if len(tokens) < order:
            raise ArgumentError(f"`tokens` must be at least `order`, {order}; received {len(tokens)}.")
        words = tokens.astype(np.int64)
        numbers = np.zeros(len(words), dtype=np.int64)  # of the n-gram that ends at each place
        tables: list[tuple[Numbers, Numbers]] = []
        for length in range(1, order + 1):
            first = _shifted(numbers) if length > 1 else numbers
            there = np.flatnonzero(first >= 0)
            keys, index, number, raw = np.unique(
                first[there] * vocabulary_size + words[there],
                return_index=True,
                return_inverse=True,
                return_counts=True,
            )
            if tables:  # each different n-gram is one word more that its end came after
                tables[-1] = tables[-1][0], np.bincount(numbers[there[index]], minlength=len(tables[-1][0]))
            tables.append((keys, raw.astype(np.int64)))
            numbers = np.full(len(words), -1)
            numbers[there] = number
        contexts = [1, *(len(keys) for keys, _ in tables)]
        return cls(
            [_level(*table, contexts[index], vocabulary_size) for index, table in enumerate(tables)],
            vocabulary_size=vocabulary_size,
        )

    def log_probabilities(self, tokens: NDArray[np.integer]) -> NDArray[np.float64]:
        """Give how likely each token of a text is after those before it, all at once."""
        words = tokens.astype(np.int64)
        numbers = np.zeros(len(words), dtype=np.int64)
        likely = np.full(len(words), 1 / self.vocabulary_size)
        for length, level in enumerate(self.levels, start=1):
            first = _shifted(numbers) if length > 1 else numbers
            numbers = self._find(level, first, words)
            count = np.where(numbers >= 0, level.counts[numbers], 0)
            total, left = (np.where(first >= 0, table[first], 0.0) for table in (level.totals, level.left))
            kept = count - level.discounts[np.minimum(count, 3)]
            likely = np.where(total > 0, kept / np.maximum(total, 1) + left * likely, likely)
        result: NDArray[np.float64] = np.log(likely)
        return result

    def start(self, rows: int, *, capacity: int | None = None) -> History:
        """Give the state before any token."""
        del capacity
        return History.empty(rows, self.order - 1)

    def step(self, tokens: Int[Tensor, "rows new"], state: History, *, weights: bool = False) -> NextWord:
        """Read the next tokens, and predict what follows each."""
        del weights
        history = state.then(tokens.cpu()).numpy()
        new, reach = tokens.size(1), self.order - 1
        probabilities = [
            [
                self._distribution(row[max(0, index - reach) : index])
                for index in range(len(row) - new + 1, len(row) + 1)
            ]
            for row in history
        ]
        return NextWord(torch.from_numpy(np.log(np.array(probabilities))).float(), state.after(tokens.cpu()))

    def _distribution(self, context: NDArray[np.integer]) -> NDArray[np.float64]:
        """Give the probability of every word after the last words `context`; those that are -1 are left out."""
        context = context[np.flatnonzero(context >= 0)] if self.order > 1 else context[:0]
        likely = np.full(self.vocabulary_size, 1 / self.vocabulary_size)
        for length, level in enumerate(self.levels, start=1):
            if length - 1 > len(context):
                break
            number = self._number(context[len(context) - length + 1 :])
            if number < 0 or not level.totals[number] > 0:
                continue
            span = np.searchsorted(level.keys, np.array([number, number + 1]) * self.vocabulary_size)
            counts = level.counts[span[0] : span[1]]
            likely *= level.left[number]
            words = level.keys[span[0] : span[1]] - number * self.vocabulary_size
            likely[words] += (counts - level.discounts[np.minimum(counts, 3)]) / level.totals[number]
        return likely

    def _number(self, words: NDArray[np.integer]) -> int:
        """Give the number of an n-gram, -1 where it never came; that of no words is 0."""
        number = np.zeros(1, dtype=np.int64)
        for level, word in zip(self.levels, words, strict=False):
            number = self._find(level, number, np.array([word], dtype=np.int64))
        return int(number[0])

    def _find(self, level: Level, first: Numbers, words: Numbers) -> Numbers:
        wanted = first * self.vocabulary_size + words
        index = np.minimum(np.searchsorted(level.keys, wanted), len(level.keys) - 1)
        return np.where((first >= 0) & (level.keys[index] == wanted), index, -1)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Give what it has counted, under names."""
        named: dict[str, NDArray[np.generic]] = {"vocabulary_size": np.array([self.vocabulary_size])}
        for length, level in enumerate(self.levels, start=1):
            named |= {f"{length}.{name}": array for name, array in level._asdict().items()}
        return named

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "NGramModel":
        """Read what `arrays` gave."""
        size = int(arrays["vocabulary_size"].astype(np.int64)[0])
        order = sum(name.endswith(".keys") for name in arrays)
        levels = [Level(*(arrays[f"{length}.{name}"] for name in Level._fields)) for length in range(1, order + 1)]
        contexts = 1
        for length, level in enumerate(levels, start=1):
            _check_level(level, length, contexts, size)
            contexts = len(level.keys)
        if not levels:
            raise ArgumentError("`arrays` must hold n-grams of length 1; received none.")
        return cls(levels, vocabulary_size=size)


def _shifted(numbers: Numbers) -> Numbers:
    """Give at each position what was at the one before."""
    return np.concatenate([np.full(1, -1), numbers[:-1]])


def _check_level(level: Level, length: int, contexts: int, vocabulary_size: int) -> None:
    """Raise where n-grams cannot have been counted: their numbers are used as indices into arrays."""
    name = f"the n-grams of length {length}"
    shapes = {"keys": (len(level.keys),), "counts": (len(level.keys),), "discounts": (4,)}
    shapes |= {"totals": (contexts,), "left": (contexts,)}
    for part, array in level._asdict().items():
        kind = np.int64 if part in ("keys", "counts") else np.float64
        if array.dtype != kind or array.shape != shapes[part]:
            raise ArgumentError(
                f"`{part}` of {name} must be {kind.__name__} of shape {shapes[part]}; received {array.dtype} of shape "
                f"{array.shape}."
            )
        if not (np.isfinite(array).all() and (array >= 0).all()):
            raise ArgumentError(f"`{part}` of {name} must be finite and not below 0; received others.")
    if not len(level.keys) or (np.diff(level.keys) <= 0).any() or int(level.keys[-1]) >= contexts * vocabulary_size:
        raise ArgumentError(
            f"`keys` of {name} must rise from 0 to below {contexts * vocabulary_size:,}; received others."
        )


def _level(keys: Numbers, counts: Numbers, contexts: int, vocabulary_size: int) -> Level:
    """Work out totals, discounts and what they leave."""
    discounts = kneser_ney_discounts(counts)
    first = keys // vocabulary_size
    totals = np.bincount(first, weights=counts, minlength=contexts)
    taken = np.bincount(first, weights=discounts[np.minimum(counts, 3)], minlength=contexts)
    left = np.divide(taken, totals, out=np.zeros_like(taken), where=totals > 0)
    return Level(keys, counts.astype(np.int64), totals.astype(np.float64), left, discounts)


def kneser_ney_discounts(counts: NDArray[np.integer]) -> NDArray[np.float64]:
    """Estimate what to take from counts of 0, 1, 2, and 3 or more: see `NGramModel`.

    >>> kneser_ney_discounts(np.array([1, 1, 1, 1, 2, 2, 3, 4])).round(4)
    array([0.  , 0.5 , 1.25, 1.  ])
    """
    once, twice, three_times, four_times = (float((counts == count).sum()) for count in (1, 2, 3, 4))
    share = once / (once + 2 * twice) if once else 0.5
    result = [share, share, share]
    if once and twice:
        result[0] = 1 - 2 * share * twice / once
        result[1] = 2 - 3 * share * three_times / twice if three_times else share
        result[2] = 3 - 4 * share * four_times / three_times if three_times and four_times else share
    return np.array([0.0, *np.clip(result, 0.05, [1.0, 2.0, 3.0])])
