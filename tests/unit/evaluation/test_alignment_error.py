"""Alignment error rate against counts made by hand."""

import pytest

from regard.data.corpora.pair import Link
from regard.errors import ArgumentError
from regard.evaluation.alignment_error import alignment_error


def sure(*places):
    return [Link(source, target, True) for source, target in places]


def possible(*places):
    return [Link(source, target, False) for source, target in places]


def test_it_is_the_definition_over_the_whole_corpus():
    gold = [sure((0, 0), (1, 1), (2, 2)) + possible((2, 3), (3, 3)), sure((0, 1))]
    found = [sure((0, 0), (1, 2), (2, 3)), sure((0, 1), (1, 1))]
    scores = alignment_error(found, gold)  # |A| = 5, |S| = 4, |A ∩ S| = 2, |A ∩ P| = 3
    assert scores.error == pytest.approx(1 - (2 + 3) / (5 + 4))
    assert scores.precision == pytest.approx(3 / 5)
    assert scores.recall == pytest.approx(2 / 4)
    assert scores.num_links == 5


def test_a_hypothesis_counts_once_and_sure_or_not_alike():
    gold = [sure((0, 0), (1, 1))]
    assert alignment_error([possible((0, 0), (1, 1)) + sure((0, 0))], gold) == (0.0, 1.0, 1.0, 2)


def test_sure_links_are_possible_too():
    assert alignment_error([sure((0, 0))], [sure((0, 0)) + possible((0, 0))]).error == 0.0


def test_shares_of_nothing_are_whole():
    assert alignment_error([[]], [sure((0, 0))]) == (1.0, 1.0, 0.0, 0)
    assert alignment_error([[]], [possible((0, 0))]) == (0.0, 1.0, 1.0, 0)


def test_it_is_written_in_percent():
    scores = alignment_error([sure((0, 0), (1, 2), (2, 2))], [sure((0, 0), (1, 1), (2, 2))])
    assert str(scores) == "AER 33.3 %  precision 66.7 %  recall 66.7 %  3 links"


def test_every_pair_needs_gold_links():
    message = r"`hypotheses` must have one entry for each of the 2 pairs of gold links; received 1."
    with pytest.raises(ArgumentError, match=message):
        alignment_error([[]], [sure((0, 0)), []])
    with pytest.raises(ArgumentError, match=r"`gold` must hold at least one link; received none."):
        alignment_error([[]], [[]])
