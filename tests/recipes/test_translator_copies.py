"""What the translators' recipe makes of a pair: other names, titles, numbers and places, grammatical on both sides."""

import random
import re

import pytest
from translator_parts import copies as made
from translator_parts.copies import SENTENCES, as_typed, entitle, join, move, rename, vary, without_accents, word_pairs
from translator_parts.names import CHECKED, TRAINED, Names, invent, with_right_and, with_words
from translator_parts.numbers import NUMBER, read_number, recount, renumber, spell_en, spell_es, write_number

from regard.data.corpora.pair import Pair

ONE = Names(men=("Luis",), women=("Inés",), surnames=("Vega",), cities={"Roma": "Rome"}, countries={"Perú": "Peru"})


@pytest.fixture
def chance():
    return random.Random(1)


@pytest.fixture
def only(monkeypatch):
    """Let there be one title, and no first names beside it."""
    titles = ((("señor", "Mr."),), (("señora", "Mrs."),))
    monkeypatch.setattr(made, "TITLES", titles)
    monkeypatch.setattr(made, "draw_person", lambda names, chance, woman: "Vega")


@pytest.mark.parametrize(
    ("source", "target", "titled"),
    [
        ("Tom ha venido.", "Tom has come.", ("El señor Vega ha venido.", "Mr. Vega has come.")),
        ("Vi a Tom.", "I saw Tom.", ("Vi al señor Vega.", "I saw Mr. Vega.")),
        ("Vi a María.", "I saw Mary.", ("Vi a la señora Vega.", "I saw Mrs. Vega.")),
        ("A Tom le gusta.", "Tom likes it.", ("Al señor Vega le gusta.", "Mr. Vega likes it.")),
        ("La voz de Tom.", "Tom's voice.", ("La voz del señor Vega.", "Mr. Vega's voice.")),
        ("La voz de Mary.", "Mary's voice.", ("La voz de la señora Vega.", "Mrs. Vega's voice.")),
        ("Habla con Tom.", "Talk to Tom.", ("Habla con el señor Vega.", "Talk to Mr. Vega.")),
        ("¿Tom ha venido?", "Has Tom come?", ("¿El señor Vega ha venido?", "Has Mr. Vega come?")),
        ("Tom, ven aquí.", "Tom, come here.", ("Señor Vega, ven aquí.", "Mr. Vega, come here.")),
        ("Tom, ven.", "Come, Tom.", ("Señor Vega, ven.", "Come, Mr. Vega.")),
        ("¿Cómo estás, Mary?", "How are you, Mary?", ("¿Cómo estás, señora Vega?", "How are you, Mrs. Vega?")),
    ],
)
def test_titles_have_their_article(only, chance, source, target, titled):
    assert entitle(Pair(source=source, target=target), chance, ONE) == titled


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Tom y Mary se van.", "Tom and Mary are leaving."),  # two people
        ("Me llamo Tom.", "My name is Tom."),
        ("El pobre Tom llora.", "Poor Tom is crying."),
        ("Tom, que es alto, canta.", "Tom, who is tall, sings."),
        ("Tom Jackson canta.", "Tom Jackson sings."),
        ("Tom, canta.", "Tom sings."),  # one side alone calls him
        ("Tom canta.", "Mary sings."),
        ("Ellos cantan.", "They sing."),
    ],
)
def test_no_title_where_it_may_be_wrong(only, chance, source, target):
    assert entitle(Pair(source=source, target=target), chance, ONE) is None


def test_names_change_on_both_sides(chance, monkeypatch):
    monkeypatch.setattr(made, "draw_person", lambda names, chance, woman: "Inés" if woman else "Luis")
    pair = Pair(source="Tomás y María ven a Tom.", target="Tom and Mary see Tom.")
    assert rename(pair, chance) == ("Luis y Inés ven a Luis.", "Luis and Inés see Luis.")
    assert with_right_and("Luis y Inés ven a Luis.") == "Luis e Inés ven a Luis."
    assert rename(Pair(source="Tom canta.", target="He sings."), chance) is None


