"""Perplexity by token, word and character."""

import math

import pytest

from regard.errors import ArgumentError
from regard.evaluation.perplexity import perplexity


def test_the_end_of_a_sentence_counts_as_a_token_a_word_and_a_character():
    sure, even = math.log(1.0), math.log(0.25)
    found = perplexity([[even, even, even], [sure]], words=[1, 0], characters=[4, 0], unknown=1)
    assert found.per_token == pytest.approx(4 ** (3 / 4))
    assert found.per_word == pytest.approx(4 ** (3 / 3))  # one word, two ends
    assert found.bits_per_character == pytest.approx(6 / 6)
    assert (found.tokens, found.words, found.characters, found.unknown) == (4, 3, 6, 1)


def test_what_is_impossible_is_infinitely_surprising():
    found = perplexity([[-math.inf]], words=[0], characters=[0])
    assert found.per_token == found.bits_per_character == math.inf


@pytest.mark.parametrize("sentences", [[], [[0.0], [0.0]]])
def test_every_sentence_has_a_length(sentences):
    with pytest.raises(ArgumentError, match=f"`words` and `characters` must.*received 1 and 1 for {len(sentences)}"):
        perplexity(sentences, words=[1], characters=[1])
