"""The hidden Markov aligner against sums over all alignments, written from the paper."""

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest

from regard.errors import ArgumentError
from regard.models.statistical import word_pairs
from regard.models.statistical.hmm import HiddenMarkovAligner
from regard.models.statistical.ibm_model_1 import IbmModel1

SOURCES = [text.split() for text in ("das Haus", "das Buch ist ein Buch", "ein Buch", "das alte Haus", "das", "Haus")]
TARGETS = [text.split() for text in ("the house", "the book is a book", "a book", "the old old house", "", "house")]


def jump(counts, here, before, length, null, smoothing):
    """Give p(i | i′, n)."""
    total = sum(counts[place - before] for place in range(1, length + 1))
    return (1 - null) * ((1 - smoothing) * counts[here - before] / total + smoothing / length)


def alignments(source, target):
    """List every alignment: for each target word a source position from 1, or None for NULL."""
    return itertools.product([None, *range(1, len(source) + 1)], repeat=len(target))


def probability(alignment, source, target, table, counts, null, smoothing):
    """Give p(y, a | x), word by word."""
    product, before = 1.0, 0
    for word, cause in zip(target, alignment, strict=True):
        if cause is None:
            product *= null * table[word, None]
        else:
            product *= jump(counts, cause, before, len(source), null, smoothing) * table[word, source[cause - 1]]
            before = cause
    return product


def by_enumeration(sources, targets, *, iterations, first, null, smoothing):
    """Expectation-maximization over all alignments of every sentence, one after the other."""
    one = IbmModel1.train(sources, targets, iterations=first)
    words = {word for source in sources for word in source} | {None}
    table = {(word, cause): one.probability(word, cause) for word in one.target_words for cause in words}
    counts, history = defaultdict(lambda: 1.0), []
    for _ in range(iterations):
        linked, jumps, likelihood = defaultdict(float), defaultdict(float), 0.0
        for source, target in zip(sources, targets, strict=True):
            if not target:
                continue
            weighed = [
                (item, probability(item, source, target, table, counts, null, smoothing))
                for item in alignments(source, target)
            ]
            whole = sum(weight for _, weight in weighed)
            likelihood += math.log(whole)
            for alignment, weight in weighed:
                before = 0
                for word, cause in zip(target, alignment, strict=True):
                    linked[word, None if cause is None else source[cause - 1]] += weight / whole
                    if cause is not None:
                        jumps[cause - before] += weight / whole
                        before = cause
        totals = defaultdict(float)
        for (_, cause), count in linked.items():
            totals[cause] += count
        table = defaultdict(float, {pair: count / totals[pair[1]] for pair, count in linked.items() if count})
        everything = sum(jumps.values())
        counts = defaultdict(float, {distance: count / everything for distance, count in jumps.items()})
        history.append(likelihood)
    return table, counts, history


@pytest.mark.parametrize(("null", "smoothing"), [(0.2, 0.2), (0.1, 0.0), (0.01, 0.5)])
@pytest.mark.parametrize("iterations", [1, 3])
def test_it_learns_what_summing_over_all_alignments_learns(iterations, null, smoothing):
    model = HiddenMarkovAligner.train(SOURCES, TARGETS, iterations=iterations, first=2, null=null, smoothing=smoothing)
    table, counts, history = by_enumeration(
        SOURCES, TARGETS, iterations=iterations, first=2, null=null, smoothing=smoothing
    )
    assert model.log_likelihoods == pytest.approx(history, rel=1e-10)
    for (word, cause), share in table.items():
        assert model.words.probability(word, cause) == pytest.approx(share, rel=1e-8, abs=1e-12)
    reach = len(model.jumps) // 2
    for distance in range(-reach, reach + 1):
        assert model.jumps[distance + reach] == pytest.approx(counts[distance], rel=1e-8, abs=1e-12)


