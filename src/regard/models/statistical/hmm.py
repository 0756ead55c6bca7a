"""The hidden Markov aligner: word translations as in IBM Model 1, and jumps from the source of one word to the next.

IBM Model 1 knows no order. Here the source word that caused a target word lies near the one that caused the word before
it: how near is counted too. Sums over all alignments are taken by the forward-backward algorithm, for all sentences
whose sources have as many words at once, since those share their matrix of jumps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import ArgumentError
from regard.models.statistical.ibm_model_1 import IbmModel1, likeliest
from regard.models.statistical.word_pairs import Rectangle, Sentence, WordPairs, check_sentences

_TINY = float(np.finfo(np.float64).tiny)


class Expected(NamedTuple):
    """What is expected of the alignments of some sentence pairs."""

    shares: Float[Tensor, "rows causes"]
    """How likely each cause is that of each target word; NULL first."""
    jumps: Float[Tensor, "causes causes"]
    """How often a word of source position i is followed by one of position i′; 0 is before the first."""
    log_likelihood: float


@dataclass(frozen=True, kw_only=True, eq=False)
class HiddenMarkovAligner:
    r"""Give how likely each source word is the cause of each target word, with regard to the words around it.

    $$p(y, a \mid x) = \prod_j p(a_j \mid a_{j-1}, n)\; t(y_j \mid x_{a_j}), \qquad
    p(i \mid i', n) = (1 - p_0) \Bigl( (1 - \alpha) \frac{c(i - i')}{\sum_{l=1}^{n} c(l - i')} + \frac{\alpha}{n}
    \Bigr)$$

    where $c$ are the counts of jumps, $\alpha$ is `smoothing`, and a word comes from NULL with probability $p_0$
    (`null`); then $i'$ stays what it was for the next word. Before the first word $i' = 0$. `train` makes one; the
    other direction is another model, trained with the sides exchanged.

    Reference: Vogel, Ney and Tillmann (1996), "HMM-based word alignment in statistical translation"; Och and Ney
    (2003), section 2, "A systematic comparison of various statistical alignment models" (NULL, smoothing).
    Differs: the first word jumps from position 0 by the same counts, and has no distribution of its own.

    >>> sources = [["das", "Haus"], ["das", "Buch"], ["ein", "Buch"]]
    >>> targets = [["the", "house"], ["the", "book"], ["a", "book"]]
    >>> HiddenMarkovAligner.train(sources, targets).align(sources, targets)
    [[0, 1], [0, 1], [0, 1]]
    """

    words: IbmModel1
    """t(target | source), as the last iteration left it."""
    jumps: NDArray[np.float64]
    """c(d) of the distances d from −reach to reach."""
    null: float
    smoothing: float
    log_likelihoods: tuple[float, ...]
    """Of the training sentences, before each iteration."""

    @classmethod
    def train(
        cls,
        sources: Sequence[Sentence],
        targets: Sequence[Sentence],
        *,
        iterations: int = 5,
        first: int = 5,
        null: float = 0.2,
        smoothing: float = 0.2,
    ) -> "HiddenMarkovAligner":
        """Learn by expectation-maximization, after `first` iterations of IBM Model 1; equal jumps to begin with."""
        check_training(iterations=iterations, first=first, null=null, smoothing=smoothing)
        pairs = WordPairs.of(sources, targets)
        model = cls.begin(IbmModel1.count(pairs, iterations=first), pairs, null=null, smoothing=smoothing)
        for _ in range(iterations):
            counts, jumps = torch.zeros(len(pairs.entries), dtype=torch.float64), JumpCounts(model)
            for rectangle, expected in model.expect(pairs):
                counts.scatter_add_(0, rectangle.entries.flatten().long(), expected.shares.flatten())
                jumps.add(expected)
            model = model.with_counts(pairs.shares(counts), jumps)
        return model

    @classmethod
    def begin(cls, words: IbmModel1, pairs: WordPairs, *, null: float, smoothing: float) -> "HiddenMarkovAligner":
        """Begin with word translations that were counted without order, and with equal jumps."""
        jumps = np.ones(2 * max(pairs.most_causes, 1) + 1)
        return cls(words=words, jumps=jumps, null=null, smoothing=smoothing, log_likelihoods=())

    def expect(self, pairs: WordPairs) -> Iterator[tuple[Rectangle, Expected]]:
        """Give what is expected of the alignments of all sentence pairs, some at a time."""
        probabilities, jumps = torch.from_numpy(self.words.probabilities), torch.from_numpy(self.jumps)
        for rectangle in pairs.rectangles():
            table = probabilities.index_select(0, rectangle.entries.flatten()).view_as(rectangle.entries)
            moves = _moves(jumps, table.size(1), null=self.null, smoothing=self.smoothing)
            yield rectangle, _expect(table, rectangle.steps, moves, self.null)

    def with_counts(self, probabilities: Float[Tensor, " entries"], jumps: "JumpCounts") -> "HiddenMarkovAligner":
        """Give the aligner of the next iteration."""
        return replace(
            self,
            words=replace(self.words, probabilities=probabilities.numpy()),
            jumps=(jumps.counts / jumps.counts.sum().clamp_min(_TINY)).numpy(),
            log_likelihoods=(*self.log_likelihoods, jumps.log_likelihood),
        )

    def align(self, sources: Sequence[Sentence], targets: Sequence[Sentence]) -> list[list[int | None]]:
        """Give for each target word the position of its likeliest source word, or None for NULL."""
        check_sentences(sources, targets)
        return [likeliest(self.posterior(*pair)) for pair in zip(sources, targets, strict=True)]

    def posterior(self, source: Sentence, target: Sentence) -> Float[np.ndarray, "target source_and_null"]:
        """Give how likely each source word is the cause of each target word, NULL last.

        A word that was never met beside any of these comes from all of them alike: the jumps decide.
        """
        if not len(target):
            return np.zeros((0, len(source) + 1))
        table = torch.from_numpy(self.words.table(source, target)).roll(1, -1)
        table = torch.where(table.any(-1, keepdim=True), table, 1.0)
        moves = _moves(torch.from_numpy(self.jumps), table.size(1), null=self.null, smoothing=self.smoothing)
        shares = _expect(table, (1,) * len(target), moves, self.null).shares
        result: NDArray[np.float64] = shares.roll(-1, -1).numpy()
        return result


def check_training(*, iterations: int, first: int, null: float, smoothing: float) -> None:
    """Raise unless an aligner can learn with these settings."""
    for name, number in (("iterations", iterations), ("first", first)):
        if number < 1:
            raise ArgumentError(f"`{name}` must be at least 1; received {number}.")
    if not 0 < null < 1:
        raise ArgumentError(
            f"`null` must be above 0 and below 1; received {null:g}. Words that nothing translates need it: take a "
            "small number, such as 0.01, for few of them."
        )
    if not 0 <= smoothing < 1:
        raise ArgumentError(f"`smoothing` must be from 0 to below 1; received {smoothing:g}.")


class JumpCounts:
    """Counts jumps of equal distance over all sentence pairs, and adds up how likely these are."""

    def __init__(self, model: HiddenMarkovAligner) -> None:
        self.counts = torch.zeros(len(model.jumps), dtype=torch.float64)
        self.log_likelihood = 0.0

    def add(self, expected: Expected) -> None:
        """Count the jumps of some sentence pairs."""
        self.counts += _by_distance(expected.jumps, len(self.counts) // 2)
        self.log_likelihood += expected.log_likelihood


def _moves(
    jumps: Float[Tensor, " distances"], causes: int, *, null: float, smoothing: float
) -> Float[Tensor, "causes causes"]:
    """Give p(i | i′) for sources of `causes` − 1 words, a row for each i′ from 0; the column 0 is zero."""
    reach, length = len(jumps) // 2, causes - 1
    distances = torch.arange(causes) - torch.arange(causes).unsqueeze(1)
    counted = jumps[distances.clamp(-reach, reach) + reach]
    counted[:, 0] = 0.0
    shares = counted / counted.sum(-1, keepdim=True).clamp_min(_TINY)
    moves = (1 - null) * ((1 - smoothing) * shares + smoothing / max(length, 1))
    moves[:, 0] = 0.0
    return moves


def _by_distance(counts: Float[Tensor, "causes causes"], reach: int) -> Float[Tensor, " distances"]:
    """Add up the counts of jumps of equal distance."""
    positions = torch.arange(len(counts))
    distances = (positions - positions.unsqueeze(1)).clamp(-reach, reach) + reach
    return counts.new_zeros(2 * reach + 1).scatter_add_(0, distances.flatten(), counts.flatten())


def _expect(
    table: Float[Tensor, "rows causes"], steps: Sequence[int], moves: Float[Tensor, "causes causes"], null: float
) -> Expected:
    r"""Sum over all alignments of the sentences of a rectangle, step by step, forward and backward.

    $$f_j(i) = \frac{1}{z_j} \Bigl( t(y_j \mid x_i) \sum_{i'} f_{j-1}(i')\, p(i \mid i') + p_0\, t(y_j \mid x_0)\,
    f_{j-1}(i) \Bigr), \qquad
    b_{j-1}(i') = \frac{1}{z_j} \Bigl( \sum_i p(i \mid i')\, t(y_j \mid x_i)\, b_j(i) + p_0\, t(y_j \mid x_0)\,
    b_j(i') \Bigr)$$

    where $i$ is the position of the last word that did not come from NULL, and $z_j$ makes $f_j$ sum to one.
    """
    from_null = null * table[:, :1]
    before, own, emitted = (torch.empty_like(table) for _ in range(3))
    norms = torch.empty_like(from_null)
    offsets = np.cumsum([0, *steps]).tolist()
    rows = [slice(begin, begin + count) for begin, count in zip(offsets, steps, strict=False)]
    forward = table.new_zeros(steps[0], table.size(1))
    forward[:, 0] = 1.0
    for row, count in zip(rows, steps, strict=True):
        before[row] = forward[:count]
        torch.mm(before[row], moves, out=own[row])
        own[row] *= table[row]
        forward = torch.addcmul(own[row], before[row], from_null[row])
        norms[row] = forward.sum(-1, keepdim=True).clamp_min(_TINY)
        forward /= norms[row]
    own /= norms
    from_null /= norms
    backward, back = torch.ones_like(before[rows[0]]), moves.T.contiguous()
    scaled = table / norms
    for row, count in zip(reversed(rows), reversed(steps), strict=True):
        later = backward[:count]
        own[row] *= later
        torch.mul(scaled[row], later, out=emitted[row])
        later *= from_null[row]
        later.addmm_(emitted[row], back)
    own[:, 0] = (1 - own.sum(-1)).clamp_min(0)
    return Expected(own, moves * (before.T @ emitted), float(norms.log().sum()))
