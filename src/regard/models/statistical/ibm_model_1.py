"""IBM Model 1: which words translate each other, learned by counting. The baseline that attention is set beside.

It knows no order and no grammar: every source word is as likely as any other to have caused a target word, until the
counts say more. Expectation-maximization finds its best parameters from wherever it starts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from regard.errors import ArgumentError

Sentence: TypeAlias = Sequence[str]
Vocabulary: TypeAlias = dict[str, int]

_AT_ONCE = 1 << 22
"""How many pairs of words are processed together: 32 MB of numbers."""


class _Cells(NamedTuple):
    """Every target word of some sentences beside the NULL word and every source word of its sentence, in that order."""

    entries: NDArray[np.int64] | NDArray[np.int32]
    """Which entry of the table each pair of words is."""
    starts: NDArray[np.int64]
    """Where the pairs of each target word begin."""
    widths: NDArray[np.int64]
    """How many pairs each target word has: the source words and NULL."""


@dataclass(frozen=True, kw_only=True, eq=False)
class IbmModel1:
    r"""Give how likely a target word is as the translation of a source word.

    $$p(y, a \mid x) = \prod_j \frac{t(y_j \mid x_{a_j})}{n + 1}, \qquad
    p(a_j = i \mid x, y) = \frac{t(y_j \mid x_i)}{\sum_{i'=0}^{n} t(y_j \mid x_{i'})}$$

    where $x_0$ is the NULL word, from which target words come that no source word has caused. `IbmModel1.train` makes
    one; the other direction is another model, trained with the sides exchanged.

    Reference: Brown et al. (1993), section 4.2, "The mathematics of statistical machine translation".

    >>> sources = [["das", "Haus"], ["das", "Buch"], ["ein", "Buch"]]
    >>> targets = [["the", "house"], ["the", "book"], ["a", "book"]]
    >>> model = IbmModel1.train(sources, targets, iterations=10)
    >>> model.align(sources, targets)
    [[0, 1], [0, 1], [0, 1]]
    """

    source_words: Vocabulary
    """Numbers of the source words, from 1; 0 is NULL."""
    target_words: Vocabulary
    """Numbers of the target words, from 0."""
    entries: NDArray[np.int64]
    """The pairs of words that stood in one sentence pair, as source · |target_words| + target, ascending."""
    probabilities: NDArray[np.float64]
    """t(target | source) of each entry; of every other pair it is zero."""
    log_likelihoods: tuple[float, ...]
    """Of the training sentences, before each iteration: they never fall."""

    @classmethod
    def train(cls, sources: Sequence[Sentence], targets: Sequence[Sentence], *, iterations: int = 5) -> "IbmModel1":
        """Learn from sentence pairs by expectation-maximization, from equal probabilities."""
        _check(sources, targets)
        if iterations < 1:
            raise ArgumentError(f"`iterations` must be at least 1; received {iterations}.")
        source_words, target_words = _number(sources, first=1), _number(targets, first=0)
        rows = _encode(sources, source_words), _encode(targets, target_words)
        entries = _distinct(_pairs(*part, len(target_words)).entries for part in _parts(*rows))
        source_of_entry = entries // max(len(target_words), 1)
        probabilities = np.full(len(entries), 1 / max(len(target_words), 1))
        history = []
        for _ in range(iterations):
            # made anew each time: kept, they would take four bytes for every pair of words of the corpus
            cells = (_located(_pairs(*part, len(target_words)), entries) for part in _parts(*rows))
            counts, log_likelihood = _expect(cells, probabilities)
            totals = np.bincount(source_of_entry, weights=counts, minlength=len(source_words) + 1)
            probabilities = counts / np.maximum(totals, np.finfo(np.float64).tiny)[source_of_entry]
            history.append(log_likelihood)
        return cls(
            source_words=source_words,
            target_words=target_words,
            entries=entries,
            probabilities=probabilities,
            log_likelihoods=tuple(history),
        )

    def align(self, sources: Sequence[Sentence], targets: Sequence[Sentence]) -> list[list[int | None]]:
        r"""Give for each target word the position of its likeliest source word, or None for NULL and unknown words.

        $$\hat a_j = \arg\max_i t(y_j \mid x_i)$$
        """
        _check(sources, targets)
        return [likeliest(self.posterior(*pair)) for pair in zip(sources, targets, strict=True)]

    def posterior(self, source: Sentence, target: Sentence) -> Float[np.ndarray, "target source_and_null"]:
        """Give how likely each source word is the cause of each target word, NULL last; zeros for unknown words."""
        pair = np.array([self.source_words.get(word, -1) for word in source], dtype=np.int64), self._target(target)
        known = (pair[0] >= 0) & (pair[1] >= 0)[:, None]
        null = self._look_up(np.zeros(1, dtype=np.int64), pair[1], (pair[1] >= 0)[:, None])
        table = np.concatenate([self._look_up(pair[0], pair[1], known), null], axis=1)
        shares: NDArray[np.float64] = table / np.maximum(table.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
        return shares

    def probability(self, target: str, source: str | None) -> float:
        """Give t(target | source); None is the NULL word."""
        table = self.posterior([] if source is None else [source], [target])
        if not table.any():
            return 0.0
        number = 0 if source is None else self.source_words.get(source, -1)
        return float(self._look_up(np.array([number]), self._target([target]), np.array([[number >= 0]]))[0, 0])

    def _target(self, words: Sentence) -> NDArray[np.int64]:
        return np.array([self.target_words.get(word, -1) for word in words], dtype=np.int64)

    def _look_up(
        self, source: NDArray[np.int64], target: NDArray[np.int64], known: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        entries = source * len(self.target_words) + target[:, None]
        indices = np.minimum(np.searchsorted(self.entries, entries), max(len(self.entries) - 1, 0))
        if not len(self.entries):
            return np.zeros(entries.shape)
        there = known & (self.entries[indices] == entries)
        return np.where(there, self.probabilities[indices], 0.0)


def likeliest(shares: Float[np.ndarray, "target source_and_null"]) -> list[int | None]:
    """Give the heaviest position of each row of a `posterior`, None for NULL and for rows of zeros.

    >>> likeliest(np.array([[0.2, 0.7, 0.1], [0.1, 0.1, 0.8], [0.0, 0.0, 0.0]]))
    [1, None, None]
    """
    null = shares.shape[1] - 1
    indices = np.where(shares.any(-1), shares.argmax(-1), null).tolist()
    return [None if index == null else index for index in indices]


def _expect(cells: Iterable[_Cells], probabilities: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Count how often each pair is expected to be linked, and give how likely the sentences are."""
    counts, log_likelihood = np.zeros(len(probabilities)), 0.0
    for part in cells:
        of_pairs = probabilities[part.entries]
        of_words = np.add.reduceat(of_pairs, part.starts)
        shares = of_pairs / np.repeat(of_words, part.widths)
        counts += np.bincount(part.entries, weights=shares, minlength=len(probabilities))
        log_likelihood += float(np.log(of_words / part.widths).sum())
    return counts, log_likelihood


