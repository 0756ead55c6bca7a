"""A glossary: outputs have the translation of each term that their source has."""

import re
from dataclasses import replace

import pytest

import regard
from regard.data.corpora.pair import words
from regard.data.text.tokenizer_training import TokenizerConfig
from regard.decoding.search import Search
from regard.errors import ArgumentError, ArgumentTypeError
from regard.tasks.translation import influence
from regard.tasks.translation.markup.insertion import Run
from regard.tasks.translation.markup.search import search_marked
from regard.tasks.translation.presets import preset
from regard.tasks.translation.terms import Glossary, Match, encode_term, search_with_terms
from unit.tasks.translators import BYTES, LEARNED, RECURRENT, WORDS, make_folder, tokenizers

SEARCH = Search(beam=2, max_length=None)
TERMS = {"libro": "the house", "la casa": "my book", "casa": "garden"}
TEXTS = ["El libro está en la casa.", "Libro, libro y libro", "Un gato.", "", "casa libro la casa"]


PIECES = TokenizerConfig(kind="bpe", vocabulary_size=400)
KINDS = {"words": (RECURRENT, WORDS), "pieces": (RECURRENT, PIECES), "learned": (LEARNED, WORDS)}


@pytest.fixture(scope="module", params=list(KINDS))
def translator(request, tmp_path_factory):
    return regard.load(make_folder(tmp_path_factory.mktemp(request.param), *KINDS[request.param]))


def count(text, term):
    parts, wanted = words(text), words(term)
    return sum(parts[index : index + len(wanted)] == wanted for index in range(len(parts)))


def test_every_term_is_in_its_output(translator):
    free = translator.search(TEXTS, SEARCH)
    outputs = search_with_terms(translator, TEXTS, SEARCH, terms=TERMS)
    texts = [item[0].text for item in outputs]
    assert count(texts[0], "the house") >= 1
    assert count(texts[0], "my book") >= 1
    assert count(texts[1], "the house") >= 3
    assert texts[2:4] == [item[0].text for item in free[2:4]]  # nothing is forced where nothing is asked for
    assert min(count(texts[4], term) for term in TERMS.values()) >= 1
    assert translator.translate(TEXTS, SEARCH, terms=TERMS) == texts


def test_all_outputs_of_a_beam_have_the_term(translator):
    [outputs] = search_with_terms(translator, TEXTS[:1], Search(beam=3, n_best=3), terms={"libro": "the house"})
    assert len(outputs) > 1
    assert all(count(item.text, "the house") for item in outputs)


def test_terms_go_with_a_prefix_and_with_marks(translator):
    [[output]] = search_marked(
        translator, ["El <b>libro</b>"], SEARCH, form="html", terms=TERMS, prefixes=["the book"], weights=False
    )
    assert output.text.startswith("the book")
    assert count(output.text, "the house") >= 1
    assert (output.with_marks.count("<b>"), output.with_marks.count("</b>")) == (1, 1)
    assert output.source == "El <b>libro</b>"


def test_an_output_that_has_its_terms_is_left_as_it_is(translator):
    free = translator.search(TEXTS[:1], SEARCH)[0][0]
    first = words(free.text)[0]
    [[output]] = search_with_terms(translator, TEXTS[:1], SEARCH, terms={"libro": first})
    assert output.hypothesis.tokens == free.hypothesis.tokens


@pytest.mark.parametrize(
    "config", [WORDS, PIECES, BYTES, TokenizerConfig(kind="character")], ids=lambda item: item.kind
)
def test_a_term_has_its_space_where_spaces_are_tokens(config):
    tokenizer = tokenizers(config).target
    ids = [*tokenizer.encode("my").ids, *encode_term("the house", tokenizer, first=False)]
    assert tokenizer.decode(ids) == "my the house"
    assert tokenizer.decode(encode_term("the house", tokenizer, first=True)) == "the house"


