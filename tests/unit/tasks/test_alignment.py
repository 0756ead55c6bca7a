"""Alignment with models whose looks are known, and with small real ones."""

import pytest
import torch

from catalogue.models import small
from regard.data.corpora.pair import Link, Pair, words
from regard.data.text.tokenizer import TokenizerPair
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizers
from regard.errors import ArgumentError
from regard.inspection.readings.alignment import Reading
from regard.models import build_model
from regard.models.statistical.ibm_model_1 import IbmModel1
from regard.tasks.alignment.align import (
    align,
    join_directions,
    shorten,
    turned_pairs,
)
from regard.tasks.alignment.counted import align_by_counting, align_diagonally
from regard.tasks.translation.model import Translator
from regard.tasks.translation.presets import preset
from unit.tasks.looking import looking_translator

PAIRS = [
    Pair(source="el perro negro corre .", target="the dog black runs ."),
    Pair(source="un gato", target="a cat"),
    Pair(source="el gato negro", target="the cat black"),
]


def pharaoh(alignments):
    return [" ".join(map(str, one.links)) for one in alignments]


STRAIGHT = ["0-0 1-1 2-2 3-3 4-4", "0-0 1-1", "0-0 1-1 2-2"]


def test_links_are_read_when_a_word_is_produced_or_when_it_is_read():
    translator = looking_translator([[0]], PAIRS)
    assert pharaoh(align(translator, PAIRS)) == STRAIGHT
    late = looking_translator([[-1]], PAIRS)
    assert pharaoh(align(late, PAIRS, reading=Reading(step="read"))) == STRAIGHT
    assert pharaoh(align(late, PAIRS)) == ["0-0 0-1 1-2 2-3 3-4", "0-0 0-1", "0-0 0-1 1-2"]


def test_a_translator_aligns_by_itself():
    translator = looking_translator([[-1]], PAIRS)
    assert pharaoh(translator.align(PAIRS, reading=Reading(step="read"))) == STRAIGHT
    assert pharaoh(translator.align(PAIRS)) == pharaoh(align(translator, PAIRS))


def test_layer_and_head_are_those_of_the_reading():
    translator = looking_translator([[2, 2], [2, 0]], PAIRS)
    assert pharaoh(align(translator, PAIRS, reading=Reading(layer=1, head=1))) == STRAIGHT
    assert pharaoh(align(translator, PAIRS, reading=Reading(layer=1, head=0)))[1] != STRAIGHT[1]


def test_weights_are_shares_with_the_end_of_the_sentence_last():
    found = align(looking_translator([[1]], PAIRS), PAIRS)[1]
    assert (found.source, found.target) == (("un", "gato"), ("a", "cat"))
    assert found.weights.shape == (2, 3)
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(2))
    assert found.weights[1].argmax() == 2  # it looked at </s>, and is linked to a word even so
    assert pharaoh([found]) == ["0-1 1-0"]


def test_words_are_counted_as_asked():
    pairs = [Pair(source="Ana's perro, ¿no?", target="Ana's dog, no?")]
    translator = looking_translator([[0]], pairs)
    by_space = align(translator, pairs, words="whitespace")[0]
    assert by_space.source == ("Ana's", "perro,", "¿no?")
    assert by_space.target == ("Ana's", "dog,", "no?")
    assert pharaoh([by_space]) == ["0-0 1-1 2-2"]
    by_mark = align(translator, pairs, words="marks")[0]
    assert by_mark.target == ("Ana", "'s", "dog", ",", "no", "?")
    assert pharaoh([by_mark]) == ["0-0 1-1 2-2 3-3 4-4 5-5"]


def test_a_line_without_words_has_no_links_and_the_order_stays():
    pairs = [Pair(source="", target="a cat"), PAIRS[0], Pair(source="un gato", target=" "), PAIRS[1]]
    found = align(looking_translator([[0]], PAIRS), pairs)
    assert pharaoh(found) == ["", STRAIGHT[0], "", STRAIGHT[1]]


def test_whoever_watches_is_told_how_many_are_done():
    seen = []
    align(looking_translator([[0]], PAIRS), PAIRS, watch=seen.append)
    assert seen == [1, 2, 3]


@pytest.fixture(scope="module")
def pieces():
    return train_tokenizers(PAIRS, TokenizerConfig(kind="character", vocabulary_size=300, joint=False))


def translator_of(name, tokenizers):
    spec = small(preset(name))
    sizes = {"source_vocabulary": tokenizers.source.size, "target_vocabulary": tokenizers.target.size}
    return Translator(build_model(spec, **sizes).eval(), tokenizers, None)


