"""BLEU, chrF and TER by sacrebleu, kept as what each counts in a sentence: any subset is then scored by adding up."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from sacrebleu.metrics.base import Metric

from regard.errors import ArgumentError
from regard.evaluation.scoring import NAMES, PLAIN, Name, Scoring


@dataclass(frozen=True, kw_only=True, eq=False)
class Measure:
    """One metric on a set of sentences: its sufficient statistics, and its signature.

    sacrebleu hands these out under names of its own alone (`_extract_corpus_statistics`); its significance tests are
    built on the same.
    """

    name: Name
    metric: Metric
    counts: Float[ndarray, "sentences counts"]
    """What the metric counts in each sentence, such as matching n-grams and lengths."""
    signature: str
    """How it was computed, as sacrebleu writes it."""

    def score(self, chosen: Int[ndarray, " chosen"] | None = None) -> float:
        """Score all sentences together, or those chosen."""
        rows = self.counts if chosen is None else self.counts[chosen]
        return self.score_of(rows.sum(0, keepdims=True))[0]

    def score_of(self, totals: Float[ndarray, "samples counts"]) -> list[float]:
        """Score sums of counts, a row each."""
        # A list: sacrebleu divides by what may be zero, over which numpy's numbers warn and Python's are checked.
        return [float(self.metric._compute_score_from_stats(row).score) for row in totals.tolist()]

    def chosen(self, sentences: Int[ndarray, " chosen"]) -> "Measure":
        """Give the same of some of the sentences."""
        return Measure(name=self.name, metric=self.metric, counts=self.counts[sentences], signature=self.signature)


def measure(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    names: Sequence[Name] = NAMES,
    scoring: Scoring = PLAIN,
) -> dict[Name, Measure]:
    """Count what the metrics count, on texts divided and compared as `scoring` says.

    chrF leaves spaces out, so only case concerns it.

    Reference: Papineni et al. (2002), BLEU; Popović (2015), chrF; Snover et al. (2006), TER; Post (2018),
    arXiv:1804.08771.
    Differs: TER distinguishes case on plain text, which sacrebleu's default does not; the signature says so.

    >>> found = measure(["A dog runs fast ."], ["A dog ran fast ."])
    >>> {name: round(one.score(), 1) for name, one in found.items()}
    {'BLEU': 30.2, 'chrF': 48.0, 'TER': 20.0}
    >>> found["TER"].signature
    'nrefs:1|case:mixed|tok:tercom|norm:no|punct:yes|asian:no|version:...'
    """
    if len(hypotheses) != len(references) or not references:
        raise ArgumentError(
            f"`hypotheses` must have one entry for each reference, at least one; received {len(hypotheses)} for "
            f"{len(references)}."
        )
    sides = scoring.prepare(hypotheses), scoring.prepare(references)
    return {name: _measure(name, *sides, scoring) for name in names}


def _measure(name: Name, hypotheses: list[str], references: list[str], scoring: Scoring) -> Measure:
    metric = scoring.metric(name)
    counts = np.array(metric._extract_corpus_statistics(hypotheses, [references]), dtype=np.float64)
    return Measure(name=name, metric=metric, counts=counts, signature=scoring.sign(name, metric))
