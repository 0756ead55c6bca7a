"""IBM Model 1: which words translate each other, learned by counting. The baseline that attention is set beside.

It knows no order and no grammar: every source word is as likely as any other to have caused a target word, until the
counts say more. Expectation-maximization finds its best parameters from wherever it starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import ArgumentError
from regard.models.statistical.word_pairs import Sentence, Vocabulary, WordPairs, check_sentences


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
        return cls.count(WordPairs.of(sources, targets), iterations=iterations)

    @classmethod
    def count(cls, pairs: WordPairs, *, iterations: int = 5) -> "IbmModel1":
        """Learn from sentence pairs that are numbered already."""
        if iterations < 1:
            raise ArgumentError(f"`iterations` must be at least 1; received {iterations}.")
        probabilities = torch.full([len(pairs.entries)], 1 / max(len(pairs.target_words), 1), dtype=torch.float64)
        history = []
        for _ in range(iterations):
            counts, log_likelihood = _expect(pairs, probabilities)
            probabilities = pairs.shares(counts)
            history.append(log_likelihood)
        return cls(
            source_words=pairs.source_words,
            target_words=pairs.target_words,
            entries=pairs.entries,
            probabilities=probabilities.numpy(),
            log_likelihoods=tuple(history),
        )

    def align(self, sources: Sequence[Sentence], targets: Sequence[Sentence]) -> list[list[int | None]]:
        r"""Give for each target word the position of its likeliest source word, or None for NULL and unknown words.

        $$\hat a_j = \arg\max_i t(y_j \mid x_i)$$
        """
        check_sentences(sources, targets)
        return [likeliest(self.posterior(*pair)) for pair in zip(sources, targets, strict=True)]

    def posterior(self, source: Sentence, target: Sentence) -> Float[np.ndarray, "target source_and_null"]:
        """Give how likely each source word is the cause of each target word, NULL last; zeros for unknown words."""
        table = self.table(source, target)
        shares: NDArray[np.float64] = table / np.maximum(table.sum(-1, keepdims=True), np.finfo(np.float64).tiny)
        return shares

    def table(self, source: Sentence, target: Sentence) -> Float[np.ndarray, "target source_and_null"]:
        """Give t(target word | source word) of the words of a pair, NULL last; zeros for unknown words."""
        causes = np.array([*(self.source_words.get(word, -1) for word in source), 0], dtype=np.int64)
        words = self._target(target)
        return self._look_up(causes, words, (causes >= 0) & (words >= 0)[:, None])

    def probability(self, target: str, source: str | None) -> float:
        """Give t(target | source); None is the NULL word."""
        return float(self.table([] if source is None else [source], [target])[0, 0])

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


def _expect(pairs: WordPairs, probabilities: Float[Tensor, " entries"]) -> tuple[Float[Tensor, " entries"], float]:
    """Count how often each pair is expected to be linked, and give how likely the sentences are."""
    counts, log_likelihood = torch.zeros_like(probabilities), 0.0
    for rectangle in pairs.rectangles():
        indices = rectangle.entries.flatten()
        of_pairs = probabilities.index_select(0, indices).view_as(rectangle.entries)
        of_words = of_pairs.sum(-1, keepdim=True)
        counts.scatter_add_(0, indices.long(), (of_pairs / of_words).flatten())
        log_likelihood += float((of_words / of_pairs.size(1)).log().sum())
    return counts, log_likelihood
