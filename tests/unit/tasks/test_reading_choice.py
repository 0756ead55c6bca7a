"""The layer, head and step that align best are found."""

import pytest

from regard.data.corpora.pair import Link, Pair
from regard.errors import ArgumentError
from regard.evaluation.alignment_error import alignment_error
from regard.inspection.readings.alignment import Reading
from regard.tasks.alignment.align import align, turned_pairs
from regard.tasks.alignment.reading_choice import choose_by_agreement, choose_by_gold
from unit.tasks.looking import looking_translator

TEXTS = [("el perro negro corre", "the dog black runs"), ("un gato", "a cat"), ("el gato negro", "the cat black")]
PAIRS = [
    Pair(source=one, target=other, links=tuple(Link(n, n, n != 1) for n in range(len(one.split()))))
    for one, other in TEXTS
]
OFFSETS = [[3, 2], [2, 2], [-3, -1]]
RIGHT = Reading(step="read", layer=2, head=1)


def test_the_least_error_is_found_by_gold_links():
    translator = looking_translator(OFFSETS, PAIRS)
    seen = []
    choice = choose_by_gold(translator, PAIRS, watch=seen.append)
    assert choice.reading == RIGHT
    assert choice.scores.error == 0.0
    assert seen == [1, 2, 3]
    assert len(choice.tried) == 2 * 3 * 3


def test_what_was_tried_is_scored_as_if_it_had_been_aligned():
    translator = looking_translator(OFFSETS, PAIRS)
    gold = [pair.links for pair in PAIRS]
    for reading, scores in choose_by_gold(translator, PAIRS).tried.items():
        found = [one.links for one in align(translator, PAIRS, reading=reading)]
        assert scores == pytest.approx(alignment_error(found, gold))


def test_norms_and_threshold_are_not_chosen():
    choice = choose_by_gold(looking_translator(OFFSETS, PAIRS), PAIRS, like=Reading(threshold=0.5))
    assert choice.reading == Reading(step="read", layer=2, head=1, threshold=0.5)


def test_one_layer_with_one_head_leaves_the_step_to_choose():
    choice = choose_by_gold(looking_translator([[0]], PAIRS), PAIRS)
    assert list(choice.tried) == [Reading(step="produced"), Reading(step="read")]
    assert choice.reading == Reading(step="produced")


def test_two_directions_are_read_where_they_agree():
    forward = looking_translator(OFFSETS, PAIRS)
    backward = looking_translator([[-2, 0], [2, 3]], turned_pairs(PAIRS))
    one, other = choose_by_agreement(forward, backward, PAIRS)
    assert one.reading == RIGHT
    assert other.reading == Reading(step="produced", layer=0, head=1)
    assert one.scores.error == other.scores.error == 0.0
    assert len(one.tried) == 18
    assert len(other.tried) == 12


def test_agreement_is_measured_as_the_error_against_the_other_side():
    forward, backward = looking_translator([[0]], PAIRS), looking_translator([[1]], turned_pairs(PAIRS))
    one, other = choose_by_agreement(forward, backward, PAIRS)
    links = [found.links for found in align(forward, PAIRS, reading=one.reading)]
    back = [
        [Link(link.target, link.source, True) for link in found.links]
        for found in align(backward, turned_pairs(PAIRS), reading=other.reading)
    ]
    assert one.scores.error == pytest.approx(alignment_error(links, back).error)
    assert other.scores.error == pytest.approx(one.scores.error)


def test_bad_input_is_refused():
    translator = looking_translator([[0]], PAIRS)
    with pytest.raises(ArgumentError, match=r"`pairs` must have gold links to choose a reading by; received none with"):
        choose_by_gold(translator, [Pair(source="un gato", target="a cat")])
    with pytest.raises(ArgumentError, match=r"`pairs` must hold at least one pair to choose a reading by; received no"):
        choose_by_agreement(translator, translator, [])
    beyond = Pair(source="un gato", target="a cat", links=(Link(2, 0, True),))
    message = (
        r"`links` must stay within 2 source and 2 target words; received 2-0. Are the words counted in another way"
    )
    with pytest.raises(ArgumentError, match=message):
        choose_by_gold(translator, [beyond])
