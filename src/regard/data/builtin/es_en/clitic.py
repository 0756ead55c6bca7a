"""Clitic pronouns, which Spanish puts before the verb: lo compra, me lo da, le da un libro a Ana."""

from regard.data.builtin.english import FIRST, FIRST_PLURAL, SECOND, THIRD, THIRD_PLURAL, Slot, object_pronoun
from regard.data.builtin.es_en.clause import Piece, piece
from regard.data.builtin.es_en.nominal import Nominal, pronoun
from regard.data.builtin.es_en.nouns import SpanishGender
from regard.data.builtin.es_en.people import draw_gender, someone
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.synchrony import Unit, Words

_ACCUSATIVE: dict[tuple[Slot, SpanishGender], str] = {
    (THIRD, "m"): "lo",
    (THIRD, "f"): "la",
    (THIRD_PLURAL, "m"): "los",
    (THIRD_PLURAL, "f"): "las",
}
_OF_SPEAKERS: dict[Slot, str] = {FIRST: "me", SECOND: "te", FIRST_PLURAL: "nos"}


def spell(nominal: Nominal) -> str:
    """Give the direct object clitic for a nominal: me, te, nos, lo, la, los or las."""
    return _OF_SPEAKERS.get(nominal.slot) or _ACCUSATIVE[nominal.slot, nominal.gender]


def refer(nominal: Nominal) -> Piece:
    """Refer back to a nominal as the direct object: la ayuda, helps her."""
    unit = Unit()
    return Piece(unit(spell(nominal)), (), unit(object_pronoun(nominal.slot, nominal.english_gender)))


def somebody_else(scene: Scene, subject: Nominal, *, known: bool) -> Nominal:
    """Choose whom a lone clitic means, other than the subject: a speaker, or if it is `known` anybody."""
    slots = [slot for slot in (FIRST, SECOND, FIRST_PLURAL) if not _overlap(slot, subject.slot)]
    if known:
        slots += [THIRD, THIRD_PLURAL]
    return pronoun(scene.draw.pick(slots), draw_gender(scene.draw))


def _overlap(slot: Slot, other: Slot) -> bool:
    return slot == other or {slot, other} == {FIRST, FIRST_PLURAL}


def to_somebody(scene: Scene, subject: Nominal, given: Nominal) -> tuple[Piece, ...]:
    """Give a thing to somebody: to a speaker by a clitic (gives me a book), to others by le and a."""
    if scene.draw.chance(0.45):
        return to_speaker(somebody_else(scene, subject, known=False), given)
    return to_other(someone(scene, owner=subject), given)


def to_speaker(receiver: Nominal, given: Nominal) -> tuple[Piece, ...]:
    """Give a thing to a speaker: me da un libro, gives me a book."""
    unit = Unit()
    clitic = Piece(unit(spell(receiver)), (), unit(object_pronoun(receiver.slot, "n")))
    return clitic, piece(given.phrase)


def to_other(receiver: Nominal, given: Nominal) -> tuple[Piece, ...]:
    """Give a thing to a third person: le da un libro a Ana, gives a book to Ana; le has no word of its own."""
    to, (source, target) = Unit(), receiver.phrase
    doubled = receiver.head.loosely("les" if receiver.plural else "le")
    return Piece(doubled, given.phrase.source, given.phrase.target), Piece((), to("a") + source, to("to") + target)


def it_to_speaker(receiver: Nominal, given: Nominal) -> tuple[Piece, ...]:
    """Give what has been mentioned to a speaker: me lo da, gives it to me."""
    person, it = Unit(), refer(given)
    clitics = person(spell(receiver)) + it.clitic
    return (Piece(clitics, (), it.target + person.loosely("to") + person(object_pronoun(receiver.slot, "n"))),)


def it_to_other(receiver: Nominal, given: Nominal) -> tuple[Piece, ...]:
    """Give what has been mentioned to a third person: se lo da a Ana, gives it to Ana."""
    to, it = Unit(), refer(given)
    source: Words = to("a") + receiver.phrase.source
    return (Piece(receiver.head.loosely("se") + it.clitic, source, it.target + to("to") + receiver.phrase.target),)