def _parts(
    sources: list[NDArray[np.int64]], targets: list[NDArray[np.int64]]
) -> Iterator[tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]]:
    """Divide the sentences, so that few enough pairs of words are processed together; leave out empty targets."""
    begin, size = 0, 0
    for end, (source, target) in enumerate(zip(sources, targets, strict=True)):
        here = (len(source) + 1) * len(target)
        if size and size + here > _AT_ONCE:
            yield sources[begin:end], targets[begin:end]
            begin, size = end, 0
        size += here
    if size:
        yield sources[begin:], targets[begin:]


def _pairs(sources: list[NDArray[np.int64]], targets: list[NDArray[np.int64]], vocabulary: int) -> _Cells:
    opened = [np.concatenate([[0], source]) for source in sources]
    products = [(source * vocabulary + target[:, None]).ravel() for source, target in zip(opened, targets, strict=True)]
    widths = np.repeat([len(source) for source in opened], [len(target) for target in targets])
    return _Cells(np.concatenate(products), np.cumsum(widths) - widths, widths)


def _distinct(parts: Iterable[NDArray[np.int64] | NDArray[np.int32]]) -> NDArray[np.int64]:
    """Find the different numbers in all parts, ascending; no more than about twice as many are held at once."""
    result, waiting = np.zeros(0, dtype=np.int64), [np.zeros(0, dtype=np.int64)]
    for part in parts:
        waiting.append(np.unique(part).astype(np.int64, copy=False))
        if sum(map(len, waiting)) > len(result) + _AT_ONCE:
            result, waiting = np.unique(np.concatenate([result, *waiting])), []
    return np.unique(np.concatenate([result, *waiting]))


def _located(cells: _Cells, entries: NDArray[np.int64]) -> _Cells:
    return cells._replace(entries=np.searchsorted(entries, cells.entries).astype(np.int32))


def _number(sentences: Sequence[Sentence], *, first: int) -> Vocabulary:
    names = sorted({word for sentence in sentences for word in sentence})
    return {word: number for number, word in enumerate(names, start=first)}


def _encode(sentences: Sequence[Sentence], numbers: Vocabulary) -> list[NDArray[np.int64]]:
    return [np.array([numbers[word] for word in sentence], dtype=np.int64) for sentence in sentences]


def _check(sources: Sequence[Sentence], targets: Sequence[Sentence]) -> None:
    if len(sources) != len(targets):
        raise ArgumentError(
            f"`targets` must have one sentence for each of the {len(sources)} sources; received {len(targets)}."
        )
    for name, side in (("sources", sources), ("targets", targets)):
        if any(isinstance(sentence, str) for sentence in side):
            raise ArgumentError(f"`{name}` must be lists of words; received a string. Divide it: text.split().")