def test_the_posterior_is_the_share_of_all_alignments():
    model = HiddenMarkovAligner.train(SOURCES, TARGETS, iterations=2)
    source, target = SOURCES[3], TARGETS[3]
    reach = len(model.jumps) // 2
    counts = {distance: model.jumps[distance + reach] for distance in range(-reach, reach + 1)}
    names = [None, *source]
    table = {(word, cause): model.words.probability(word, cause) for word in target for cause in names}
    expected = np.zeros((len(target), len(source) + 1))
    for alignment in alignments(source, target):
        weight = probability(alignment, source, target, table, counts, model.null, model.smoothing)
        for row, cause in enumerate(alignment):
            expected[row, len(source) if cause is None else cause - 1] += weight
    expected /= expected.sum(-1, keepdims=True)
    np.testing.assert_allclose(model.posterior(source, target), expected, rtol=1e-8, atol=1e-12)


def test_it_does_not_matter_how_many_sentences_are_summed_together(monkeypatch):
    whole = HiddenMarkovAligner.train(SOURCES * 4, TARGETS * 4)
    monkeypatch.setattr(word_pairs, "_AT_ONCE", 12)
    parts = HiddenMarkovAligner.train(SOURCES * 4, TARGETS * 4)
    np.testing.assert_allclose(parts.words.probabilities, whole.words.probabilities, rtol=1e-9)
    np.testing.assert_allclose(parts.jumps, whole.jumps, rtol=1e-9)


def test_the_sentences_become_likelier():
    history = HiddenMarkovAligner.train(SOURCES, TARGETS, iterations=15, smoothing=0.0).log_likelihoods
    assert history[-1] > history[0] + 1


def test_order_decides_between_words_that_counts_alone_do_not():
    sources = [["la", "casa", "la", "puerta"], ["la", "casa"], ["la", "puerta"]] * 4
    targets = [["the", "house", "the", "door"], ["the", "house"], ["the", "door"]] * 4
    assert HiddenMarkovAligner.train(sources, targets).align(sources[:1], targets[:1]) == [[0, 1, 2, 3]]
    [first, _, third, _] = IbmModel1.train(sources, targets).align(sources[:1], targets[:1])[0]
    assert first == third


def test_words_that_were_never_met_are_linked_by_the_words_around_them():
    model = HiddenMarkovAligner.train(SOURCES * 3, TARGETS * 3, iterations=8)
    assert model.align([["das", "neue", "Haus"]], [["the", "new", "house"]]) == [[0, 1, 2]]
    shares = model.posterior(["das", "neue"], ["the", "new"])
    np.testing.assert_allclose(shares.sum(-1), 1.0)
    assert model.posterior([], ["the"]).tolist() == [[1.0]]
    assert model.posterior(["das"], []).shape == (0, 2)


def test_sentences_without_words_are_nothing_to_learn_from():
    model = HiddenMarkovAligner.train([[], ["a"]], [["x"], []])
    assert model.align([[]], [["x"]]) == [[None]]


@pytest.mark.usefixtures("unchecked")
def test_bad_input_is_refused():
    with pytest.raises(ArgumentError, match=r"`targets` must have one sentence for each of the 2 sources; received 1."):
        HiddenMarkovAligner.train([["a"], ["b"]], [["x"]])
    with pytest.raises(ArgumentError, match=r"`first` must be at least 1; received 0."):
        HiddenMarkovAligner.train([["a"]], [["x"]], first=0)
    for null in (0.0, -0.1, 1.0, float("nan")):
        with pytest.raises(ArgumentError, match=rf"`null` must be above 0 and below 1; received {null:g}\. Words"):
            HiddenMarkovAligner.train([["a"]], [["x"]], null=null)
    with pytest.raises(ArgumentError, match=r"`smoothing` must be from 0 to below 1; received 1\."):
        HiddenMarkovAligner.train([["a"]], [["x"]], smoothing=1.0)


def test_a_word_that_nothing_translates_leaves_the_words_after_it_linked():
    model = HiddenMarkovAligner.train(SOURCES * 3, TARGETS * 3, iterations=8, null=1e-6)
    assert model.align([["alte", "Haus"]], [["book", "house"]]) == [[None, 1]]
