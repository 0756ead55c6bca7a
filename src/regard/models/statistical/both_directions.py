"""Two hidden Markov aligners, one of each direction, that learn together so that they agree.

Alone, each direction has errors of its own: a rare word, for one, attracts words of the other side that nothing else
explains. What both expect of a pair of words is right more often, so each learns from what both expect.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from regard.models.statistical.hmm import HiddenMarkovAligner, JumpCounts, check_training
from regard.models.statistical.ibm_model_1 import IbmModel1
from regard.models.statistical.word_pairs import Rectangle, Sentence, Vocabulary, WordPairs

AGREEMENT = 0.7
"""The power of both posteriors' product."""
BORROWED = 50.0
"""How many counts of each source word come from words that begin as it does, at most."""
BEGINNING = 5
"""Letters of a beginning."""
KEPT_AS = torch.float16
"""How what both directions expect of every pair of words is held in memory."""


def train_both_directions(
    sources: Sequence[Sentence],
    targets: Sequence[Sentence],
    *,
    iterations: int = 8,
    first: int = 5,
    null: float = 0.2,
    smoothing: float = 0.2,
) -> tuple[HiddenMarkovAligner, HiddenMarkovAligner]:
    r"""Learn by expectation-maximization in which either direction counts what both expect.

    $$q_{ij} = (p_{ij}\, r_{ij})^\gamma, \qquad
    t(y \mid x) = \frac{c(x, y) + \beta\, s(y \mid x)}{\sum_{y'} c(x, y') + \beta\, s(y' \mid x)}, \qquad
    s(y \mid x) = \frac{c(\bar x, \bar y)}{c(\bar x)}\, \frac{c(y)}{c(\bar y)}$$

    where $p_{ij}$ and $r_{ij}$ are the posteriors of both directions for source word $i$ and target word $j$, and $c$
    the sums of $q$. $\bar x$ is the beginning of a word, so that its forms share counts where they are rare; sums are
    over the words met beside $x$. Jumps are counted by each direction alone. The second aligner is of the direction
    from `targets` to `sources`.

    Reference: Liang, Taskar and Klein (2006), "Alignment by agreement", section 3; MacKay and Bauman Peto (1995), "A
    hierarchical Dirichlet language model", for counts that add up with those of a larger class.
    Differs: $\gamma = 0.7$, where they have 1, and 0.5 would be the geometric mean; Model 1 is counted alone. What $q$
    leaves of a word is NULL's, and where it is more than the word, it is divided by its sum.

    >>> sources = [["das", "Haus"], ["das", "Buch"], ["ein", "Buch"]]
    >>> targets = [["the", "house"], ["the", "book"], ["a", "book"]]
    >>> forward, backward = train_both_directions(sources, targets)
    >>> forward.align(sources[:1], targets[:1]), backward.align(targets[:1], sources[:1])
    ([[0, 1]], [[0, 1]])
    """
    check_training(iterations=iterations, first=first, null=null, smoothing=smoothing)
    forward_pairs, backward_pairs = WordPairs.of(sources, targets), WordPairs.of(targets, sources)
    forward, backward = (
        HiddenMarkovAligner.begin(IbmModel1.count(pairs, iterations=first), pairs, null=null, smoothing=smoothing)
        for pairs in (forward_pairs, backward_pairs)
    )
    beginnings = _Beginnings.of(forward_pairs), _Beginnings.of(backward_pairs)
    for _ in range(iterations):
        shares, forward_jumps = _expect(forward, forward_pairs)
        counts, backward_jumps = _agree(shares, backward, backward_pairs)
        backward = backward.with_counts(beginnings[1].shares(counts, backward_pairs), backward_jumps)
        counts = _count(shares, forward_pairs)
        forward = forward.with_counts(beginnings[0].shares(counts, forward_pairs), forward_jumps)
    return forward, backward


def _expect(model: HiddenMarkovAligner, pairs: WordPairs) -> tuple[Float[Tensor, " cells"], JumpCounts]:
    """Give how likely the forward direction links each pair of words of each sentence pair, and count its jumps."""
    shares, jumps = torch.empty(pairs.num_cells, dtype=KEPT_AS), JumpCounts(model)
    for cells, (_, expected) in zip(pairs.cells(turned=False), model.expect(pairs), strict=True):
        shares[cells] = expected.shares[:, 1:].to(KEPT_AS)
        jumps.add(expected)
    return shares, jumps