def test_made_up_names_are_one_capitalized_word(chance):
    names = [invent(chance) for _ in range(300)]
    assert all(re.fullmatch(r"[A-ZÁÉÍÓ][a-zñáéíóú]+", name) for name in names)
    assert len(set(names)) > 250
    halves = with_words(TRAINED, ["Tom casa libro", "ventana"])
    assert halves.words == ("casa", "libro", "ventana")
    assert {"Cana", "Libana"} & {invent(chance, halves.words) for _ in range(2000)}


def test_places_change_after_a_preposition(chance):
    names = TRAINED._replace(cities={"Londres": "London", "Lima": "Lima"}, made_up=0.0)
    sides = {move(Pair(source="Vivo en Londres.", target="I live in London."), chance, names) for _ in range(30)}
    assert sides == {None, ("Vivo en Lima.", "I live in Lima."), ("Vivo en Londres.", "I live in London.")}
    assert {move(Pair(source="Londres es grande.", target="London is big."), chance, names) for _ in range(9)} == {None}


def test_checked_names_are_no_trained_ones():
    for mine, checked in zip(TRAINED[:5], CHECKED[:5], strict=True):
        assert not set(mine) & set(checked)


@pytest.mark.parametrize(
    ("number", "es", "feminine", "en"),
    [
        (7, "siete", "siete", "seven"),
        (21, "veintiún", "veintiuna", "twenty-one"),
        (31, "treinta y un", "treinta y una", "thirty-one"),
        (40, "cuarenta", "cuarenta", "forty"),
        (100, "cien", "cien", "a hundred"),
        (101, "ciento un", "ciento una", "one hundred and one"),
        (500, "quinientos", "quinientas", "five hundred"),
        (1000, "mil", "mil", "a thousand"),
    ],
)
def test_numbers_are_spelled(number, es, feminine, en):
    assert (spell_es(number), spell_es(number, feminine=True), spell_en(number)) == (es, feminine, en)


def test_numbers_are_written_as_each_language_does():
    for es, en in (
        ("1.250,50", "1,250.50"),
        ("3,5", "3.5"),
        ("1.000.000", "1,000,000"),
        ("15:30", "15:30"),
        ("42", "42"),
    ):
        assert read_number(es, "es") == read_number(en, "en")
        assert write_number(read_number(es, "es"), "en") == en
        assert write_number(read_number(en, "en"), "es") == es


@pytest.mark.parametrize(
    ("source", "target", "least", "most"),
    [
        ("Tengo 30 libros.", "I have 30 books.", 10, 99),
        ("Nació en 1950.", "He was born in 1950.", 1500, 2030),
        ("Ven a las 7.", "Come at 7.", 2, 12),
        ("Es el 20 de mayo.", "It is May 20.", 2, 28),
        ("Subió un 5 %.", "It rose by 5%.", 2, 99),
    ],
)
def test_numbers_change_alike(chance, source, target, least, most):
    drawn = set()
    for _ in range(40):
        es, en = renumber(source, target, chance) or (source, target)
        assert NUMBER.findall(es) == NUMBER.findall(en)
        drawn.add(int(NUMBER.findall(es)[0]))
    assert len(drawn) > 5
    assert least <= min(drawn) <= max(drawn) <= most


def test_thousands_and_decimals_change_their_marks(chance):
    es, en = renumber("Cuesta 1.250,50 euros.", "It costs 1,250.50 euros.", chance)
    assert re.fullmatch(r"Cuesta \d\.\d{3},\d\d euros\.", es)
    assert en == f"It costs {write_number(read_number(NUMBER.findall(es)[0], 'es'), 'en')} euros."
    es, en = renumber("Sale a las 15:30.", "It leaves at 15:30.", chance)
    assert re.fullmatch(r"Sale a las (1[3-9]|2[0-3]):\d[05]\.", es)
    assert es[12:] == en[14:]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Tengo 1 libro.", "I have 1 book."),  # the noun is singular
        ("Es la 1.", "It is 1."),
        ("Tengo 30 libros.", "I have thirty books."),
        ("Tengo 30 libros.", "I have 31 books."),
        ("No hay.", "There are none."),
    ],
)
def test_some_numbers_stay(chance, source, target):
    assert renumber(source, target, chance) is None


