"""How sure a score is: bootstrap resampling of sentences, alone and paired.

sacrebleu has this test (`sacrebleu.significance.PairedTest`), and a test of ours holds us to its numbers. It is not
used itself because it takes its seed from an environment variable, counts every text anew for each test, tests whole
sets only, where quality by length needs subsets, and copies all counts for all samples at once (chrF of 10,000
sentences: 700 MB).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from regard.errors import ArgumentError
from regard.evaluation.measure import Measure

SAMPLES, SEED = 1000, 12345
"""sacrebleu's own."""


class Interval(NamedTuple):
    """A score, and between what it lies in 95 of 100 resamples."""

    value: float
    low: float
    high: float


class Difference(NamedTuple):
    """How one system's score differs from the baseline's."""

    value: float
    low: float
    """With `high`, between what the difference lies in 95 of 100 resamples."""
    high: float
    p_value: float
    """How often chance alone would give so large a difference, as sacrebleu counts it."""


def resample(
    counts: Float[ndarray, "sentences counts"], *, samples: int = SAMPLES, seed: int = SEED
) -> Float[ndarray, "samples counts"]:
    """Draw as many sentences as there are, with replacement, and add up their counts; `samples` times.

    The same seed draws the same sentences for every system and metric. Reference: Koehn (2004), section 3.
    """
    if samples < 40:
        raise ArgumentError(f"`samples` must be at least 40, for the ends of 95 %; received {samples}.")
    generator, sentences = np.random.default_rng(seed), len(counts)
    totals = np.empty((samples, counts.shape[1]))
    for sample in range(samples):
        drawn = generator.choice(sentences, size=sentences, replace=True)
        totals[sample] = np.bincount(drawn, minlength=sentences) @ counts
    return totals


def interval(measure: Measure, *, samples: int = SAMPLES, seed: int = SEED) -> Interval:
    """Give a score with its 95 % confidence interval."""
    scores = measure.score_of(resample(measure.counts, samples=samples, seed=seed))
    return Interval(measure.score(), *_middle(np.array(scores)))


def paired_difference(system: Measure, baseline: Measure, *, samples: int = SAMPLES, seed: int = SEED) -> Difference:
    r"""Test whether a system differs from the baseline by more than chance, on the same resamples of both.

    $$p = \frac{1 + \#\{b : |d_b| - \overline{|d|} > |d|\}}{1 + B}$$

    where $d$ is the difference on the whole set and $d_b$ that on resample $b$ of $B$.

    Reference: Koehn (2004), section 4; Riezler and Maxwell (2005), figure 1, for the shift by the mean.
    Differs: two systems that score the same on every resample have p = 1 (by the formula, and in sacrebleu, 1 / (1 +
    B)). Since |d_b| is compared with its own mean, p seldom exceeds one half, however alike the systems are.
    """
    if system.counts.shape != baseline.counts.shape:
        raise ArgumentError(
            f"`system` must be measured on the {len(baseline.counts)} sentences of the baseline; received "
            f"{len(system.counts)}."
        )
    both = [np.array(item.score_of(resample(item.counts, samples=samples, seed=seed))) for item in (system, baseline)]
    differences = both[0] - both[1]
    value = system.score() - baseline.score()
    shifted = np.abs(differences) - np.abs(differences).mean()
    p_value = (1 + int((shifted > abs(value)).sum())) / (1 + samples) if differences.any() else 1.0
    return Difference(value, *_middle(differences), p_value)


def _middle(scores: Float[ndarray, " samples"]) -> tuple[float, float]:
    """Give the ends of the middle 95 %, as sacrebleu counts them: one in forty lies beyond each."""
    ordered = np.sort(scores)
    beyond = len(ordered) // 40
    return float(ordered[beyond]), float(ordered[-beyond - 1])
