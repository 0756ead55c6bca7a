"""Two hidden Markov aligners that learn to agree, against sums over all alignments, written from the formulas."""

from collections import defaultdict

import numpy as np
import pytest
import torch

from regard.data.builtin import corpus
from regard.data.corpora.pair import words
from regard.errors import ArgumentError
from regard.evaluation.alignment_error import alignment_error
from regard.inspection.readings.alignment import links_of
from regard.inspection.readings.symmetrize import mutual_weights
from regard.models.statistical import both_directions, word_pairs
from regard.models.statistical.both_directions import AGREEMENT, BEGINNING, BORROWED, train_both_directions
from regard.models.statistical.hmm import HiddenMarkovAligner
from regard.models.statistical.ibm_model_1 import IbmModel1
from regard.tasks.alignment.counted import BOTH_EXPECT
from unit.models.test_hmm import alignments, probability

SOURCES = [
    text.split()
    for text in ("das Gebäude", "das Buch ist ein Buch", "ein Buch", "des alten Gebäudes", "die Gebäude", "", "Gebäude")
]
TARGETS = [
    text.split()
    for text in ("the building", "the book is a book", "a book", "of the old building", "the buildings", "the", "house")
]


def posteriors(source, target, table, counts, null, smoothing):
    """Sum over all alignments: how likely each link is, and how often each jump is expected."""
    weighed = [
        (item, probability(item, source, target, table, counts, null, smoothing)) for item in alignments(source, target)
    ]
    whole = sum(weight for _, weight in weighed)
    links, jumps = np.zeros((len(target), len(source))), defaultdict(float)
    for alignment, weight in weighed:
        before = 0
        for row, cause in enumerate(alignment):
            if cause is not None:
                links[row, cause - 1] += weight / whole
                jumps[cause - before] += weight / whole
                before = cause
    return links, jumps


def shared(counts):
    """Give t(target | source) from counts by (target, source), with those of words that begin alike."""
    by_source, by_target, of_pairs, of_sources, of_targets = (defaultdict(float) for _ in range(5))
    for (word, cause), count in counts.items():
        start = (word[:BEGINNING], cause and cause[:BEGINNING])
        by_target[word] += count
        of_pairs[start] += count
        of_sources[start[1]] += count
        of_targets[start[0]] += count
    added = {}
    for word, cause in counts:
        start = (word[:BEGINNING], cause and cause[:BEGINNING])
        spelled = by_target[word] / of_targets[start[0]]
        added[word, cause] = counts[word, cause] + BORROWED * of_pairs[start] / of_sources[start[1]] * spelled
        by_source[cause] += added[word, cause]
    return {pair: count / by_source[pair[1]] for pair, count in added.items()}


def by_enumeration(*, iterations, null, smoothing):
    """Both directions, sentence by sentence."""
    sides = [(SOURCES, TARGETS), (TARGETS, SOURCES)]
    tables, jumps = [], [defaultdict(lambda: 1.0) for _ in sides]
    for sources, targets in sides:
        one = IbmModel1.train(sources, targets)
        causes = {word for source in sources for word in source} | {None}
        tables.append({(word, cause): one.probability(word, cause) for word in one.target_words for cause in causes})
    for _ in range(iterations):
        counts, moved = ([defaultdict(float) for _ in sides] for _ in range(2))
        for source, target in zip(SOURCES, TARGETS, strict=True):
            found = []
            for way, pair in enumerate([(source, target), (target, source)]):
                links, steps = posteriors(*pair, tables[way], jumps[way], null, smoothing)
                found.append(links)
                for distance, count in steps.items():
                    moved[way][distance] += count
            agreed = (found[0] * found[1].T) ** AGREEMENT
            for way, (causes, outputs, links) in enumerate([(source, target, agreed), (target, source, agreed.T)]):
                for row, word in zip(links, outputs, strict=True):
                    counts[way][word, None] += max(0.0, 1 - row.sum())
                    for share, cause in zip(row, causes, strict=True):
                        counts[way][word, cause] += share / max(1.0, row.sum())
        tables = [defaultdict(float, shared(one)) for one in counts]
        jumps = [
            defaultdict(float, {distance: count / sum(one.values()) for distance, count in one.items()})
            for one in moved
        ]
    return tables, jumps


