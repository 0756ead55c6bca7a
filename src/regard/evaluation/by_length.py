"""Quality by the length of the source: where a model of one fixed vector fails, and attention does not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from regard.errors import ArgumentError
from regard.evaluation.bootstrap import SAMPLES, SEED, Interval, interval
from regard.evaluation.measure import Measure
from regard.evaluation.scoring import Name

EDGES = (10, 20, 30, 40, 50)
FEW = 10
"""Sentences below which a score says little."""


class Bin(NamedTuple):
    """Lengths from `low` to `high`, both included; without `high`, all from `low` on."""

    low: int
    high: int | None

    def __str__(self) -> str:
        if self.high is None:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


@dataclass(frozen=True, kw_only=True)
class LengthScores:
    """Scores of the sentences of one bin."""

    bin: Bin
    sentences: int
    mean_length: float
    scores: Mapping[Name, Interval]

    @property
    def few(self) -> bool:
        """Whether there are too few sentences to say much."""
        return self.sentences < FEW


def make_bins(edges: Sequence[int] = EDGES) -> list[Bin]:
    """Divide lengths at `edges`: a bin begins at each of them, the first one at zero.

    >>> [str(one) for one in make_bins([10, 20])]
    ['0–9', '10–19', '20+']
    """
    if not edges or edges[0] < 1 or any(first >= second for first, second in pairwise(edges)):
        raise ArgumentError(
            f"`bins` must be lengths at which a bin begins, rising, such as 10,20,30; received "
            f"{','.join(map(str, edges)) or 'nothing'}."
        )
    starts = [0, *edges]
    return [Bin(low, high - 1) for low, high in zip(starts, edges, strict=False)] + [Bin(starts[-1], None)]


def by_length(
    measures: Mapping[Name, Measure],
    lengths: Sequence[int],
    *,
    edges: Sequence[int] = EDGES,
    samples: int = SAMPLES,
    seed: int = SEED,
) -> list[LengthScores]:
    """Score the sentences of each bin apart, with 95 % confidence intervals; bins without sentences are left out.

    Reference: Bahdanau, Cho and Bengio (2015), figure 2, arXiv:1409.0473.
    """
    counted = np.asarray(lengths)
    result = []
    for item in make_bins(edges):
        inside = np.flatnonzero((counted >= item.low) & (counted <= (item.high if item.high is not None else np.inf)))
        if not len(inside):
            continue
        scores = {
            name: interval(measure.chosen(inside), samples=samples, seed=seed) for name, measure in measures.items()
        }
        result.append(
            LengthScores(bin=item, sentences=len(inside), mean_length=float(counted[inside].mean()), scores=scores)
        )
    return result
