"""Relative clauses: la mujer que vive en Lima, el libro que compró Ana."""

from regard.data.builtin.english import FIRST, SECOND, object_pronoun
from regard.data.builtin.es_en.adjectives import MOODS
from regard.data.builtin.es_en.clause import Clause, Piece, piece
from regard.data.builtin.es_en.group import Group, copula, simple
from regard.data.builtin.es_en.nominal import Nominal, pronoun
from regard.data.builtin.es_en.noun_phrase import noun_phrase
from regard.data.builtin.es_en.nouns import Noun, nouns
from regard.data.builtin.es_en.people import draw_gender, is_child, someone_brief, workplaces
from regard.data.builtin.es_en.places import abroad, inside, place
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.es_en.verbs import Verb, verb
from regard.data.builtin.synchrony import Phrase, Unit, both

_LIVE, _WORK, _STUDY = verb("vivir", "live"), verb("trabajar", "work"), verb("estudiar", "study")
_SPEAK, _HAVE = verb("hablar", "speak"), verb("tener", "have")
_HOMES = nouns("casa pueblo ciudad")
_SCHOOLS = nouns("escuela universidad")
_SCIENCES = nouns("historia medicina español inglés francés")
_LANGUAGES = nouns("español inglés francés")
_POSSESSIONS = nouns("perro gato bicicleta coche tienda casa")
_SURFACES = nouns("mesa mesa silla")
_TAKERS: dict[str, tuple[Verb, ...]] = {
    "food": (verb("comprar", "buy"), verb("traer", "bring"), verb("cocinar", "cook")),
    "drink": (verb("comprar", "buy"), verb("traer", "bring")),
    "reading": (verb("comprar", "buy"), verb("leer", "read"), verb("escribir", "write"), verb("traer", "bring")),
    "personal": (verb("comprar", "buy"), verb("encontrar", "find"), verb("perder", "lose"), verb("traer", "bring")),
    "tableware": (verb("comprar", "buy"), verb("lavar", "wash"), verb("traer", "bring")),
    "vehicle": (verb("comprar", "buy"),),
}
_UNSUITED = {
    "cook": frozenset(["pan", "queso", "manzana", "naranja", "ensalada", "pastel"]),
    "write": frozenset(["periódico", "revista"]),
    "lose": frozenset(["flor", "regalo"]),
    "find": frozenset(["regalo", "camisa"]),
    "wash": frozenset(["botella"]),
}
_GIVERS = (verb("dar", "give"), verb("enviar", "send"), verb("prestar", "lend"), verb("mostrar", "show"))
_GIVEN = frozenset(["libro", "novela", "revista", "foto", "mochila", "bicicleta", "paraguas", "maleta"])


_ABOUT = ((32, "live"), (30, "work"), (10, "study"), (10, "speak"), (5, "feel"), (8, "have"))
_YOUNG = ((40, "live"), (25, "speak"), (20, "feel"), (15, "have"))


def has_relatives(noun: Noun) -> bool:
    """Whether there is something to say about such a thing in a relative clause."""
    return noun.group in _TAKERS


def with_relative(scene: Scene, nominal: Nominal, *, depth: int = 2, aside: bool = False, avoid: str = "") -> Nominal:
    """Add a relative clause that suits the nominal, between commas if it is only an `aside`, with no verb `avoid`."""
    if nominal.kind == "person":
        clause = both("que", "who").then(_about_person(scene, nominal, depth=depth))
        if aside:
            clause = both(",", ",").then(clause).then(both(",", ","))
        return nominal.extend(clause)
    if nominal.noun is None or not has_relatives(nominal.noun):
        return nominal
    return nominal.extend(both("que", "that").then(_about_thing(scene, nominal, nominal.noun, avoid)))


def _about_person(scene: Scene, nominal: Nominal, *, depth: int) -> Phrase:
    match scene.draw.weigh(_YOUNG if is_child(nominal) else _ABOUT):
        case "live":
            group, where = simple(_LIVE, nominal.slot), _home(scene, depth=depth)
        case "work":
            group, where = simple(_WORK, nominal.slot), inside(scene, workplaces(nominal), depth=depth - 1)
        case "study":
            group = simple(_STUDY, nominal.slot)
            what = noun_phrase(scene, scene.mention(_SCIENCES), "bare").phrase
            where = what.then(inside(scene, _SCHOOLS, depth=0)) if scene.maybe(0.7) else what
        case "speak":
            group, where = simple(_SPEAK, nominal.slot), noun_phrase(scene, scene.mention(_LANGUAGES), "bare").phrase
        case "feel":
            group, where = feeling(scene, nominal, past=scene.tense == "past")
        case _:
            group = simple(_HAVE, nominal.slot)
            pets = _POSSESSIONS[:3] if is_child(nominal) else _POSSESSIONS
            where = noun_phrase(scene, scene.mention(pets), "a").phrase
    return Clause(subject=nominal, group=group, pieces=(piece(where),)).predicate()


def feeling(scene: Scene, nominal: Nominal, *, past: bool = False) -> tuple[Group, Phrase]:
    """Say that somebody is tired, happy, sick, busy, sad or worried."""
    mood = scene.draw.pick(MOODS)
    described = both(mood.agree(nominal.gender, plural=nominal.plural), mood.english)
    return copula("estar", nominal.slot, past=past), described


def _home(scene: Scene, *, depth: int) -> Phrase:
    if scene.draw.chance(0.55):
        return abroad(scene, ("en", "in"))
    return both("en", "in").then(place(scene, scene.mention(_HOMES), depth=depth - 1).phrase)


def _about_thing(scene: Scene, nominal: Nominal, noun: Noun, avoid: str) -> Phrase:
    if noun.group in ("personal", "reading", "tableware") and scene.draw.chance(0.3):
        where = inside(scene, _SURFACES, depth=0)
        lying = copula("estar", nominal.slot, past=scene.tense == "past")
        return Clause(subject=nominal, group=lying, pieces=(piece(where),)).predicate()
    somebody = _doer(scene)
    if noun.singular in _GIVEN and scene.draw.chance(0.3):
        giver = simple(scene.draw.pick(_GIVERS), somebody.slot, past=True)
        return Clause(subject=somebody, group=giver, pieces=(_receiver(scene, somebody),)).inverted()
    takers = [
        taker
        for taker in _TAKERS[noun.group]
        if taker.english.base != avoid and noun.singular not in _UNSUITED.get(taker.english.base, ())
    ]
    return Clause(subject=somebody, group=simple(scene.draw.pick(takers), somebody.slot, past=True)).inverted()


def _doer(scene: Scene) -> Nominal:
    if scene.draw.chance(0.6):
        return someone_brief(scene)
    return pronoun(scene.draw.pick((FIRST, FIRST, SECOND)), draw_gender(scene.draw)).drop()


def _receiver(scene: Scene, giver: Nominal) -> Piece:
    slot = SECOND if giver.slot == FIRST else FIRST
    unit = Unit()
    return Piece(unit("me" if slot == FIRST else "te"), (), unit(object_pronoun(slot, "n")))
