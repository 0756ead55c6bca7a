"""Hindi noun phrases: case, agreement of what stands before the noun, possession; no articles but ek."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from regard.data.builtin.english import FIRST, FIRST_PLURAL, SECOND, THIRD, THIRD_PLURAL, Slot, possessive
from regard.data.builtin.hi_en.lexicon import NAMES, NOUNS, HindiGender, Noun, suited
from regard.data.builtin.hi_en.scene import Scene
from regard.data.builtin.synchrony import Phrase, Unit, Words, both

Case: TypeAlias = Literal["direct", "oblique"]

_NUMBERS = (("do", "two"), ("tiin", "three"), ("chaar", "four"))
_OWNED_PLACES = frozenset(["dukaan", "baag", "skuul", "gaanv"])
_POSSESSIVES = {FIRST: ("meraa", "my"), FIRST_PLURAL: ("hamaaraa", "our"), SECOND: ("tumhaaraa", "your")}
_PRONOUNS = {
    FIRST: ("main", "maine", "I"),
    SECOND: ("tum", "tumne", "you"),
    FIRST_PLURAL: ("ham", "hamne", "we"),
    THIRD_PLURAL: ("ve", "unhonne", "they"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Nominal:
    """Somebody: as a plain subject, before a postposition, and `marked` as the doer of a finished deed."""

    direct: Words
    oblique: Words = ()
    marked: Words = ()
    target: Words
    slot: Slot
    gender: HindiGender
    head: Unit
    common: bool = False

    @property
    def plural(self) -> bool:
        """Whether its verb has plural endings, as those of ham and tum have."""
        return self.slot not in (FIRST, THIRD)


def agree(stem: str, gender: HindiGender, *, plural: bool = False, case: Case = "direct") -> str:
    """Give an adjective the ending for its noun; those not in aa never change.

    >>> agree("badaa", "f"), agree("badaa", "m", case="oblique"), agree("khush", "f")
    ('badii', 'bade', 'khush')
    """
    if not stem.endswith("aa"):
        return stem
    if gender == "f":
        return stem[:-2] + "ii"
    return stem[:-2] + "e" if plural or case == "oblique" else stem


def pronoun(slot: Slot, gender: HindiGender) -> Nominal:
    """Build main, tum, ham, ve; or vah, whose gender only the verb tells, so that it cannot be marked."""
    head = Unit()
    if slot == THIRD:
        english = head("she" if gender == "f" else "he")
        return Nominal(direct=head("vah"), target=english, slot=slot, gender=gender, head=head)
    direct, marked, spoken = _PRONOUNS[slot]
    return Nominal(direct=head(direct), marked=head(marked), target=head(spoken), slot=slot, gender=gender, head=head)


def name(scene: Scene) -> Nominal:
    """Name a person."""
    hindi, english, gender = scene.mention(NAMES)
    head = Unit()
    form = head(hindi)
    return Nominal(
        direct=form,
        oblique=form,
        marked=form + head.loosely("ne"),
        target=head(english),
        slot=THIRD,
        gender=gender,
        head=head,
    )


def person(scene: Scene, *, owner: Nominal | None = None) -> Nominal:
    """Mention a person by name, as a friend (of `owner` or a speaker), or by what they are."""
    if scene.draw.chance(0.5):
        return name(scene)
    noun, plural, head = scene.mention(NOUNS["person"]), scene.draw.chance(0.25), Unit()
    direct, oblique, target = head(noun.direct[plural]), head(noun.oblique[plural]), head(noun.english[plural])
    friend = noun.direct[0] == "dost"
    if friend:
        (stem, english), whose = _whose(scene, owner), Unit()
        direct = whose(agree(stem, "m", plural=plural)) + direct
        oblique = whose(agree(stem, "m", case="oblique")) + oblique
        target = whose(english) + target
    else:
        target = head.loosely("the") + target
    return Nominal(
        direct=direct,
        oblique=oblique,
        marked=oblique + head.loosely("ne"),
        target=target,
        slot=THIRD_PLURAL if plural else THIRD,
        gender=noun.gender,
        head=head,
        common=not friend,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    """A thing as an object or a place: its phrase, and what a verb agrees with."""

    phrase: Phrase
    head: Unit
    gender: HindiGender
    plural: bool = False


def thing(
    scene: Scene,
    noun: Noun,
    *,
    owner: Nominal | None = None,
    case: Case = "direct",
    rich: float = 0.5,
    new: bool = False,
) -> Thing:
    """Mention a thing: the new book, my book, Ram's book; if it is `new`, a book or two books; milk stands alone."""
    head, kind = Unit(), _kind(scene, noun, rich=rich, new=new)
    plural = kind == "number" and case == "direct"
    form, english = (noun.direct if case == "direct" else noun.oblique)[plural], noun.english[plural]
    phrase = Phrase(head(form), head(english))
    if scene.draw.chance(0.3 * rich):
        phrase = _describe(scene, noun, plural=plural, case=case).then(phrase)
    if plural:
        phrase = both(*scene.draw.pick(_NUMBERS)).then(phrase)
    elif kind == "a":
        phrase = both("ek", "a").then(phrase)
    elif kind == "possessed":
        phrase = _possessor(scene, noun, case, owner).then(phrase)
    elif noun.counted:
        phrase = Phrase(phrase.source, head.loosely("the") + phrase.target)
    return Thing(phrase=phrase, head=head, gender=noun.gender, plural=plural)


def _kind(scene: Scene, noun: Noun, *, rich: float, new: bool) -> str:
    if not noun.counted:
        return "uncounted"
    if noun.group == "place":
        owned = 20 * rich if noun.direct[0] in _OWNED_PLACES else 0
        return scene.draw.weigh(((85, "the"), (7, "a"), (owned, "possessed")))
    if new:
        return "a" if scene.draw.chance(0.6) else "number"
    return scene.draw.weigh(((55, "the"), (15, "a"), (20 * rich, "possessed"), (15, "number")))


def _describe(scene: Scene, noun: Noun, *, plural: bool = False, case: Case = "direct") -> Phrase:
    hindi, english = scene.draw.pick(suited(noun))
    return both(agree(hindi, noun.gender, plural=plural, case=case), english)


def _possessor(scene: Scene, noun: Noun, case: Case, owner: Nominal | None) -> Phrase:
    if scene.draw.chance(0.65):
        hindi, english = _whose(scene, owner)
        return both(agree(hindi, noun.gender, case=case), english)
    whose = name(scene)
    return Phrase(whose.direct, whose.target).then(both(agree("kaa", noun.gender, case=case), "'s"))


def _whose(scene: Scene, owner: Nominal | None) -> tuple[str, str]:
    """Choose a possessive: apnaa for what is the subject's own, whoever that is, or one of the others."""
    if owner is not None and scene.draw.chance(0.5):
        return "apnaa", possessive(owner.slot, owner.gender)
    spoken_for = -1 if owner is None else owner.slot
    return scene.draw.pick([whose for slot, whose in _POSSESSIVES.items() if slot != spoken_for])