def test_number_words_become_others(chance):
    sides = [recount("Tom tiene tres perros.", "Tom has three dogs.", chance) for _ in range(60)]
    assert len(set(sides)) > 30
    assert any(re.search(r"\d\.\d{3}", es) and re.search(r"\d,\d{3}", en) for es, en in sides)
    assert any(not re.search(r"\d", es) for es, _ in sides)
    for source, target in [
        ("Son las tres.", "It is three."),
        ("Tengo treinta y tres.", "I have three."),
        ("Tengo tres mil.", "I have three thousand."),
        ("Dos o tres.", "Two or three."),
        ("Una o dos cosas.", "A thing or two."),
    ]:
        assert recount(source, target, chance) is None


def test_sources_as_they_are_typed():
    texts = {as_typed("¿Qué pasó mañana, Íñigo?", "es", random.Random(seed)) for seed in range(200)}
    assert "que paso mañana, iñigo" in texts
    assert "que paso manana inigo" in texts
    assert "¿QUÉ PASÓ MAÑANA, ÍÑIGO?" in texts
    english = {as_typed("I don't know.", "en", random.Random(seed)) for seed in range(200)}
    assert {"i dont know", "i don't know", "I DON'T KNOW."} <= english
    assert without_accents("Ñandú, pingüino") == "Ñandu, pinguino"


def test_dates_titles_and_amounts_have_other_forms():
    def forms(text, language):
        return {vary(text, language, random.Random(seed)) for seed in range(60)}

    assert forms("Ven el 1 de mayo.", "es") == {"Ven el primero de mayo."}
    assert "Llama al Sr. Vega." in forms("Llama al señor Vega.", "es")
    assert forms("El señor come.", "es") == {"El señor come."}
    assert {"Son 5,20 €.", "Son 5,20 euros."} == forms("Son 5,20 euros.", "es")
    assert "Son 1250,50 euros." in forms("Son 1.250,50 euros.", "es")
    assert forms("He came on March 3, 1987.", "en") == {
        "He came on 3 March 1987.",
        "He came on March 3rd, 1987.",
        "He came on the 3rd of March 1987.",
    }
    assert forms("Ask Mrs. Vega.", "en") == {"Ask Mrs Vega.", "Ask Ms. Vega.", "Ask Ms Vega."}
    assert "It costs $5." in forms("It costs 5 dollars.", "en")


def test_joined_lines_are_whole_pairs(chance):
    pairs = [Pair(source=f"Tom ve {number}.", target=f"Tom sees {number}.") for number in range(50)]
    pairs.append(Pair(source="sin punto", target="no mark"))
    joined = list(join(pairs, 40, chance, most_words=8))
    assert joined
    for pair in joined:
        assert re.findall(r"\d+", pair.source) == re.findall(r"\d+", pair.target)
        assert pair.source.count(".") == 2
        assert len(pair.source.split()) <= 8
    assert {pair.source.count(".") for pair in join(pairs, 40, chance)} == set(SENTENCES)


def test_word_pairs_are_linked_to_each_other_alone():
    pairs = [Pair(source="Veo el gato.", target="I see the cat.")] * 5 + [
        Pair(source="Por supuesto.", target="Of course.")
    ] * 5
    links = ["0-0 0-1 1-2 2-3 3-4"] * 5 + ["1-0 1-1 2-2"] * 5
    words = {(pair.source, pair.target) for pair in word_pairs(pairs, links)}
    assert words == {("el", "the"), ("gato", "cat")}  # veo is two words, supuesto too; marks are no words
    assert word_pairs(pairs[:3], links[:3]) == []
