"""How good a classifier is: how often it is right, on which labels, and whether it knows how sure it may be."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from regard.errors import ArgumentError

BINS = 10


class ReliabilityBin(NamedTuple):
    """Decisions of like confidence: are so many of them right as it says?"""

    low: float
    high: float
    texts: int
    confidence: float
    """The mean probability of the chosen label; 0 where there is no decision."""
    accuracy: float
    """The share that is right."""


class ClassificationScores(NamedTuple):
    """All figures on one set of texts."""

    accuracy: float
    macro_f1: float
    calibration_error: float
    """Expected calibration error over ten bins."""
    cross_entropy: float
    """Mean over the texts, in nats."""
    confusion: tuple[tuple[int, ...], ...]
    """Rows are true labels, columns those chosen."""
    f1: tuple[float, ...]
    """Of each label."""
    bins: tuple[ReliabilityBin, ...]


def score_labels(
    probabilities: Float[np.ndarray, "texts labels"], labels: Sequence[int] | Int[np.ndarray, " texts"]
) -> ClassificationScores:
    """Measure the probabilities a classifier gave against the true labels, as numbers from 0.

    >>> found = score_labels(np.array([[0.9, 0.1], [0.4, 0.6]]), [0, 0])
    >>> found.accuracy, found.confusion
    (0.5, ((1, 1), (0, 0)))
    """
    gold = np.asarray(labels, dtype=np.int64)
    if not len(gold) or len(gold) != len(probabilities):
        raise ArgumentError(
            f"`labels` must have one entry for each of the {len(probabilities)} texts, and at least one; received "
            f"{len(gold)}."
        )
    chosen = probabilities.argmax(1)
    table = confusion_matrix(gold, chosen, probabilities.shape[1])
    f1 = f1_by_label(table)
    bins = reliability_bins(probabilities.max(1), chosen == gold)
    right = probabilities[np.arange(len(gold)), gold]
    met = (table.sum(0) + table.sum(1)) > 0
    return ClassificationScores(
        accuracy=float((chosen == gold).mean()),
        macro_f1=float(f1[met].mean()),
        calibration_error=calibration_error(bins),
        cross_entropy=float(-np.log(np.maximum(right, 1e-30)).mean()),
        confusion=tuple(tuple(int(count) for count in row) for row in table),
        f1=tuple(float(item) for item in f1),
        bins=bins,
    )


def confusion_matrix(
    gold: Int[np.ndarray, " texts"], chosen: Int[np.ndarray, " texts"], num_labels: int
) -> NDArray[np.int64]:
    """Count how often each true label, a row, was taken for each label, a column."""
    return np.bincount(gold * num_labels + chosen, minlength=num_labels**2).reshape(num_labels, num_labels)


def f1_by_label(confusion: Int[np.ndarray, "labels labels"]) -> NDArray[np.float64]:
    r"""Give each label's F1.

    $$F_1 = \frac{2\,TP}{2\,TP + FP + FN}$$

    A label that is neither there nor chosen has 0, and `macro_f1` is the mean over the others, as scikit-learn has it.
    """
    right = np.diag(confusion).astype(float)
    both = confusion.sum(0) + confusion.sum(1)
    f1: NDArray[np.float64] = np.divide(2 * right, both, out=np.zeros(len(confusion)), where=both > 0)
    return f1


def reliability_bins(
    confidence: Float[np.ndarray, " texts"], right: NDArray[np.bool_], *, num_bins: int = BINS
) -> tuple[ReliabilityBin, ...]:
    """Sort decisions into bins of equal width by the probability of the label chosen; a bin holds its upper end."""
    index = np.clip(np.ceil(confidence * num_bins).astype(int) - 1, 0, num_bins - 1)
    bins = []
    for number in range(num_bins):
        inside = index == number
        count = int(inside.sum())
        mean = float(confidence[inside].mean()) if count else 0.0
        hit = float(right[inside].mean()) if count else 0.0
        bins.append(ReliabilityBin(number / num_bins, (number + 1) / num_bins, count, mean, hit))
    return tuple(bins)


def calibration_error(bins: Sequence[ReliabilityBin]) -> float:
    r"""Give the expected calibration error.

    $$\text{ECE} = \sum_b \frac{n_b}{n} \left| \text{accuracy}_b - \text{confidence}_b \right|$$

    Reference: Guo et al. (2017), equation 3, arXiv:1706.04599.

    >>> round(calibration_error([ReliabilityBin(0.9, 1.0, 4, 0.95, 0.75)]), 6)
    0.2
    """
    total = sum(item.texts for item in bins)
    return sum(item.texts * abs(item.accuracy - item.confidence) for item in bins) / max(total, 1)
