"""What a verb takes after it: objects, people, places, company, tools."""

from regard.data.builtin.es_en.actions import Action
from regard.data.builtin.es_en.clause import Piece, piece
from regard.data.builtin.es_en.clitic import refer, somebody_else, to_somebody
from regard.data.builtin.es_en.nominal import Nominal, of_noun
from regard.data.builtin.es_en.noun_phrase import belonging, draw_plural, noun_phrase, portion, thing
from regard.data.builtin.es_en.nouns import NOUNS, Noun
from regard.data.builtin.es_en.people import is_child, possessor, relative_or_friend, someone, workplaces
from regard.data.builtin.es_en.places import abroad, inside, place, toward
from regard.data.builtin.es_en.relative import has_relatives, with_relative
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.synchrony import NOTHING, Phrase, Unit, both

_BELONGING = frozenset(["personal", "reading", "vehicle"])
_FOR_ADULTS = frozenset(["vino", "café"])
_NEWLY_MET = frozenset(["comprar", "escribir", "pedir"])
_ALONG = {"parque": "through", "ciudad": "through", "playa": "along", "calle": "along"}

Complements = tuple[tuple[Piece, ...], Nominal | None]


def complements(scene: Scene, subject: Nominal, action: Action, *, clitics: bool = True) -> Complements:
    """Choose what `action` is done to and where; also say what its object was, if it has one."""
    match action.frame:
        case "thing":
            return _thing(scene, subject, action, clitics=clitics and scene.alone)
        case "person":
            return _person(scene, subject, action, clitics=clitics)
        case "give":
            gift = thing(scene, scene.mention(action.what), owner=subject, acquaintance=action.acquaintance)
            return to_somebody(scene, subject, gift), gift
        case "go":
            return _go(scene, subject, action), None
        case "stay":
            return _stay(scene, subject, action), None
        case "have":
            had = thing(scene, scene.mention(action.what), acquaintance=action.acquaintance)
            return (piece(had.phrase),), had


def personal(nominal: Nominal) -> Phrase:
    """Mark a person as the object with the a that English lacks."""
    source, target = nominal.phrase
    return Phrase(nominal.head.loosely("a") + source, target)


def _thing(scene: Scene, subject: Nominal, action: Action, *, clitics: bool) -> Complements:
    noun = scene.mention([noun for noun in action.what if not (is_child(subject) and noun.singular in _FOR_ADULTS)])
    if clitics and action.clear and scene.draw.chance(0.12):
        it = of_noun(noun, Unit(), NOTHING, plural=draw_plural(scene, noun))
        return (refer(it), *_extras(scene, subject, action)), it
    if action.name not in _NEWLY_MET and has_relatives(noun) and scene.maybe(0.15):
        noun_of_clause = noun_phrase(scene, noun, "the", plural=draw_plural(scene, noun), plain=True)
        return (piece(with_relative(scene, noun_of_clause, avoid=action.verb.english.base).phrase),), noun_of_clause
    built = _object(scene, subject, action, noun)
    return (piece(built.phrase), *_extras(scene, subject, action)), built


def _object(scene: Scene, subject: Nominal, action: Action, noun: Noun) -> Nominal:
    if noun.group == "drink" and not is_child(subject) and scene.draw.chance(0.2):
        return portion(scene)
    if noun.group in _BELONGING and action.acquaintance in ("any", "known") and scene.maybe(0.15):
        return belonging(scene, noun, possessor(scene), plural=draw_plural(scene, noun))
    if noun.group == "subject":
        return noun_phrase(scene, noun, "bare")
    if noun.group == "transport":
        return noun_phrase(scene, noun, "a" if scene.draw.chance(0.3) else "the")
    return thing(scene, noun, owner=subject, acquaintance=action.acquaintance)


def _person(scene: Scene, subject: Nominal, action: Action, *, clitics: bool) -> Complements:
    if clitics and scene.draw.chance(0.3):
        whom = somebody_else(scene, subject, known=action.clear and scene.alone)
        return (refer(whom), *_extras(scene, subject, action)), whom
    whom = someone(scene, owner=subject)
    if whom.noun is not None and whom.noun.group == "role" and scene.maybe(0.3):
        return (piece(personal(with_relative(scene, whom))),), whom
    return (piece(personal(whom)), *_extras(scene, subject, action)), whom


def _go(scene: Scene, subject: Nominal, action: Action) -> tuple[Piece, ...]:
    arriving = action.name == "llegar"
    if not action.what or scene.draw.chance(0.15):
        where = abroad(scene, ("a", "in" if arriving else "to"))
    else:
        where = toward(scene, action.what, owner=subject, arriving=arriving)
    return (piece(where), *_company(scene, subject, action, 0.3))


def _stay(scene: Scene, subject: Nominal, action: Action) -> tuple[Piece, ...]:
    talking = action.name == "hablar"
    company = _company(scene, subject, action, 0.3, always=talking)
    if not action.where or not scene.draw.chance(0.35 if company else 0.85):
        return company
    if action.name != "caminar":
        where = workplaces(subject) if action.name == "trabajar" else action.where
        return (*company, piece(inside(scene, where, owner=subject)))
    noun = scene.mention(action.where)
    along = both("por", _ALONG[noun.singular]).then(place(scene, noun, owner=subject).phrase)
    return (*company, piece(along))


def _company(
    scene: Scene, subject: Nominal, action: Action, probability: float, *, always: bool = False
) -> tuple[Piece, ...]:
    if not (always or (action.friend and scene.maybe(probability))):
        return ()
    return (piece(both("con", "with").then(_friend(scene, subject).phrase)),)


def _friend(scene: Scene, subject: Nominal) -> Nominal:
    if scene.draw.chance(0.5):
        return relative_or_friend(scene, owner=subject, plural=scene.draw.chance(0.3))
    return someone(scene, owner=subject, plain=True)


def _extras(scene: Scene, subject: Nominal, action: Action) -> tuple[Piece, ...]:
    extras: list[Piece] = []
    if action.tool and scene.maybe(0.4):
        extras.append(piece(both("con", "with").then(noun_phrase(scene, NOUNS[action.tool], "a").phrase)))
    elif action.gift and scene.maybe(0.3):
        extras.append(piece(both("para", "for").then(_friend(scene, subject).phrase)))
    elif action.friend and scene.maybe(0.2):
        extras.append(piece(both("con", "with").then(_friend(scene, subject).phrase)))
    if action.where and scene.maybe(0.4):
        extras.append(piece(inside(scene, action.where, owner=subject)))
    return tuple(extras)
