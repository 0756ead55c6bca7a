"""Verb groups: the finite verb with what hangs on it, before it meets subject, clitics and negation."""

from typing import Literal, NamedTuple, TypeAlias

from regard.data.builtin.english import Slot, be, do
from regard.data.builtin.es_en.scene import Tense
from regard.data.builtin.es_en.verbs import SPANISH, Verb, verb
from regard.data.builtin.synchrony import Unit, Words

Modal: TypeAlias = Literal["can", "want", "must"]

_WANT = verb("querer", "want")
_HAVE = verb("tener", "have")


class Group(NamedTuple):
    """A verb group in both languages.

    English needs it in two shapes: `finite` for a plain statement (eats), and `auxiliary` with `bare` (does … eat)
    for whatever `not` or the subject stands between; `tail` closes both.
    """

    unit: Unit
    verb: Words
    rest: Words
    finite: Words
    auxiliary: Words
    bare: Words
    tail: Words

    @property
    def lexical(self) -> bool:
        """Whether English has to lean on `do`."""
        return bool(self.bare)


def simple(verb: Verb, slot: Slot, *, past: bool = False) -> Group:
    """Conjugate one verb: come, eats or does … eat."""
    unit, english = Unit(), verb.english
    finite = english.past if past else english.third if slot == 2 else english.base
    return Group(
        unit=unit,
        verb=unit((verb.spanish.past if past else verb.spanish.present)[slot]),
        rest=(),
        finite=unit(finite),
        auxiliary=unit.loosely(do(slot, past=past)),
        bare=unit(english.base),
        tail=unit(english.particle),
    )


def copula(infinitive: str, slot: Slot, *, past: bool = False) -> Group:
    """Conjugate ser, estar or tener where English says `be`."""
    unit = Unit()
    spanish, english = SPANISH[infinitive], unit(be(slot, past=past))
    return Group(unit, unit((spanish.past if past else spanish.present)[slot]), (), english, english, (), ())


def in_tense(verb: Verb, slot: Slot, tense: Tense) -> Group:
    """Put a verb into one of the four tenses."""
    match tense:
        case "present" | "past":
            return simple(verb, slot, past=tense == "past")
        case "now":
            head, doing = copula("estar", slot), Unit()
            return head._replace(
                rest=doing(verb.spanish.gerund), tail=doing(verb.english.gerund) + doing(verb.english.particle)
            )
        case "future":
            head, to, doing = copula("ir", slot), Unit(), Unit()
            return head._replace(
                rest=to("a") + doing(verb.spanish.infinitive),
                tail=head.unit("going") + to("to") + doing(verb.english.base) + doing(verb.english.particle),
            )


def with_modal(modal: Modal, verb: Verb, slot: Slot, *, past: bool = False) -> Group:
    """Say that somebody can, wants to or has to do it."""
    doing = Unit()
    infinitive = doing(verb.spanish.infinitive)
    base = doing(verb.english.base) + doing(verb.english.particle)
    match modal:
        case "can":
            unit = Unit()
            return Group(unit, unit(SPANISH["poder"].present[slot]), infinitive, unit("can"), unit("can"), (), base)
        case "want":
            head = simple(_WANT, slot, past=past)
            return head._replace(rest=infinitive, tail=doing.loosely("to") + base)
        case "must":
            head, to = simple(_HAVE, slot, past=past), Unit()
            return head._replace(rest=to("que") + infinitive, tail=to("to") + base)
