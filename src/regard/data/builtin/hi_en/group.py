"""Hindi verb groups, which end the clause, and the English they become."""

from typing import Literal, NamedTuple, TypeAlias

from regard.data.builtin.english import FIRST, SECOND, THIRD, Slot, be, do
from regard.data.builtin.hi_en.lexicon import HindiGender, Verb
from regard.data.builtin.synchrony import Unit, Words

Tense: TypeAlias = Literal["habit", "now", "past", "before", "once", "future", "want", "can"]
"""habit: goes; now: is going; past: went; before: had gone; once: used to go; future: will go; want, can: to go."""

FINISHED: frozenset[Tense] = frozenset(["past", "before"])
_PAST = {("m", False): "thaa", ("m", True): "the", ("f", False): "thii", ("f", True): "thiin"}


class Group(NamedTuple):
    """A verb group: the Hindi words, and the English around `not` and the subject of a question."""

    hindi: Words
    finite: Words
    auxiliary: Words
    bare: Words
    tail: Words


class Agreement(NamedTuple):
    """What a Hindi verb agrees with."""

    slot: Slot
    gender: HindiGender
    plural: bool


def is_(with_: Agreement) -> str:
    """Choose huun, ho, hai or hain."""
    if with_.slot == FIRST:
        return "huun"
    return "ho" if with_.slot == SECOND else "hain" if with_.plural else "hai"


def was(with_: Agreement) -> str:
    """Choose thaa, the, thii or thiin."""
    return _PAST[with_.gender, with_.plural]


def end(stem: str, with_: Agreement) -> str:
    """Add aa, e or ii."""
    return stem + ("ii" if with_.gender == "f" else "e" if with_.plural else "aa")


def will(verb: Verb, with_: Agreement) -> str:
    """Form the future: jaauungaa, jaaoge, jaaegaa, jaaenge.

    >>> from regard.data.builtin.hi_en.lexicon import GO
    >>> will(GO, Agreement(slot=0, gender="f", plural=False)), will(GO, Agreement(slot=4, gender="m", plural=True))
    ('jaauungii', 'jaaenge')
    """
    vowel = "uun" if with_.slot == FIRST else "o" if with_.slot == SECOND else "en" if with_.plural else "e"
    return end(f"{verb.future}{vowel}g", with_)


def finished(verb: Verb, with_: Agreement, *, alone: bool) -> str:
    """Form the perfective: gayaa, gaye, gayii, and gayiin where it stands alone."""
    he, they, she = verb.perfective
    if with_.gender == "m":
        return they if with_.plural else he
    return she + "n" if with_.plural and alone else she


def conjugate(verb: Verb, tense: Tense, slot: Slot, with_: Agreement) -> Group:
    """Build the group; English agrees with the subject's `slot`, Hindi with what it must."""
    act, help_, english = Unit(), Unit(), verb.english
    habit = act(end(verb.stem + "t", with_))
    match tense:
        case "habit":
            finite = act(english.third if slot == THIRD else english.base)
            hindi = habit + act.loosely(is_(with_))
            return Group(hindi, finite, act.loosely(do(slot)), act(english.base), ())
        case "past":
            hindi = act(finished(verb, with_, alone=True))
            return Group(hindi, act(english.past), act.loosely(do(slot, past=True)), act(english.base), ())
        case "before":
            hindi = act(finished(verb, with_, alone=False)) + help_(was(with_))
            return Group(hindi, help_("had"), help_("had"), (), act(english.participle))
        case "once":
            return Group(habit + help_(was(with_)), help_("used to"), help_("did"), help_("use to"), act(english.base))
        case "now":
            hindi = act(verb.stem) + act(end("rah", with_)) + help_(is_(with_))
            return Group(hindi, help_(be(slot)), help_(be(slot)), (), act(english.gerund))
        case "future":
            return Group(act(will(verb, with_)), act.loosely("will"), act.loosely("will"), (), act(english.base))
        case "can":
            hindi = act(verb.stem) + help_(end("sakt", with_)) + help_.loosely(is_(with_))
            return Group(hindi, help_("can"), help_("can"), (), act(english.base))
        case "want":
            hindi = act(verb.stem + "naa") + help_(end("chaaht", with_)) + help_.loosely(is_(with_))
            finite = help_("wants" if slot == THIRD else "want")
            to = act.loosely("to") + act(english.base)
            return Group(hindi, finite, help_.loosely(do(slot)), help_("want"), to)
