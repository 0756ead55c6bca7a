"""The English side of both grammars: inflection, pronouns, and what neighboring words do to one another."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from regard.data.builtin.synchrony import Words

Gender: TypeAlias = Literal["m", "f", "n"]
"""Of an English pronoun: he, she, it."""

Slot: TypeAlias = int
"""Person and number in one, in the order of a conjugation table: 0 I, 1 you, 2 he, 3 we, 4 they."""

FIRST, SECOND, THIRD, FIRST_PLURAL, THIRD_PLURAL = range(5)

_SUBJECT = ("I", "you", "", "we", "they")
_OBJECT = ("me", "you", "", "us", "them")
_POSSESSIVE = ("my", "your", "", "our", "their")
_SINGULAR = {"m": ("he", "him", "his"), "f": ("she", "her", "her"), "n": ("it", "it", "its")}

_VOWELS = frozenset("aeiou")
_LIKE_CONSONANTS = ("uni", "use")


def subject_pronoun(slot: Slot, gender: Gender) -> str:
    """Choose I, you, he, she, it, we or they."""
    return _SUBJECT[slot] or _SINGULAR[gender][0]


def object_pronoun(slot: Slot, gender: Gender) -> str:
    """Choose me, you, him, her, it, us or them."""
    return _OBJECT[slot] or _SINGULAR[gender][1]


def possessive(slot: Slot, gender: Gender) -> str:
    """Choose my, your, his, her, its, our or their."""
    return _POSSESSIVE[slot] or _SINGULAR[gender][2]


def add_s(word: str) -> str:
    """Make a plural, or the third person of a verb: the rule is the same.

    >>> [add_s(word) for word in ("book", "watch", "story", "boy", "go")]
    ['books', 'watches', 'stories', 'boys', 'goes']
    """
    if word.endswith(("s", "x", "ch", "sh", "o")) and word != "photo":
        return word + "es"
    if word.endswith("y") and word[-2] not in _VOWELS:
        return word[:-1] + "ies"
    return word + "s"


@dataclass(frozen=True, kw_only=True, slots=True)
class EnglishVerb:
    """A verb in its five forms, and the particle that goes with it (`look` + `for`)."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str
    particle: str = ""


def english_verb(text: str, *, past: str = "", participle: str = "", gerund: str = "") -> EnglishVerb:
    """Work out the forms of a verb; the irregular ones are given.

    >>> english_verb("study").past, english_verb("live").gerund, english_verb("look for").particle
    ('studied', 'living', 'for')
    """
    base, _, particle = text.partition(" ")
    stem = base[:-1] if base.endswith("e") and not base.endswith("ee") else base
    if not past:
        past = base[:-1] + "ied" if base.endswith("y") and base[-2] not in _VOWELS else stem + "ed"
    return EnglishVerb(
        base=base,
        third="has" if base == "have" else add_s(base),
        past=past,
        participle=participle or past,
        gerund=gerund or stem + "ing",
        particle=particle,
    )


def be(slot: Slot, *, past: bool = False) -> str:
    """Choose am, is, are, was or were."""
    if past:
        return "was" if slot in (FIRST, THIRD) else "were"
    return ("am", "are", "is", "are", "are")[slot]


def do(slot: Slot, *, past: bool = False) -> str:
    """Choose do, does or did."""
    if past:
        return "did"
    return "does" if slot == THIRD else "do"


def smooth(spoken: Words) -> Words:
    """Let neighbors meet: `a` becomes `an` before a vowel, `can not` becomes `cannot`."""
    smoothed = list(spoken)
    for position in range(len(smoothed) - 2, -1, -1):
        word, following = smoothed[position], smoothed[position + 1]
        if word.text == "a" and _sounds_open(following.text):
            smoothed[position] = word._replace(text="an")
        elif word.text == "can" and following.text == "not":
            smoothed[position : position + 2] = [word.merge(following, "cannot")]
    return tuple(smoothed)


def _sounds_open(word: str) -> bool:
    return word[0].lower() in _VOWELS and not word.lower().startswith(_LIKE_CONSONANTS)
