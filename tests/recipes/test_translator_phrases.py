"""The phrases of our own that translators are trained on and checked with: both sides have the same."""

import random
import re

import pytest
from translator_parts import check, phrases
from translator_parts.files import HeldOut, bare_key
from translator_parts.names import CHECKED, TRAINED
from translator_parts.numbers import MONTHS, NUMBER, read_number
from translator_parts.phrases import FRAMES, SLOT, draw_phrases, draw_signs, fill, read_frames, word_forms
from translator_parts.signs import BUTTONS, SIGNS, read_checked
from translator_parts.slots import draw_slots

from regard.data.corpora.pair import Pair

ASKED = [frame for text in (check.NAMES, check.NUMBERS, check.DATES, check.TITLES) for frame in read_frames(text)]
ALL = [*read_frames(FRAMES), *read_frames(BUTTONS), *ASKED]


def test_both_sides_of_a_frame_have_the_same_slots_and_end():
    for es, en in ALL:
        assert sorted(set(SLOT.findall(es))) == sorted(set(SLOT.findall(en))), es
        assert (es[-1] in ".?!:}s") == (en[-1] in ".?!,}s"), es
        pair = fill(es, en, TRAINED, random.Random(1))[0]
        assert not re.search(r"[{}]", pair.source + pair.target), es


def test_there_are_frames_enough_and_no_two_alike():
    assert len(read_frames(phrases.DATES)) >= 40
    for side in (0, 1):
        assert len({frame[side] for frame in read_frames(FRAMES)}) >= len(read_frames(FRAMES)) - 1  # how are you, twice
    assert not {es for es, _ in ASKED} & {es for es, _ in read_frames(FRAMES)}


def test_signs_have_the_same_slots_and_those_that_are_measured_are_apart():
    asked = read_checked()
    for es, en in read_frames(SIGNS):
        assert sorted(set(SLOT.findall(es))) == sorted(set(SLOT.findall(en))), es
        assert not re.search(r"[.?!:]$", es + en), es
    for side in (0, 1):
        taught = {bare_key(frame[side]) for frame in read_frames(SIGNS)}
        assert not taught & {bare_key(row[side][0]) for row in asked}


def test_signs_are_drawn_with_and_without_marks():
    drawn = list(draw_signs(12, TRAINED, random.Random(1)))
    assert {Pair(source="Salida", target="Exit"), Pair(source="¡Salida!", target="Exit!")} <= set(drawn)
    assert drawn.count(Pair(source="Salida", target="Exit")) > drawn.count(Pair(source="Salida.", target="Exit."))
    assert len({pair.source for pair in drawn if pair.source.startswith("Puerta ")}) > 5
    assert not any(re.search(r"[{}]", pair.source + pair.target) for pair in drawn)


def test_words_stand_alone_with_a_capital_on_either_side():
    forms = [(pair.source, pair.target) for pair in word_forms([Pair(source="lunes", target="Monday")])]
    assert forms[:3] == [("lunes", "Monday"), ("Lunes", "Monday"), ("Lunes.", "Monday.")]


@pytest.mark.parametrize("slot", ["b", "u", "x"])
def test_fractions_have_a_comma_in_spanish_and_a_point_in_english(slot):
    drawn = [draw_slots({slot: None}, TRAINED, random.Random(seed))[slot] for seed in range(200)]
    broken = [(es, en) for es, en in drawn if "," in es]
    assert broken
    assert all(es.replace(",", ".").strip(" %") == en.strip(" %") for es, en in broken)


def test_signs_count_where_any_listed_translation_comes_out():
    signs = "Piscina | Swimming pool / Pool\nCocina | Kitchen"
    assert check.share_expected(lambda texts: ["pool.", "Cook"], signs, "es-en") == 50
    assert check.share_expected(lambda texts: ["¡Piscina!", "cocina"], signs, "en-es") == 100
    assert check.share_expected(lambda texts: list(texts), check.SIGNS, "es-en") < 10


def test_numbers_of_both_sides_agree():
    for pair in draw_phrases(phrases.AMOUNTS, 20, TRAINED, random.Random(2)):
        es = [read_number(item, "es") for item in NUMBER.findall(pair.source)]
        en = [read_number(item, "en") for item in NUMBER.findall(pair.target)]
        assert sorted(es) == sorted(en), pair


