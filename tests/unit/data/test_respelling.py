"""Respelling: which words are read as others, and which never are."""

import pytest

from regard.data.corpora.pair import words
from regard.data.respelling import Respeller, bare, begin_as
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizer

TEXTS = ["Él es de Canadá.", "La rosa es de Ana.", "el té, TU casa y la casa", "¿Qué? la Casa Rosada", "Straße"]


def make(kind="word", texts=TEXTS, **settings):
    config = TokenizerConfig(kind=kind, min_frequency=1, vocabulary_size=2000, **settings)
    return train_tokenizer(texts, config)


@pytest.fixture(scope="module")
def respell():
    speller = Respeller(make())
    return lambda text: speller([text])[0]


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("de Canada", "de Canadá"),
        ("de canada", "de Canadá"),
        ("de CANADA", "de Canadá"),
        ("de Cánada", "de Canadá"),
        ("¿que?", "¿Qué?"),
        ("Strasse", "Straße"),
        ("  de   Canada!\n", "  de   Canadá!\n"),
        ("Es de Ana", "es de Ana"),  # the first word may be a capital's
        ("«Es de Ana»", "«es de Ana»"),
    ],
)
def test_unknown_words_are_read_with_known_accents_and_case(respell, typed, read):
    found = respell(typed)
    assert found.text == read
    assert [*found.words.items()] == [one for one in zip(words(typed), words(read), strict=True) if one[0] != one[1]]


@pytest.mark.parametrize("text", ["de Rosa", "de Quito", "es de Canadá", "la casa", "el", "", " ", "de 2²"])
def test_known_words_names_and_strangers_stay(respell, text):
    assert respell(text) == (text, {})


def test_same_accents_come_before_others_and_frequent_words_before_rare_ones():
    speller = Respeller(make(texts=["té té té tu", "esta Esta Esta", "solo sólo sólo"]))
    assert speller(["TU", "ESTA", "SOLO", "SÓLO"]) == [
        ("tu", {"TU": "tu"}),
        ("Esta", {"ESTA": "Esta"}),
        ("solo", {"SOLO": "solo"}),
        ("sólo", {"SÓLO": "sólo"}),
    ]


def test_letters_whose_marks_are_vowels_are_not_touched():
    assert bare("गये") == "गये"
    speller = Respeller(make(texts=["गये गया"]))
    assert speller(["गय"]) == [("गय", {})]


@pytest.mark.parametrize("kind", ["word", "bpe", "unigram"])
def test_tokens_that_the_side_does_not_have_count_as_unknown(kind):
    tokenizer = make(kind, ["I am from Canada", "Yo soy de Canadá"] * 3, **({} if kind == "word" else {"joint": True}))
    used = set(tokenizer.encode("Yo soy de Canadá").ids)
    unused = set(range(4, tokenizer.size)) - used
    assert Respeller(tokenizer)(["de Canada"]) == [("de Canada", {})]
    for speller in (
        Respeller(tokenizer, unused=unused),
        Respeller(tokenizer.with_untrained(unused)),
    ):
        assert speller(["de Canada"]) == [("de Canadá", {"Canada": "Canadá"})]


def test_letters_and_bytes_have_no_words():
    for kind in ("character", "byte"):
        assert Respeller(make(kind, ["Canadá"]))(["Canada zzz"]) == [("Canada zzz", {})]


def test_a_vocabulary_in_lower_case_is_read_in_lower_case():
    speller = Respeller(make(texts=["Soy de Canadá"], lowercase=True))
    assert speller(["Soy de Canada"]) == [("Soy de canadá", {"Canada": "canadá"})]


