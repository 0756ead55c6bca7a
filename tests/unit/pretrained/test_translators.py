"""The translators that come with the package, on sentences of our own, as users get them."""

import re

import pytest

import regard
from regard.inspection.readings.alignment import Reading
from regard.pretrained.shipped import FIRST, shipped_names

#: A sentence, and what its translation must hold, as a pattern.
SENTENCES = {
    "es-en": {
        "¿Me puedes traer un tenedor?": "bring me a fork",
        "Hace mucho frío hoy.": "cold today",
        "No sé dónde están mis llaves.": "where my keys are",
        "Mi hermana quiere aprender a tocar el piano.": "sister wants to learn (how )?to play the piano",
    },
    "en-es": {
        "I don't know where my keys are.": "dónde están mis llaves",
        "It is very cold today.": "frío",
        "Where is the train station?": "estación de tren",
        "My sister wants to learn to play the piano.": "hermana quiere aprender a tocar el piano",
    },
}


@pytest.fixture(scope="module", params=list(SENTENCES))
def direction(request):
    return request.param


@pytest.fixture(scope="module")
def translator(direction):
    return regard.load(direction)


def test_sentences_are_translated(direction, translator):
    for output, pattern in zip(
        translator.translate(list(SENTENCES[direction])), SENTENCES[direction].values(), strict=True
    ):
        assert re.search(pattern, output), output


def test_nothing_gives_nothing(translator):
    assert translator.translate(["", "  "]) == ["", ""]


def test_one_head_is_read_for_links_and_tags_follow_it(direction, translator):
    assert translator.reading == Reading(head=0)
    source, target, tagged = {
        "es-en": ("Tengo <b>un perro</b>.", "I have a dog.", "dog</b>"),
        "en-es": ("I have <b>a dog</b>.", "Tengo un perro.", "perro</b>"),
    }[direction]
    assert tagged in translator.translate([source], markup="html")[0]
    [alignment] = translator.align([(re.sub("<.*?>", "", source), target)])
    words = {(alignment.source[link.source], alignment.target[link.target]) for link in alignment.links}
    assert words & {("perro", "dog"), ("dog", "perro")}


def test_both_directions_join():
    [alignment] = regard.align("es-en", [("La casa es grande.", "The house is big.")], reverse="en-es")
    words = {(alignment.source[link.source], alignment.target[link.target]) for link in alignment.links}
    assert {("casa", "house"), ("grande", "big")} <= words


def test_spanish_is_read_without_accents_and_marks():
    [output] = regard.load("es-en").translate(["donde esta la estacion de tren"])
    assert re.search("[Ww]here.* the (train|railway) station", output), output


def test_lists_begin_with_the_translator_of_everyday_sentences():
    assert shipped_names()[0] == FIRST == "es-en"
