"""Accuracy, F1, confusion and calibration, against scikit-learn and by hand."""

import numpy as np
import pytest
from sklearn import metrics

from regard.errors import ArgumentError
from regard.evaluation.classification import calibration_error, reliability_bins, score_labels


@pytest.mark.parametrize("num_labels", [2, 5])
def test_figures_are_those_of_scikit_learn(num_labels):
    random = np.random.default_rng(num_labels)
    rows = random.dirichlet(np.ones(num_labels), size=200)
    gold = random.integers(0, num_labels, size=200)
    found, chosen = score_labels(rows, gold), rows.argmax(1)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(gold, chosen))
    assert found.macro_f1 == pytest.approx(metrics.f1_score(gold, chosen, average="macro"))
    assert found.confusion == tuple(map(tuple, metrics.confusion_matrix(gold, chosen).tolist()))
    assert found.cross_entropy == pytest.approx(metrics.log_loss(gold, rows, labels=range(num_labels)))
    assert found.f1 == pytest.approx(metrics.f1_score(gold, chosen, average=None).tolist())


def test_a_label_that_never_occurs_does_not_count_in_the_mean():
    rows = np.array([[0.8, 0.2, 0.0], [0.3, 0.7, 0.0]])
    found = score_labels(rows, [0, 0])
    assert found.f1 == (2 / 3, 0.0, 0.0)
    assert found.macro_f1 == pytest.approx(1 / 3)
    assert found.macro_f1 == pytest.approx(metrics.f1_score([0, 0], [0, 1], average="macro", zero_division=0))


def test_calibration_by_hand():
    confidence, right = np.array([0.95, 0.95, 0.65, 0.7]), np.array([True, False, True, True])
    bins = reliability_bins(confidence, right)
    assert [one.texts for one in bins] == [0, 0, 0, 0, 0, 0, 2, 0, 0, 2]
    assert (bins[6].confidence, bins[6].accuracy) == (pytest.approx(0.675), 1.0)
    assert calibration_error(bins) == pytest.approx(0.5 * (1 - 0.675) + 0.5 * (0.95 - 0.5))


def test_perfect_confidence_is_perfectly_calibrated():
    assert score_labels(np.eye(3), [0, 1, 2]).calibration_error == 0


def test_labels_must_be_as_many_as_texts():
    message = "`labels` must have one entry for each of the 3 texts, and at least one; received 2."
    with pytest.raises(ArgumentError, match=message):
        score_labels(np.eye(3), [0, 1])
