"""People and animals as noun phrases, and the subjects of clauses."""

from regard.data.builtin.draw import Draw
from regard.data.builtin.english import FIRST, FIRST_PLURAL, SECOND, THIRD, THIRD_PLURAL
from regard.data.builtin.es_en.determiner import Determiner, Weighted
from regard.data.builtin.es_en.nominal import Nominal, pronoun, proper
from regard.data.builtin.es_en.noun_phrase import belonging, noun_phrase
from regard.data.builtin.es_en.nouns import GROUPS, NAMES, Noun, SpanishGender, nouns
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.synchrony import both

_ANY_WORKPLACE = nouns("hospital oficina escuela restaurante tienda biblioteca museo hotel universidad")
_WORKPLACES = {
    "doctor": nouns("hospital"),
    "nurse": nouns("hospital"),
    "teacher": nouns("escuela universidad"),
    "waiter": nouns("restaurante hotel"),
    "waitress": nouns("restaurante hotel"),
}
_KIN: Weighted = ((55, "my"), (30, "your"), (15, "our"))
_KIN_SEVERAL = frozenset(["padre", "hermano", "hermana", "hijo", "hija", "abuelo", "primo", "amigo", "amiga"])
_ROLE: Weighted = ((70, "the"), (14, "a"), (10, "this"), (6, "that"))
_ROLE_SEVERAL: Weighted = ((74, "the"), (14, "number"), (6, "this"), (6, "that"))
_ANIMAL: Weighted = ((55, "the"), (18, "my"), (15, "your"), (12, "our"))


def draw_gender(draw: Draw) -> SpanishGender:
    """Choose a grammatical gender."""
    return "f" if draw.chance(0.5) else "m"


def name(scene: Scene) -> Nominal:
    """Name a person."""
    spanish, english, gender = scene.mention_name(NAMES)
    return proper(spanish, english, "f" if gender == "f" else "m")


def possessor(scene: Scene, *, named: bool = False) -> Nominal:
    """Mention one person, if need be by name, whose English takes a plain 's: Ana's, my brother's."""
    person = name(scene) if named else someone_brief(scene)
    while person.phrase.target[-1].text.endswith("s"):
        person = name(scene)
    return person


def workplaces(nominal: Nominal) -> tuple[Noun, ...]:
    """List where such a person works."""
    trade = nominal.noun.english_singular if nominal.noun is not None else ""
    return _WORKPLACES.get(trade, _ANY_WORKPLACE)


def is_child(nominal: Nominal) -> bool:
    """Whether it is a boy or a girl, who neither works nor drinks wine."""
    return nominal.noun is not None and nominal.noun.singular in ("niño", "niña")


def someone(scene: Scene, *, owner: Nominal | None = None, plain: bool = False, several: float = 0.2) -> Nominal:
    """Mention a person or some people: a name, a relative or friend, somebody of some trade."""
    if scene.draw.chance(0.35):
        return name(scene)
    plural = scene.draw.chance(several)
    if scene.draw.chance(0.55):
        return relative_or_friend(scene, owner=owner, plural=plural)
    choice = scene.draw.weigh(_ROLE_SEVERAL if plural else _ROLE)
    return noun_phrase(scene, scene.mention(GROUPS["role"]), choice, plural=plural, plain=plain)


def relative_or_friend(scene: Scene, *, owner: Nominal | None = None, plural: bool = False) -> Nominal:
    """Mention a relative, friend or neighbor of the speakers, of the owner, or of somebody named."""
    noun = scene.mention(GROUPS["kin"])
    plural = plural and noun.singular in _KIN_SEVERAL
    if scene.maybe(0.15):
        return belonging(scene, noun, possessor(scene, named=True), plural=plural)
    choice: Determiner = "own" if owner is not None and scene.draw.chance(0.6) else scene.draw.weigh(_KIN)
    return noun_phrase(scene, noun, choice, plural=plural, owner=owner, plain=True)


def someone_brief(scene: Scene) -> Nominal:
    """Mention one person in a word or two."""
    return (
        name(scene)
        if scene.draw.chance(0.5)
        else noun_phrase(scene, scene.mention(GROUPS["kin"]), scene.draw.weigh(_KIN), plain=True)
    )


def animal(scene: Scene) -> Nominal:
    """Mention an animal."""
    return noun_phrase(scene, scene.mention(GROUPS["animal"]), scene.draw.weigh(_ANIMAL))


def couple(scene: Scene) -> Nominal:
    """Join two people: Ana y Pedro, mi hermano y yo."""
    first = someone_brief(scene)
    if scene.draw.chance(0.3):
        phrase = first.phrase.then(both("y", "and")).then(both("yo", "I"))
        gender: SpanishGender = "f" if first.gender == "f" and scene.draw.chance(0.5) else "m"
        return Nominal(phrase=phrase, head=first.head, slot=FIRST_PLURAL, gender=gender, kind="person")
    second = someone_brief(scene)
    gender = "f" if first.gender == second.gender == "f" else "m"
    phrase = first.phrase.then(both("y", "and")).then(second.phrase)
    return Nominal(phrase=phrase, head=first.head, slot=THIRD_PLURAL, gender=gender, kind="person")


def subject(scene: Scene, *, pronouns: bool = True) -> Nominal:
    """Choose the subject of a clause: a speaker, left out or not, one of `pronouns`, a person, or a couple."""
    kind = scene.draw.weigh(((26, "speaker"), (9 if pronouns else 0, "he"), (58, "person"), (7, "two")))
    if kind == "speaker":
        slot = scene.draw.weigh(((38, FIRST), (28, SECOND), (34, FIRST_PLURAL)))
        speaker = pronoun(slot, draw_gender(scene.draw))
        return speaker if scene.draw.chance(0.3) else speaker.drop()
    if kind == "he":
        return pronoun(scene.draw.pick((THIRD, THIRD_PLURAL)), draw_gender(scene.draw))
    return couple(scene) if kind == "two" else someone(scene, several=0.25)
