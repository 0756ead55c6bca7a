"""Determiners: which ones suit a noun, and how they agree with it."""

from typing import Literal, TypeAlias

from regard.data.builtin.english import FIRST, FIRST_PLURAL, SECOND, THIRD_PLURAL, Gender, Slot, possessive
from regard.data.builtin.es_en.nominal import Nominal
from regard.data.builtin.es_en.nouns import Noun, SpanishGender
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.synchrony import NOTHING, Phrase, both

Determiner: TypeAlias = Literal[
    "the", "all", "a", "this", "that", "my", "your", "our", "own", "number", "many", "another", "bare"
]
"""`own` belongs to the subject of the clause: mi, tu, su or nuestro, as that subject is."""

Acquaintance: TypeAlias = Literal["any", "new", "known", "offered", "handed"]
"""How an object is met: newly (writes a letter), as known (loses the key), as nobody's yet (buys this shirt), as not
the receiver's (lends her book), or in any way."""

Weighted: TypeAlias = tuple[tuple[float, Determiner], ...]

_NUMBERS = (("dos", "two"), ("tres", "three"), ("cuatro", "four"), ("cinco", "five"))
_POINTING = {"this": ("est", "this", "these"), "that": ("es", "that", "those")}
_OF_SPEAKERS: dict[str, Slot] = {"my": FIRST, "your": SECOND, "our": FIRST_PLURAL}
_OWNABLE = frozenset(["reading", "personal", "vehicle", "furniture", "animal", "kin"])
_OWNABLE_PLACES = frozenset(["casa", "oficina", "jardín", "cocina", "pueblo", "ciudad", "calle", "escuela"])
_SERVED = frozenset(["café", "té", "jugo"])

_ONE: Weighted = (
    (40, "a"), (26, "the"), (12, "own"), (4, "my"), (3, "your"), (2, "our"), (6, "this"), (4, "that"), (3, "another"),
)  # fmt: skip
_SEVERAL: Weighted = (
    (25, "the"), (8, "all"), (20, "bare"), (20, "number"), (10, "own"), (4, "my"), (3, "your"), (2, "our"), (6, "this"),
    (4, "that"), (8, "many"), (6, "a"),
)  # fmt: skip
_UNCOUNTED: Weighted = ((60, "bare"), (28, "the"), (8, "many"), (4, "this"))
_NEWNESS: dict[Determiner, bool] = {"a": True, "another": True, "number": True, "many": True, "bare": True}
_POSSESSIVE = frozenset(["own", "my", "your", "our"])
_POSSESSIVES: dict[str, frozenset[str]] = {
    "any": _POSSESSIVE,
    "known": _POSSESSIVE,
    "handed": frozenset(["own"]),
    "offered": frozenset(),
    "new": frozenset(),
}


def article(noun: Noun, *, plural: bool) -> str:
    """Give the definite article: el, la, los or las, and el before the stressed a of agua."""
    if plural:
        return "las" if noun.gender == "f" else "los"
    return "la" if noun.gender == "f" and noun.singular != "agua" else "el"


def determine(scene: Scene, noun: Noun, choice: Determiner, *, plural: bool, owner: Nominal | None = None) -> Phrase:
    """Say a determiner that agrees with `noun`."""
    gender = noun.gender
    match choice:
        case "bare":
            return NOTHING
        case "the":
            return both(article(noun, plural=plural), "the")
        case "all":
            return both("tod" + _ending(gender, plural=True), "all").then(both(article(noun, plural=True), "the"))
        case "a":
            if plural:
                return both("unas" if gender == "f" else "unos", "some")
            return both("una" if gender == "f" else "un", "a")
        case "this" | "that":
            stem, singular, plural_form = _POINTING[choice]
            return both(stem + _ending(gender, plural=plural, masculine="e"), plural_form if plural else singular)
        case "number":
            return both(*scene.draw.pick(_NUMBERS))
        case "many":
            return both("much" + _ending(gender, plural=plural), "many" if plural else "a lot of")
        case "another":
            return both("otr" + _ending(gender, plural=False), "another")
        case "own" if owner is not None:
            return _possess(noun, owner.slot, owner.english_gender, plural=plural)
        case _:
            return _possess(noun, _OF_SPEAKERS.get(choice, THIRD_PLURAL), "n", plural=plural)


def _ending(gender: SpanishGender, *, plural: bool, masculine: str = "o") -> str:
    if plural:
        return "as" if gender == "f" else "os"
    return "a" if gender == "f" else masculine


def _possess(noun: Noun, slot: Slot, gender: Gender, *, plural: bool) -> Phrase:
    if slot == FIRST_PLURAL:
        return both("nuestr" + _ending(noun.gender, plural=plural), "our")
    spanish = {FIRST: "mi", SECOND: "tu"}.get(slot, "su")
    return both(spanish + "s" if plural else spanish, possessive(slot, gender))


def ownable(noun: Noun) -> bool:
    """Whether people say my and your of it."""
    return noun.group in _OWNABLE or noun.singular in _OWNABLE_PLACES


def is_new(choice: Determiner) -> bool:
    """Whether the determiner introduces a thing rather than pointing at a known one."""
    return _NEWNESS.get(choice, False)


def choose(
    scene: Scene, noun: Noun, *, plural: bool, owner: Nominal | None = None, acquaintance: Acquaintance = "any"
) -> Determiner:
    """Choose a determiner for an object, as the verb makes its acquaintance."""
    if not noun.counted:
        return _choose_uncounted(scene, noun, acquaintance)

    def suits(choice: Determiner) -> bool:
        if choice in _POSSESSIVE:
            return choice in allowed
        if choice == "all" and noun.group == "personal":
            return False
        return acquaintance in ("any", "offered", "handed") or is_new(choice) == (acquaintance == "new")

    allowed = _POSSESSIVES[acquaintance] if ownable(noun) else ()
    weights = _SEVERAL if plural else _ONE
    return scene.draw.weigh(
        [entry for entry in weights if suits(entry[1]) and (owner is not None or entry[1] != "own")]
    )


def _choose_uncounted(scene: Scene, noun: Noun, acquaintance: Acquaintance) -> Determiner:
    if noun.singular in _SERVED and acquaintance != "known" and scene.draw.chance(0.4):
        return "a"
    if acquaintance == "known":
        return "the"
    return "bare" if acquaintance == "new" else scene.draw.weigh(_UNCOUNTED)
