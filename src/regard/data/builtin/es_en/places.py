"""Places: in, at and on them, to them, and where they are."""

from regard.data.builtin.es_en.clause import Clause, piece
from regard.data.builtin.es_en.determiner import Weighted
from regard.data.builtin.es_en.group import copula, simple
from regard.data.builtin.es_en.nominal import Nominal
from regard.data.builtin.es_en.noun_phrase import noun_phrase
from regard.data.builtin.es_en.nouns import CITIES, COUNTRIES, Noun, nouns
from regard.data.builtin.es_en.people import someone_brief
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.es_en.verbs import verb
from regard.data.builtin.synchrony import Phrase, both, idiom

_USUAL: Weighted = ((83, "the"), (5, "a"), (8, "this"), (4, "that"))
_OWNED: Weighted = ((55, "the"), (5, "this"), (22, "own"), (10, "my"), (8, "our"))
_HOME: Weighted = ((70, "own"), (20, "my"), (10, "our"))
_OWNABLE = frozenset(["casa", "oficina", "jardín", "escuela", "pueblo", "tienda"])
_IN_A_CITY = frozenset(["hospital", "museo", "mercado", "hotel", "restaurante", "estación", "biblioteca", "escuela"])
_BUILDINGS = nouns("casa escuela mercado tienda hospital oficina biblioteca restaurante estación museo hotel parque")
_NEAR = (
    ("cerca/1 de/1", "near/1"),
    ("cerca/1 de/1", "near/1"),
    ("lejos/1 de/2", "far/1 from/2"),
    ("delante/1 de/2", "in/1 front/1 of/2"),
    ("detrás/1 de/1", "behind/1"),
)
_HABITS = (
    (verb("vivir", "live"), nouns("casa pueblo ciudad calle")),
    (verb("trabajar", "work"), nouns("hospital oficina escuela restaurante tienda biblioteca museo hotel universidad")),
    (verb("estudiar", "study"), nouns("escuela universidad")),
)


def near(scene: Scene, *, depth: int = 0) -> Phrase:
    """Say near, far from, in front of or behind some building."""
    return idiom(*scene.draw.pick(_NEAR)).then(place(scene, scene.mention(_BUILDINGS), depth=depth).phrase)


def place(scene: Scene, noun: Noun, *, owner: Nominal | None = None, depth: int = 1) -> Nominal:
    """Build a place, with clauses on where it is or who lives there up to `depth` deep."""
    weights = _USUAL
    if owner is not None and noun.singular in _OWNABLE:
        weights = _HOME if noun.singular == "casa" else _OWNED
    choice = scene.draw.weigh(weights)
    built = noun_phrase(scene, noun, choice, owner=owner)
    if choice in ("own", "my", "our"):
        return built
    if noun.singular in _IN_A_CITY and scene.maybe(0.12):
        return built.extend(both("de", "in").then(both(*scene.mention_name(CITIES))))
    if depth < 1 or not scene.maybe(0.4):
        return built
    habits = [habit for habit, homes in _HABITS if noun in homes]
    if habits and scene.draw.chance(0.6):
        somebody = someone_brief(scene)
        doing = Clause(subject=somebody, group=simple(scene.draw.pick(habits), somebody.slot))
        return built.extend(both("donde", "where").then(doing.inverted()))
    if noun in _BUILDINGS:
        being = Clause(subject=built, group=copula("estar", built.slot), pieces=(piece(near(scene, depth=depth - 1)),))
        return built.extend(both("que", "that").then(being.predicate()))
    return built


def inside(scene: Scene, options: tuple[Noun, ...], *, owner: Nominal | None = None, depth: int = 1) -> Phrase:
    """Say en and one of these places; at home where a house is among them."""
    noun = scene.mention(options)
    if noun.singular == "casa" and scene.draw.chance(0.6):
        return idiom("en/1 casa/2", "at/1 home/2")
    return both("en", noun.preposition or "on").then(place(scene, noun, owner=owner, depth=depth).phrase)


def toward(
    scene: Scene, options: tuple[Noun, ...], *, owner: Nominal, arriving: bool = False, depth: int = 1
) -> Phrase:
    """Say a and one of these places, or home; who is `arriving` is already at it or in it."""
    noun = scene.mention(options)
    if noun.singular == "casa" and scene.draw.chance(0.7):
        return idiom("a?1 casa/1", "home/1")
    english = "to" if not arriving else "in" if noun.singular in ("pueblo", "ciudad") else "at"
    return both("a", english).then(place(scene, noun, owner=owner, depth=depth).phrase)


def abroad(scene: Scene, preposition: tuple[str, str], *, cities: float = 0.5) -> Phrase:
    """Say a preposition and a city or country."""
    options = CITIES if scene.draw.chance(cities) else COUNTRIES
    return both(*preposition).then(both(*scene.mention_name(options)))