def test_dates_are_those_of_both_languages():
    chance = random.Random(3)
    for _ in range(100):
        es, en = draw_slots({"D": None}, TRAINED, chance)["D"]
        day, month, year = es.split(" de ")
        assert en == f"{MONTHS[month]} {day}, {year}"
    later = draw_slots({"y": None, "y2": None}, TRAINED, chance)
    assert int(later["y"][0]) < int(later["y2"][0])


def test_hours_in_words():
    drawn = {tuple(draw_slots({"o": None}, TRAINED, random.Random(seed))["o"]) for seed in range(2000)}
    assert {
        ("Son las tres y media", "half past three"),
        ("Es la una y cuarto", "a quarter past one"),
        ("Son las seis menos cuarto", "a quarter to six"),
        ("Son las doce", "twelve o'clock"),
        ("Son las dos y veinte", "twenty past two"),
    } <= drawn


def test_held_out_sentences_are_known_in_any_case_and_without_marks():
    apart = HeldOut([Pair(source="¿Qué pasó, Íñigo?", target="What's up?")])
    free = Pair(source="Hola.", target="Hi.")
    kept = apart.free(
        [
            free,
            free,
            Pair(source="que paso inigo", target="Hi."),
            Pair(source="Hola.", target="WHATS UP"),
            Pair(source="...", target="Hi."),
        ]
    )
    assert kept == [free]
    assert bare_key("¡Ñandú!") == "nandu"


@pytest.mark.parametrize("direction", ["es-en", "en-es"])
def test_a_perfect_translator_keeps_everything_and_an_echo_little(direction):
    def perfect(texts):
        known = {}
        for frames in (check.NAMES, check.NUMBERS, check.DATES, check.TITLES):
            chance = random.Random(2)
            for es, en in read_frames(frames):
                for _ in range(check.EACH):
                    pair = fill(es, en, CHECKED, chance)[0]
                    known[pair.source], known[pair.target] = pair.target, pair.source
        return [known[text] for text in texts]

    for frames in (check.NAMES, check.NUMBERS, check.DATES, check.TITLES):
        assert check.share_kept(perfect, frames, direction) == 100
    assert check.share_kept(lambda texts: list(texts), check.DATES, direction) == 0
    assert check.share_kept(lambda texts: [""] * len(texts), check.NAMES, direction) == 0


@pytest.mark.parametrize(
    ("output", "right"),
    [
        ("It was on March 3, 1987.", True),
        ("It was on March 3rd, 1987.", True),
        ("It was on the 3rd of March, 1987.", True),
        ("It was on 3 March 1987.", True),
        ("It was on March 13, 1987.", False),
        ("It was on March 3, 198.", False),
        ("It was in March 1987.", False),
    ],
)
def test_any_usual_form_of_a_date_is_right(output, right):
    pattern = check.expected("D", ("3 de marzo de 1987", "March 3, 1987"), Pair(source="", target=""), "es-en")
    assert bool(re.search(pattern, output)) == right


def test_sentences_are_counted_by_their_last_marks():
    assert [
        check.sentences(text) for text in ("Hi. Bye!", "Mr. Vega came.", "It is 3.5.", "no mark", "¿Qué? ¡No!")
    ] == [*(2, 1, 1, 0, 2)]
    pairs = [Pair(source="Hola.", target="Hi."), Pair(source="Adiós.", target="Bye.")]
    assert check.share_of_two(lambda texts: list(texts), pairs, "es-en") == 100
    assert check.share_of_two(lambda texts: ["Hi."] * len(texts), pairs, "en-es") == 0


def test_figures_of_a_work_folder(tmp_path):
    long = "uno dos tres cuatro cinco seis siete ocho nueve diez once."
    for language in ("es", "en"):
        (tmp_path / f"test.{language}").write_text(f"{long}\nHola.\nAdiós.\n", encoding="utf-8")
    figures = check.measure(lambda texts: list(texts), tmp_path, "es-en")
    assert (round(figures["BLEU"]), figures["sentences"], figures["long sentences"]) == (100, 3, 1)
    assert figures["BLEU, no accents, marks or capitals"] < 100
    rows = check.shown(figures)
    assert rows["BLEU, 10 words and more"] == "100.0"
    assert rows["dates that come through"] == "0 %"
