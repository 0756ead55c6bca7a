"""IBM Model 1 against expectation-maximization written from the paper."""

import itertools
from collections import defaultdict

import numpy as np
import pytest

from regard.errors import ArgumentError
from regard.models.statistical import word_pairs
from regard.models.statistical.ibm_model_1 import IbmModel1

SOURCES = [text.split() for text in ("das Haus", "das Buch ist ein Buch", "ein Buch", "das alte Haus", "das")]
TARGETS = [text.split() for text in ("the house", "the book is a book", "a book", "the old old house", "")]


def by_loops(sources, targets, iterations):
    """Count word by word: t(target | source), None the NULL word."""
    vocabulary = {word for target in targets for word in target}
    table = defaultdict(lambda: 1 / len(vocabulary))
    for _ in range(iterations):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in zip(sources, targets, strict=True):
            for word in target:
                whole = sum(table[word, cause] for cause in [None, *source])
                for cause in [None, *source]:
                    counts[word, cause] += table[word, cause] / whole
                    totals[cause] += table[word, cause] / whole
        table = {pair: count / totals[pair[1]] for pair, count in counts.items()}
    return table


@pytest.mark.parametrize("iterations", [1, 2, 7])
def test_it_learns_what_the_loops_learn(iterations):
    model = IbmModel1.train(SOURCES, TARGETS, iterations=iterations)
    table = by_loops(SOURCES, TARGETS, iterations)
    for (word, cause), probability in table.items():
        assert model.probability(word, cause) == pytest.approx(probability, rel=1e-9)
    assert model.probability("house", "ist") == 0.0


def test_it_does_not_matter_how_many_pairs_are_looked_at_together(monkeypatch):
    whole = IbmModel1.train(SOURCES, TARGETS, iterations=3)
    monkeypatch.setattr(word_pairs, "_AT_ONCE", 10)
    parts = IbmModel1.train(SOURCES, TARGETS, iterations=3)
    np.testing.assert_array_equal(whole.entries, parts.entries)
    np.testing.assert_allclose(whole.probabilities, parts.probabilities)
    assert parts.log_likelihoods == pytest.approx(whole.log_likelihoods)


def test_the_pairs_of_a_large_corpus_are_found_anew_in_each_iteration(monkeypatch):
    kept = word_pairs.WordPairs.of(SOURCES, TARGETS)
    monkeypatch.setattr(word_pairs, "_KEPT", 5)
    anew = word_pairs.WordPairs.of(SOURCES, TARGETS)
    assert kept._kept
    assert not anew._kept
    for first, second in zip(kept.rectangles(), anew.rectangles(), strict=True):
        assert first.steps == second.steps
        assert first.entries.equal(second.entries)
    np.testing.assert_allclose(IbmModel1.count(anew).probabilities, IbmModel1.count(kept).probabilities)


def test_probabilities_sum_to_one_for_each_source_word():
    model = IbmModel1.train(SOURCES, TARGETS)
    for cause in [None, "das", "Haus", "Buch", "ist", "ein", "alte"]:
        total = sum(model.probability(word, cause) for word in model.target_words)
        assert total == pytest.approx(1.0)


def test_training_never_makes_the_sentences_less_likely():
    history = IbmModel1.train(SOURCES, TARGETS, iterations=20).log_likelihoods
    assert len(history) == 20
    assert all(after >= before - 1e-12 for before, after in itertools.pairwise(history))
    assert history[-1] > history[0] + 1


def test_words_are_linked_to_what_caused_them():
    model = IbmModel1.train(SOURCES, TARGETS, iterations=20)
    assert model.align([["alte", "das", "Haus"]], [["the", "old", "house"]]) == [[1, 0, 2]]


def test_shares_of_a_target_word_sum_to_one_with_null():
    shares = IbmModel1.train(SOURCES, TARGETS).posterior(["das", "neu", "Haus"], ["house", "new"])
    assert shares.shape == (2, 4)
    assert shares[0].sum() == pytest.approx(1.0)
    assert shares[0, 1] == 0.0
    assert not shares[1].any()


def test_unknown_words_have_no_link_and_words_of_nowhere_come_from_null():
    model = IbmModel1.train([["a"], ["b"], ["c"]], [["x", "of"], ["y", "of"], ["z", "of"]], iterations=10)
    assert model.align([["a"], ["d"], []], [["x", "of"], ["q", "of"], ["of"]]) == [[0, None], [None, None], [None]]


def test_sentences_without_words_are_nothing_to_learn_from():
    model = IbmModel1.train([[], ["a"]], [[], []])
    assert model.align([["a"], []], [["x"], []]) == [[None], []]
    assert model.probability("x", "a") == 0.0


@pytest.mark.usefixtures("unchecked")
def test_bad_input_is_refused():
    with pytest.raises(ArgumentError, match=r"`targets` must have one sentence for each of the 2 sources; received 1."):
        IbmModel1.train([["a"], ["b"]], [["x"]])
    with pytest.raises(ArgumentError, match=r"`targets` must be lists of words; received a string. Divide it: text"):
        IbmModel1.train([["a"]], ["x"])
    with pytest.raises(ArgumentError, match=r"`iterations` must be at least 1; received 0."):
        IbmModel1.train([["a"]], [["x"]], iterations=0)
