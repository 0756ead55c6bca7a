"""Liking, where Spanish turns the sentence round: a Ana le gusta el café, Ana likes coffee."""

from dataclasses import replace

from regard.data.builtin.english import FIRST, FIRST_PLURAL, SECOND, Slot, do, subject_pronoun
from regard.data.builtin.es_en.actions import named
from regard.data.builtin.es_en.clause import Clause, Piece
from regard.data.builtin.es_en.determiner import article, determine
from regard.data.builtin.es_en.event import infinitive
from regard.data.builtin.es_en.group import Group
from regard.data.builtin.es_en.nominal import Nominal, say
from regard.data.builtin.es_en.nouns import Noun, nouns
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.es_en.verbs import ENGLISH
from regard.data.builtin.synchrony import Phrase, Unit

_COMPARED = (nouns("agua leche café té jugo vino"), nouns("manzana naranja pan queso pescado arroz carne huevo"),
             nouns("perro gato pájaro"), nouns("novela revista película"))  # fmt: skip
_CLITICS: dict[Slot, str] = {FIRST: "me", SECOND: "te", FIRST_PLURAL: "nos"}
_ENJOYED = nouns("drink manzana naranja pan queso pescado arroz huevo pastel música perro gato pájaro flor libro"
                 " novela película museo playa inglés historia")  # fmt: skip
_SINGLE = frozenset(["sopa", "ensalada", "periódico", "carta", "canción", "pastel"])
_SHOWN = nouns("libro novela película canción ciudad casa restaurante hotel pueblo camisa coche")
_PASTIMES = tuple(
    replace(action, what=tuple(noun for noun in action.what if noun.singular not in _SINGLE), acquaintance="new")
    for action in named("comer beber cocinar leer escuchar bailar cantar nadar caminar jugar viajar")
)


def liking(scene: Scene, experiencer: Nominal, *, negative: bool = False, loved: bool = False) -> Clause:
    """Say that somebody likes (or loves) a kind of thing, this thing, or doing something."""
    match scene.draw.weigh(((50, "kind"), (25, "this"), (25, "doing"))):
        case "kind":
            return like(experiencer, *_kind(scene.mention(_ENJOYED)), negative=negative, loved=loved)
        case "this":
            return like(experiencer, *_this(scene, scene.mention(_SHOWN)), negative=negative, loved=loved)
        case _:
            doing = infinitive(scene, experiencer, scene.draw.pick(_PASTIMES), form="to")
            return like(experiencer, doing, plural=False, negative=negative, loved=loved)


def like(experiencer: Nominal, liked: Phrase, plural: bool, *, negative: bool = False, loved: bool = False) -> Clause:
    """Say that somebody likes or loves it, or them if it is `plural`, which in Spanish the verb agrees with."""
    verb = Unit()
    spanish = ("encanta" if loved else "gusta") + ("n" if plural else "")
    english = ENGLISH["love" if loved else "like"]
    slot = experiencer.slot
    group = Group(
        unit=verb,
        verb=verb(spanish),
        rest=(),
        finite=verb(english.third if slot == 2 else english.base),
        auxiliary=verb.loosely(do(slot)),
        bare=verb(english.base),
        tail=(),
    )
    subject, clitic = _experience(experiencer)
    return Clause(subject=subject, group=group, pieces=(clitic, Piece((), *liked)), negative=negative)


def _experience(nominal: Nominal) -> tuple[Nominal, Piece]:
    head = nominal.head
    doubled = _CLITICS.get(nominal.slot) or ("les" if nominal.plural else "le")
    if nominal.dropped or nominal.slot in (FIRST, SECOND):
        spoken = Phrase((), head(subject_pronoun(nominal.slot, nominal.english_gender)))
        return replace(nominal, phrase=spoken), Piece(head(doubled), (), ())
    source, target = nominal.phrase
    return replace(nominal, phrase=Phrase(head.loosely("a") + source, target)), Piece(head.loosely(doubled), (), ())


def _kind(noun: Noun) -> tuple[Phrase, bool]:
    head = Unit()
    phrase = say(head, noun, plural=noun.counted)
    return Phrase(head.loosely(article(noun, plural=noun.counted)) + phrase.source, phrase.target), noun.counted


def two_of_a_kind(scene: Scene) -> tuple[tuple[Phrase, bool], tuple[Phrase, bool]]:
    """Choose two things that people compare: coffee and tea, dogs and cats."""
    group = scene.draw.pick(_COMPARED)
    return _kind(scene.mention(group)), _kind(scene.mention(group))


def _this(scene: Scene, noun: Noun) -> tuple[Phrase, bool]:
    plural = noun.group != "place" and scene.draw.chance(0.3)
    pointing = determine(scene, noun, scene.draw.pick(("this", "that")), plural=plural)
    return pointing.then(say(Unit(), noun, plural=plural)), plural