@pytest.mark.parametrize("name", ["bahdanau", "luong-general", "transformer-tiny"])
@pytest.mark.parametrize("norms", [False, True])
def test_every_model_aligns_words_of_several_tokens(name, norms, pieces):
    translator = translator_of(name, pieces)
    found = align(translator, PAIRS, reading=Reading(norms=norms))
    for pair, one in zip(PAIRS, found, strict=True):
        assert list(one.source) == words(pair.source)
        assert [link.target for link in sorted(one.links, key=lambda link: link.target)] == list(range(len(one.target)))
        torch.testing.assert_close(one.weights.sum(-1), torch.ones(len(one.target)))


def test_padding_changes_nothing(pieces):
    translator = translator_of("bahdanau", pieces)
    together = align(translator, PAIRS, reading=Reading(norms=True))
    for number, pair in enumerate(PAIRS):
        alone = align(translator, [pair], reading=Reading(norms=True))[0]
        torch.testing.assert_close(alone.weights, together[number].weights)


def test_a_model_without_attention_is_refused(pieces):
    message = r"`model` must attend to its source to align words; received a RecurrentModel without attention."
    with pytest.raises(ArgumentError, match=message):
        align(translator_of("fixed", pieces), PAIRS)


def test_counting_needs_no_model():
    more = [Pair(source="el perro", target="the dog"), Pair(source="perro negro", target="dog black")] * 3
    found = align_by_counting(PAIRS[1:], train_on=[*more, *PAIRS], iterations=10)
    assert len(found) == 2
    assert Link(1, 1, True) in found[0].links
    torch.testing.assert_close(found[1].weights.sum(-1), torch.ones(3))


def test_a_mark_beside_letters_takes_no_weight_from_its_word():
    pairs = [Pair(source="bien conocido hoy", target="(well-known) today .")] * 3
    pairs += [Pair(source="hoy", target="today"), Pair(source="(bien)", target="(well)")]
    by_marks, by_spaces = (align_by_counting(pairs, words=division)[0].weights for division in ("marks", "whitespace"))
    opening, word, _, today, stop = by_marks
    torch.testing.assert_close(by_spaces, torch.stack([word, today, stop]))
    assert not torch.allclose(opening, word)


def test_the_diagonal_needs_nothing():
    assert pharaoh(align_diagonally(PAIRS)) == STRAIGHT
    assert align_diagonally(PAIRS)[1].weights.tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_every_posterior_is_computed_once(monkeypatch):
    asked, posterior = [], IbmModel1.posterior

    def counted(model, source, target):
        asked.append(source)
        return posterior(model, source, target)

    monkeypatch.setattr(IbmModel1, "posterior", counted)
    found = align_by_counting(PAIRS, iterations=2)
    assert len(asked) == len(found) == 3


def test_sides_are_cut_at_what_is_read(pieces):
    spec = small(preset("transformer-tiny"))
    sizes = {"source_vocabulary": pieces.source.size, "target_vocabulary": pieces.target.size}
    translator = Translator(build_model(spec, **sizes).eval(), pieces, None, max_source_length=10)
    long = Pair(source="el perro negro", target="the dog " * 900, links=(Link(0, 1, True), Link(2, 1, True)))
    with pytest.warns(UserWarning, match=r"1 of 2 pairs, the first at index 1, had more than 10 tokens on a side"):
        found = align(translator, [PAIRS[1], long])
    assert (found[1].source, found[1].target) == (("el", "perro"), ("the", "dog"))
    (same, short), cut = shorten([PAIRS[1], long], translator)
    assert (same, cut, short.links) == (PAIRS[1], [1], (Link(0, 1, True),))
    (again,), cut = shorten([short], translator)
    assert (again, cut) == (short, [])
    assert max(len(one) for one in pieces.target.encode_batch([short.target])) <= 9


def test_sides_are_cut_at_what_both_directions_read(pieces):
    turned = TokenizerPair(pieces.target, pieces.source)
    sides = [
        Translator(build_model(small(preset("bahdanau")), source_vocabulary=one.source.size,
                   target_vocabulary=one.target.size).eval(), one, None, max_source_length=most)
        for one, most in ((pieces, 30), (turned, 12))
    ]  # fmt: skip
    long = Pair(source="el perro " * 50, target="the dog " * 50)
    (short,), cut = shorten([long], *sides)
    assert (short, cut) == (Pair(source="el perro e", target="the dog th"), [0])
    assert shorten([long], None)[1] == []


def test_two_directions_are_joined():
    forward = align(looking_translator([[0]], PAIRS), PAIRS)
    back = turned_pairs(PAIRS)
    backward = align(looking_translator([[-1]], back), back)
    assert back[1] == Pair(source="a cat", target="un gato")
    assert pharaoh(join_directions(forward, backward, "intersection"))[1] == "0-0"
    joined = join_directions(forward, backward, "union")[1]
    assert pharaoh([joined]) == ["0-0 1-0 1-1"]
    assert torch.equal(joined.weights, forward[1].weights)
    assert torch.equal(joined.reverse_weights, backward[1].weights)