def _agree(
    shares: Float[Tensor, " cells"], model: HiddenMarkovAligner, pairs: WordPairs
) -> tuple[Float[Tensor, " entries"], JumpCounts]:
    """Make of `shares` what both directions expect, in place; give the counts and jumps of the backward one."""
    counts, jumps = torch.zeros(len(pairs.entries), dtype=torch.float64), JumpCounts(model)
    for cells, (rectangle, expected) in zip(pairs.cells(turned=True), model.expect(pairs), strict=True):
        agreed = (shares[cells].double() * expected.shares[:, 1:]) ** AGREEMENT
        shares[cells] = agreed.to(KEPT_AS)
        _add(counts, rectangle, agreed)
        jumps.add(expected)
    return counts, jumps


def _count(agreed: Float[Tensor, " cells"], pairs: WordPairs) -> Float[Tensor, " entries"]:
    """Give the counts of the forward direction."""
    counts = torch.zeros(len(pairs.entries), dtype=torch.float64)
    for cells, rectangle in zip(pairs.cells(turned=False), pairs.rectangles(), strict=True):
        _add(counts, rectangle, agreed[cells].double())
    return counts


def _add(counts: Float[Tensor, " entries"], rectangle: Rectangle, agreed: Float[Tensor, "rows sources"]) -> None:
    """Add the counts of each word, which sum to one: NULL has what is left."""
    totals = agreed.sum(-1, keepdim=True)
    shares = torch.cat([(1 - totals).clamp_min(0), agreed / totals.clamp_min(1)], dim=1)
    counts.scatter_add_(0, rectangle.entries.flatten().long(), shares.flatten())


@dataclass(frozen=True, kw_only=True, eq=False)
class _Beginnings:
    """Which words, and which pairs of words, begin alike."""

    targets: Int[np.ndarray, " entries"]
    """The target word of each entry."""
    of_target: Int[np.ndarray, " target_words"]
    """The beginning of each target word."""
    of_entry: Int[np.ndarray, " entries"]
    """The pair of beginnings of each entry."""
    source_of_pair: Int[np.ndarray, " pairs"]
    """The beginning of the source of each pair of beginnings."""

    @classmethod
    def of(cls, pairs: WordPairs) -> "_Beginnings":
        """Number the beginnings of all words."""
        source, target = _number(pairs.source_words, first=1), _number(pairs.target_words, first=0)
        sources, targets = np.divmod(pairs.entries, max(len(pairs.target_words), 1))
        width = int(target.max(initial=0)) + 1
        kinds, of_entry = np.unique(source[sources] * width + target[targets], return_inverse=True)
        return cls(
            targets=targets.astype(np.int32),
            of_target=target,
            of_entry=of_entry.astype(np.int32),
            source_of_pair=kinds // width,
        )

    def shares(self, counts: Float[Tensor, " entries"], pairs: WordPairs) -> Float[Tensor, " entries"]:
        """Give t(target | source): counts, and those that words which begin alike share."""
        own = counts.numpy()
        of_pairs = np.bincount(self.of_entry, own)
        of_targets = np.bincount(self.targets, own, minlength=len(self.of_target))
        translated = _divide(of_pairs, np.bincount(self.source_of_pair, of_pairs)[self.source_of_pair])
        spelled = _divide(of_targets, np.bincount(self.of_target, of_targets)[self.of_target])
        borrowed = translated[self.of_entry] * spelled[self.targets]
        return pairs.shares(counts + torch.from_numpy(BORROWED * borrowed))


def _number(words: Vocabulary, *, first: int) -> NDArray[np.int64]:
    """Number the beginnings of words; 0 is NULL where words are numbered from 1."""
    numbers: dict[str, int] = {}
    ordered = [numbers.setdefault(word[:BEGINNING], len(numbers) + first) for word in words]
    return np.array([0] * first + ordered, dtype=np.int64)


def _divide(counts: NDArray[Any], totals: NDArray[Any]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = counts / np.maximum(totals, np.finfo(np.float64).tiny)
    return result
