import itertools
import math

import numpy as np
import pytest
from tokenizers import Tokenizer, models

from regard.data.text import unigram
from regard.data.text.unigram import _digamma, _expect, _lattice, train_unigram

COUNTS = {"▁low": 50, "▁lower": 20, "▁lowest": 20, "▁new": 40, "▁newer": 15, "▁newest": 15, "▁slow": 9, "▁wide": 7}


def divisions(word, pieces):
    for cuts in itertools.product([False, True], repeat=len(word) - 1):
        borders = [0, *(place for place, cut in enumerate(cuts, start=1) if cut), len(word)]
        parts = [word[start:end] for start, end in itertools.pairwise(borders)]
        if all(part in pieces for part in parts):
            yield parts


def test_expected_counts_are_those_of_all_divisions_one_by_one():
    pieces = {"a": -1.0, "b": -1.5, "ab": -2.0, "ba": -2.5, "aba": -3.0}
    words = {"abab": 3.0, "ba": 2.0, "b": 1.0}
    names = list(pieces)
    found = _expect(_lattice(list(words), names), np.array(list(pieces.values())), np.array(list(words.values())))
    expected = dict.fromkeys(pieces, 0.0)
    for word, count in words.items():
        weight = [(math.exp(sum(pieces[part] for part in parts)), parts) for parts in divisions(word, pieces)]
        total = sum(one for one, _ in weight)
        for one, parts in weight:
            for part in parts:
                expected[part] += count * one / total
    assert found == pytest.approx(list(expected.values()))


def test_digamma_is_the_derivative_of_the_logarithm_of_gamma():
    for value in (0.01, 0.5, 1.0, 3.7, 100.0):
        slope = (math.lgamma(value * (1 + 1e-5)) - math.lgamma(value * (1 - 1e-5))) / (2e-5 * value)
        assert _digamma(np.array([value]))[0] == pytest.approx(slope, rel=1e-5)


def test_frequent_pieces_are_found_and_every_character_stays():
    pieces = dict(train_unigram(COUNTS, 20))
    assert {"▁low", "▁new"} <= pieces.keys()
    assert {character for word in COUNTS for character in word} <= pieces.keys()
    assert len(pieces) <= 20


def test_probabilities_do_not_exceed_one():
    assert sum(math.exp(score) for _, score in train_unigram(COUNTS, 20)) <= 1


def test_a_smaller_vocabulary_needs_more_tokens():
    counts = []
    for size in (14, 18, 30):
        model = Tokenizer(models.Unigram([("<unk>", -99.0), *train_unigram(COUNTS, size)], 0, False))
        counts.append(sum(count * len(model.encode(word).ids) for word, count in COUNTS.items()))
    assert counts[0] > counts[1] > counts[2]


def test_characters_stay_even_where_they_alone_exceed_the_size():
    assert len(train_unigram({"abc": 5}, 2)) == 3


def test_characters_of_rare_words_stay_too(monkeypatch):
    monkeypatch.setattr(unigram, "_MOST_WORDS", 2)
    pieces = dict(train_unigram({"ab": 9, "ba": 8, "xy": 1}, 6))
    assert {"a", "b", "x", "y"} <= pieces.keys()
    assert "xy" not in pieces


def test_long_words_are_no_trouble():
    pieces = train_unigram({"ab" * 500: 3, "ab": 10}, 6)
    assert {"a", "b"} <= {piece for piece, _ in pieces}
    assert all(math.isfinite(score) for _, score in pieces)
