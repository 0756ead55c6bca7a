"""Score the labels that a classifier of texts or images gave against the true ones."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.formats.labeled import Labeled, number_labels
from regard.errors import plural
from regard.evaluation.classification import ClassificationScores, score_labels


class LabelScores(NamedTuple):
    """Scores, and the labels that their rows and columns are of."""

    labels: tuple[str, ...]
    """Those of the model, and behind them true ones that it does not have."""
    scores: ClassificationScores
    unknown: tuple[str, ...] = ()
    """The true label of each item whose label the model does not have."""


def score_against(probabilities: NDArray[np.float64], gold: Sequence[str], labels: Sequence[str]) -> LabelScores:
    """Score probabilities, a row an item, a column for each of `labels`, against true labels.

    A true label that the model does not have is counted as wrong, and left out of the cross-entropy.

    >>> result = score_against(np.array([[0.9, 0.1], [0.2, 0.8]]), ["a", "c"], ["a", "b"])
    >>> result.scores.accuracy, result.labels, result.unknown
    (0.5, ('a', 'b', 'c'), ('c',))
    """
    known = np.array([label in labels for label in gold])
    if known.all() or not known.any():  # none at all is a wrong column, which is refused
        numbers = number_labels([Labeled("", item) for item in gold], labels, side="measured")
        return LabelScores(tuple(labels), score_labels(probabilities, numbers))
    every = (*labels, *sorted(set(gold) - set(labels)))
    numbers = [every.index(label) for label in gold]
    scores = score_labels(np.pad(probabilities, ((0, 0), (0, len(every) - len(labels)))), numbers)
    chosen = probabilities[known, [numbers[position] for position in np.flatnonzero(known)]]
    entropy = float(-np.log(np.maximum(chosen, 1e-30)).mean())
    unknown = tuple(label for label in gold if label not in labels)
    return LabelScores(every, scores._replace(cross_entropy=entropy), unknown)


def describe_scores(scores: ClassificationScores, *, count: int, unit: str) -> str:
    """Give the scores of so many items in a line."""
    return (
        f"accuracy {100 * scores.accuracy:.2f} %, macro-F1 {100 * scores.macro_f1:.2f}, calibration error "
        f"{scores.calibration_error:.4f}, cross-entropy {scores.cross_entropy:.4f} on {plural(count, unit)}"
    )