def test_the_longest_term_counts_in_any_case():
    glossary = Glossary({"gato": "cat", "El Gato negro": "the black one", "negro": "black"})
    assert glossary.find("¿EL GATO NEGRO o un gato?") == [
        Match(Run(1, 4), "the black one"),
        Match(Run(6, 7), "cat"),
    ]
    assert glossary.find("gatos") == []


def test_terms_that_cannot_be_output_are_refused(tmp_path):
    translator = regard.load(make_folder(tmp_path))
    message = '`terms` must be text that the model can output; received "Zoroaster", which has words outside'
    with pytest.raises(ArgumentError, match=message):
        translator.translate(["El libro"], terms={"libro": "Zoroaster"})
    with pytest.raises(ArgumentError, match=re.escape('`terms` must be words and their translations; received "" and')):
        Glossary({"": "x"})
    with pytest.raises(ArgumentError, match=r'received "x" and " "\. Leave it out'):
        Glossary({"x": " "})


def test_terms_that_do_not_fit_are_refused(tmp_path):
    translator = regard.load(make_folder(tmp_path))
    with pytest.raises(
        ArgumentError, match=r"`terms` must fit into outputs of fewer than 3 tokens; received terms tha"
    ):
        translator.translate(["libro libro"], Search(beam=1, max_length=3), terms={"libro": "the house"})


def test_a_model_without_attention_carries_both(tmp_path, monkeypatch):
    spec = replace(preset("fixed"), embedding_size=8, hidden_size=8)
    translator = regard.load(make_folder(tmp_path, spec))
    for most in (80, 0):  # leaving out words, and where there are too many for that
        monkeypatch.setattr(influence, "MOST_WORDS", most)
        [text] = translator.translate(["El <b>libro</b> rojo"], SEARCH, markup="html", terms={"libro": "the house"})
        assert count(re.sub("</?b>", "", text), "the house")
        assert re.search(r"<b>.+</b>", text)


@pytest.mark.parametrize("max_length", [None, 6])
def test_leaving_out_a_word_is_reading_the_sentence_without_it(tmp_path, max_length):
    translator = regard.load(make_folder(tmp_path), respell=False)
    [[output]] = translator.search(["El libro está en la mesa."], Search(beam=1, max_length=max_length), weights=True)
    [drops] = influence.leave_out_words(translator, [output])
    assert drops.shape == (len(words(output.text)), 7)
    number = len(output.target_words) - (not output.finished)  # the last token that was cut off is not compared
    [full] = translator.force(["El libro está en la mesa."], [output.text])
    for word, left in enumerate(["El", "libro", "está", "en", "la", "mesa", "."]):
        shorter = " ".join(item for item in ["El", "libro", "está", "en", "la", "mesa", "."] if item != left)
        [without] = translator.force([shorter], [output.text])
        expected = [0.0] * len(words(output.text))
        for token, index in enumerate(output.target_words[:number]):
            expected[index] += max(0.0, full.log_probabilities[token] - without.log_probabilities[token])
        assert drops[:, word].tolist() == pytest.approx(expected, abs=1e-4)


def test_an_output_of_spaces_alone_comes_from_no_word(tmp_path):
    space = tokenizers(PIECES).target.backend.token_to_id("▁")
    translator = regard.load(make_folder(tmp_path, RECURRENT, PIECES, favor=space), respell=False)
    [[output]] = translator.search(["El libro rojo"], Search(beam=1, max_length=4), weights=True)
    assert not words(output.text)
    assert influence.influences(translator, [output]) == [None]
    assert "<b></b>" in translator.translate(["El <b>libro</b> rojo"], Search(beam=1, max_length=4), markup="html")[0]


@pytest.mark.parametrize("terms", ["terms.tsv", ["libro"], {"libro": 3}])
def test_terms_that_are_no_dictionary_of_strings_are_refused(terms, unchecked):
    with pytest.raises(ArgumentTypeError, match="`terms` must be a dictionary of words and their translations"):
        Glossary(terms)