CALM = [
    "El perro pasa. No hay peligro.",
    "¿Hay peligro? No pasa la ONU.",
    "el perro y la casa",
    "Peligro de Rusia",
    "Pasa la ONU.",
] * 5


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_text_in_capitals_is_read_as_a_sentence(kind):
    speller = Respeller(make(kind, CALM))
    assert speller(["PELIGRO", "¡NO HAY PELIGRO! ¿PASA EL PERRO?", "LA ONU", "el PELIGRO", "17"]) == [
        ("Peligro", {"PELIGRO": "Peligro"}),
        (
            "¡No hay peligro! ¿Pasa el perro?",
            {"NO": "No", "HAY": "hay", "PELIGRO": "peligro", "PASA": "Pasa", "EL": "el", "PERRO": "perro"},
        ),
        ("LA ONU", {}),
        ("el PELIGRO", {}),
        ("17", {}),
    ]


def test_words_of_a_text_in_capitals_stay_as_many():
    speller = Respeller(make("bpe", ["This is Peter's house.", "It's here, is it?", "the house"] * 5))
    for text in (
        "THIS IS PETER'S HOUSE",
        "IT'S PETER'S, IS IT?",
        "THE HOUSE. IT IS HERE… IS IT? PETER'S!",
        "PETER’S  HOUSE",
    ):
        found = speller([text])[0]
        assert found.text.casefold() == text.casefold()
        assert found.text != text
        assert len(words(found.text)) == len(words(text))
        assert all(one.casefold() == other.casefold() for one, other in found.words.items())
    assert speller(["THE HOUSE. IT IS HERE"])[0].text == "The house. It is here"


@pytest.mark.parametrize("text", ["他在PELIGRO工作", "ONU-2024", "pELIGRO", "X" * 3, "…", ""])
def test_what_is_no_text_in_capitals_stays(text):
    assert Respeller(make("bpe", CALM))([text]) == [(text, {})]


def test_a_text_in_capitals_stays_where_the_model_knows_capitals():
    assert Respeller(make("bpe", [text.upper() for text in CALM]))(["PELIGRO"]) == [("PELIGRO", {})]
    assert Respeller(make("bpe", CALM, lowercase=True))(["PELIGRO"]) == [("PELIGRO", {})]
    assert Respeller(make("character", CALM))(["PELIGRO"]) == [("PELIGRO", {})]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_label_is_read_as_words_inside_a_sentence(kind):
    speller = Respeller(make(kind, CALM))
    assert speller(["Perro", " Casa", "Casa de Rusia", "Peligro"]) == [
        ("perro", {"Perro": "perro"}),
        (" casa", {"Casa": "casa"}),
        ("Casa de Rusia", {}),  # a name of several words
        ("Peligro", {}),  # the model knows it so
    ]


@pytest.mark.parametrize("text", ["Perro.", "¡Perro!", "Perro y casa y perro y casa", "perro", "PeRro", "El perro", ""])
def test_what_is_no_label_stays(text):
    assert Respeller(make("bpe", CALM))([text]) == [(text, {})]


@pytest.mark.parametrize("settings", [{"kind": "character"}, {"kind": "bpe", "lowercase": True}])
def test_a_label_stays_where_capitals_cost_nothing(settings):
    assert Respeller(make(texts=CALM, **settings))(["Perro"]) == [("Perro", {})]


@pytest.mark.parametrize(
    ("typed", "read", "output", "begun"),
    [
        ("Perro", "perro", "dog", "Dog"),
        (" Perro", " perro", "dog", "Dog"),
        ("Qué", "qué", "¿what?", "¿What?"),
        ("perro", "perro", "dog", "dog"),
        ("Perro", "Perro", "dog", "dog"),
        ("Perro", "perro", "", ""),
    ],
)
def test_an_output_begins_as_the_text_did(typed, read, output, begun):
    assert begin_as(typed, read, output, make("bpe", CALM)) == begun
    assert begin_as(typed, read, output, make("bpe", CALM, lowercase=True)) == output


def test_a_name_alone_is_no_label():
    speller = Respeller(make("bpe", [*CALM, "la carta, la carta y la carta"]))
    assert speller(["Cartagena"]) == [("Cartagena", {})]
    assert speller(["Carta"])[0].text == "carta"


def test_white_space_that_only_tokenizers_know_changes_nothing(respell):
    assert respell("de▁Canada") == ("de▁Canada", {})