@pytest.mark.parametrize(("null", "smoothing"), [(0.2, 0.2), (0.1, 0.05)])
def test_they_learn_what_summing_over_all_alignments_learns(null, smoothing, monkeypatch):
    in_half = train_both_directions(SOURCES, TARGETS, iterations=2, null=null, smoothing=smoothing)
    monkeypatch.setattr(both_directions, "KEPT_AS", torch.float64)
    models = train_both_directions(SOURCES, TARGETS, iterations=2, null=null, smoothing=smoothing)
    tables, jumps = by_enumeration(iterations=2, null=null, smoothing=smoothing)
    for model, table, moved in zip(models, tables, jumps, strict=True):
        assert len(model.log_likelihoods) == 2
        for (word, cause), share in table.items():
            assert model.words.probability(word, cause) == pytest.approx(share, rel=1e-8, abs=1e-12)
        reach = len(model.jumps) // 2
        for distance in range(-reach, reach + 1):
            assert model.jumps[distance + reach] == pytest.approx(moved[distance], rel=1e-8, abs=1e-12)
    for model, exact in zip(in_half, models, strict=True):
        np.testing.assert_allclose(model.words.probabilities, exact.words.probabilities, rtol=0.02, atol=1e-4)


def test_it_does_not_matter_how_many_sentences_are_summed_together(monkeypatch):
    whole = train_both_directions(SOURCES * 4, TARGETS * 4)
    monkeypatch.setattr(word_pairs, "_AT_ONCE", 12)
    parts = train_both_directions(SOURCES * 4, TARGETS * 4)
    for one, other in zip(parts, whole, strict=True):
        np.testing.assert_allclose(one.words.probabilities, other.words.probabilities, rtol=1e-5, atol=1e-9)


def test_directions_that_learn_together_err_less_than_joined_ones():
    pairs = corpus("builtin:es-en", split="train", size=300, seed=3)
    sides = [[words(getattr(pair, side)) for pair in pairs] for side in ("source", "target")]
    alone = HiddenMarkovAligner.train(*sides), HiddenMarkovAligner.train(*sides[::-1])
    gold = [pair.links for pair in pairs]

    def error(models):
        weights = [
            mutual_weights(*(torch.from_numpy(model.posterior(*pair)[:, :-1]) for model, pair in both))
            for both in (zip(models, (pair, pair[::-1]), strict=True) for pair in zip(*sides, strict=True))
        ]
        return {
            threshold: alignment_error([links_of(one >= threshold) for one in weights], gold).error
            for threshold in (0.2, BOTH_EXPECT)
        }

    assert error(train_both_directions(*sides))[BOTH_EXPECT] < min(error(alone).values())


def test_forms_of_a_word_share_what_was_counted():
    sources = [["Gebäude", "alt"], ["Gebäude", "neu"], ["Gebäude", "rot"]] * 3 + [["Gebäudes", "gelb"]]
    targets = [["building", "old"], ["building", "new"], ["building", "red"]] * 3 + [["building", "yellow"]]
    forward, _ = train_both_directions(sources, targets)
    table = forward.words
    assert table.probability("building", "Gebäudes") > 5 * table.probability("yellow", "Gebäudes")


@pytest.mark.usefixtures("unchecked")
def test_bad_input_is_refused_and_nothing_is_learned_of_nothing():
    with pytest.raises(ArgumentError, match=r"`targets` must have one sentence for each of the 2 sources; received 1."):
        train_both_directions([["a"], ["b"]], [["x"]])
    with pytest.raises(ArgumentError, match=r"`iterations` must be at least 1; received 0."):
        train_both_directions([["a"]], [["x"]], iterations=0)
    with pytest.raises(ArgumentError, match=r"`first` must be at least 1; received 0."):
        train_both_directions([["a"]], [["x"]], first=0)
    with pytest.raises(ArgumentError, match=r"`null` must be above 0 and below 1; received 1\."):
        train_both_directions([["a"]], [["x"]], null=1.0)
    for model in train_both_directions([], []):
        assert model.align([["a"]], [["x"]]) == [[None]]
