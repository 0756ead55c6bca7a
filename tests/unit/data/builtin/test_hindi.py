"""Laws of the Hindi grammar over thousands of sentences."""

import re
from itertools import pairwise

import pytest

from regard.data.builtin.hi_en.group import Agreement, Tense, conjugate
from regard.data.builtin.hi_en.lexicon import GO, NOUNS, READ, decline
from regard.data.builtin.hi_en.nominal import agree
from regard.data.corpora.pair import Pair, words

LAST = re.compile(
    r"(hai|hain|huun|ho|thaa|the|thii|thiin)$"  # is, was
    r"|g(aa|e|ii)$"  # will
    r"|(a|i|e)?y(aa|e|ii|iin)$|^(pii|piin|dii|diin)$"  # went, drank, gave
    r"|(padh|likh|khariid|dekh|khol|laut|daud)(aa|e|ii|iin)$"
)


def clauses(source: str) -> list[list[str]]:
    """Cut at the marks and at the words that join clauses."""
    parts = re.split(r"[,;.?]| aur | lekin | kyonki | ki | jo ", f" {source} ")
    return [part.split() for part in parts if part.strip()]


def test_the_verb_comes_last(hindi: list[Pair]) -> None:
    checked = 0
    for pair in hindi:
        if " jo " not in pair.source:
            for clause in clauses(pair.source):
                checked += 1
                assert LAST.search(clause[-1]), pair.source
    assert checked > 4000


def test_the_english_verb_does_not(hindi: list[Pair]) -> None:
    """The last word of Hindi is mostly linked with an early word of English."""
    moved = 0
    for pair in hindi:
        source = words(pair.source.rstrip(".?"))
        targets = [link.target for link in pair.links if link.source == len(source) - 1]
        moved += min(targets) < len(words(pair.target)) / 2
    assert moved > len(hindi) * 0.45


def test_ne_marks_who_has_done_something(hindi: list[Pair]) -> None:
    for pair in hindi:
        for clause in clauses(pair.source):
            if "ne" in clause:
                assert not clause[-1].endswith(("gaa", "ge", "gii", "hai", "hain", "huun", "ho")), pair.source


def test_what_stands_before_a_noun_agrees_with_it(hindi: list[Pair]) -> None:
    gender = {noun.direct[0]: noun.gender for nouns in NOUNS.values() for noun in nouns}
    endings = {"badaa": "m", "bade": "m", "badii": "f", "nayaa": "m", "naye": "m", "nayii": "f", "kaa": "m", "kii": "f",
               "meraa": "m", "merii": "f", "apnaa": "m", "apnii": "f", "achchhaa": "m", "achchhii": "f"}  # fmt: skip
    checked = 0
    for pair in hindi:
        for before, noun in pairwise(words(pair.source)):
            if before in endings and noun in gender:
                checked += 1
                assert endings[before] == gender[noun], pair.source
    assert checked > 300


def test_only_the_verb_tells_he_from_she(hindi: list[Pair]) -> None:
    found = {"He": 0, "She": 0}
    for pair in hindi:
        first = words(pair.source)[0]
        if first == "Vah" and "?" not in pair.source and len(clauses(pair.source)) == 1:
            english = pair.target.split()[0]
            found[english] += 1
            feminine = any(word.endswith(("ii", "iin")) and word != "nahiin" for word in words(pair.source))
            assert english == "He" or feminine, pair.source
    assert min(found.values()) > 10


@pytest.mark.parametrize(
    ("tense", "slot", "gender", "hindi", "english"),
    [
        ("habit", 2, "m", "jaataa hai", "goes"),
        ("now", 4, "f", "jaa rahii hain", "are going"),
        ("past", 4, "f", "gayiin", "went"),
        ("before", 3, "m", "gaye the", "had gone"),
        ("once", 2, "f", "jaatii thii", "used to go"),
        ("future", 0, "m", "jaauungaa", "will go"),
        ("want", 1, "m", "jaanaa chaahte ho", "want to go"),
        ("can", 2, "m", "jaa saktaa hai", "can go"),
    ],
)
def test_conjugation(tense: Tense, slot: int, gender: str, hindi: str, english: str) -> None:
    agreement = Agreement(slot=slot, gender="f" if gender == "f" else "m", plural=slot not in (0, 2))
    group = conjugate(GO, tense, slot, agreement)
    assert " ".join(word.text for word in group.hindi) == hindi
    assert " ".join(word.text for word in group.finite + group.tail) == english


def test_a_finished_deed_agrees_with_its_object() -> None:
    group = conjugate(READ, "past", 0, Agreement(slot=2, gender="f", plural=False))
    assert [word.text for word in group.hindi] == ["padhii"]


def test_declension() -> None:
    assert decline("ladkii", "f") == (("ladkii", "ladkiyaan"), ("ladkii", "ladkiyon"))
    assert decline("aadmii", "m") == (("aadmii", "aadmii"), ("aadmii", "aadmiyon"))
    assert agree("chhotaa", "m", plural=True) == "chhote"
    assert agree("laal", "f") == "laal"
