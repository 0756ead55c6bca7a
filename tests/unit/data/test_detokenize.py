import pytest

from regard.data.corpora.pair import words
from regard.data.text.detokenize import join_words

SENTENCES = [
    "A man, a plan; a canal: Panama!",
    "¿Qué hora es? ¡Ya son las diez!",
    "¡¿Cómo?!",
    'He said "yes" and "no".',
    "Ein Schild mit „Halt“ und „Los“.",
    "The “best” dog (or cat) [sic] {really}.",
    "The dogs' tails and Ana's book.",
    "He's 'quoted' here.",
    "It costs $5 or £3.50 at 10:30, i.e. 1,000%.",
    "and/or",
    "Haus- und Gartentiere - mit Leine.",
    "l'homme d'aujourd'hui",
    "It ended at 5 p.m. in the U.S. capital.",
    "It is 20° warm.",
    "Salt & pepper",
    "Well…",
    "the Members’ rights",
]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_words_are_joined_as_they_were_written(sentence):
    assert join_words(words(sentence)) == sentence


@pytest.mark.parametrize("sentence", SENTENCES)
def test_joining_leaves_the_words_as_they_are(sentence):
    assert words(join_words(words(sentence))) == words(sentence)


def test_what_words_do_not_say_is_lost():
    assert join_words(words("5 %")) == "5%"
    assert join_words([]) == ""
