"""Sentences of being: origin, trade, qualities, moods, places, existence, weather."""

from regard.data.builtin.english import FIRST
from regard.data.builtin.es_en.adjectives import ADJECTIVES, find, suited
from regard.data.builtin.es_en.clause import Clause, Piece, piece
from regard.data.builtin.es_en.determiner import Weighted, ownable
from regard.data.builtin.es_en.group import copula
from regard.data.builtin.es_en.nominal import Nominal
from regard.data.builtin.es_en.noun_phrase import noun_phrase, thing
from regard.data.builtin.es_en.nouns import GROUPS, Noun, nouns
from regard.data.builtin.es_en.places import abroad, inside, near
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.es_en.states import STATES_OF_PEOPLE, state
from regard.data.builtin.synchrony import Phrase, Unit, both

_TRADES = GROUPS["role"][4:]
_SHOWN: Weighted = ((50, "the"), (18, "my"), (14, "your"), (10, "this"), (8, "that"))
_SHOWN_SEVERAL: Weighted = ((55, "the"), (15, "my"), (15, "this"), (15, "that"))
_QUALIFIED = nouns("reading personal vehicle mesa silla puerta ventana tableware place")
_LAID = nouns("tableware libro carta periódico revista llave teléfono reloj mochila foto regalo")
_LAID_ON = nouns("mesa silla cama")
_SIGHTS = nouns("museo hotel restaurante biblioteca hospital estación escuela tienda mercado parque")
_STAYED_AT = nouns("casa escuela oficina hospital parque mercado biblioteca restaurante playa jardín cocina estación")
_FOUND = (
    (nouns("tableware libro carta revista llave flor"), nouns("mesa silla")),
    (nouns("perro gato pájaro mesa silla"), nouns("jardín calle parque")),
    (nouns("manzana naranja pan queso arroz carne pescado huevo leche jugo"), nouns("cocina mercado tienda")),
    (nouns("pastel pan queso manzana"), nouns("mesa")),
    (nouns("niño niña profesor médico"), nouns("parque escuela hospital calle")),
    (nouns("museo hotel restaurante escuela"), nouns("pueblo ciudad")),
)
_COMPARED = (
    ("alto", "taller"),
    ("joven", "younger"),
    ("amable", "kinder"),
    ("simpático", "friendlier"),
    ("inteligente", "more intelligent"),
)


def origin(scene: Scene, subject: Nominal) -> Clause:
    """Say where somebody is from."""
    country = abroad(scene, ("de", "from"), cities=0.3)
    return Clause(subject=subject, group=copula("ser", subject.slot), pieces=(piece(country),))


def trade(scene: Scene, subject: Nominal) -> Clause | None:
    """Say what somebody does for a living, with the article that Spanish leaves out."""
    if subject.noun is not None and subject.noun.group == "role":
        return None
    noun = scene.mention([trade for trade in _TRADES if trade.gender == subject.gender])
    named = noun_phrase(scene, noun, "bare", plural=subject.plural, plain=True)
    source, target = named.phrase
    if not subject.plural:
        target = named.head.loosely("a") + target
    return Clause(subject=subject, group=copula("ser", subject.slot), pieces=(Piece((), source, target),))


def character(scene: Scene, subject: Nominal) -> Clause:
    """Say what somebody is like: tall, kind, intelligent and friendly."""
    options = ADJECTIVES["a"] + ADJECTIVES["b"]
    first = scene.draw.pick(options)
    described = both(first.agree(subject.gender, plural=subject.plural), first.english)
    if scene.maybe(0.3):
        described = both("muy", "very").then(described)
    second = scene.draw.pick(options)
    if second is not first and scene.maybe(0.4):
        more = both(second.agree(subject.gender, plural=subject.plural), second.english)
        described = described.then(both("y", "and")).then(more)
    return Clause(subject=subject, group=copula("ser", subject.slot), pieces=(piece(described),))


def comparison(scene: Scene, subject: Nominal, other: Nominal) -> Clause:
    """Compare two people: es más alta que Pedro, is taller than Pedro."""
    spanish, english = scene.draw.pick(_COMPARED)
    form = find(spanish).agree(subject.gender, plural=subject.plural)
    if english.startswith("more "):
        compared = both("más", "more").then(both(form, english.removeprefix("more ")))
    else:
        compared = both(f"más {form}", english)
    pieces = (piece(compared.then(both("que", "than")).then(other.phrase)),)
    return Clause(subject=subject, group=copula("ser", subject.slot), pieces=pieces)


def feeling(scene: Scene, subject: Nominal) -> Clause:
    """Say how somebody feels; in the past the form does not tell I from he, so I is said."""
    if scene.tense == "past" and subject.slot == FIRST and subject.dropped:
        subject = subject.pronounce()
    return state(scene, subject, scene.draw.pick(STATES_OF_PEOPLE))


def findable(scene: Scene) -> Nominal:
    """Mention a known thing that may lie about."""
    return shown(scene, _LAID)


def sight(scene: Scene) -> Nominal:
    """Mention a building."""
    return noun_phrase(scene, scene.mention(_SIGHTS), "the")


def shown(scene: Scene, options: tuple[Noun, ...] = _QUALIFIED) -> Nominal:
    """Point at a thing that is known: the, my, this."""
    noun = scene.mention(options)
    plural = noun.group != "place" and scene.draw.chance(0.3)
    choice = scene.draw.weigh(_SHOWN_SEVERAL if plural else _SHOWN)
    if choice in ("my", "your") and not ownable(noun):
        choice = "the"
    return noun_phrase(scene, noun, choice, plural=plural, plain=True)


def quality(scene: Scene, subject: Nominal) -> Clause | None:
    """Say what a thing is like: es rojo, está sucia."""
    options = suited(subject.noun) if subject.noun is not None else ()
    if not options:
        return None
    adjective = scene.draw.pick(options)
    described = both(adjective.agree(subject.gender, plural=subject.plural), adjective.english)
    if adjective.letter in "nsmpit" and scene.maybe(0.3):
        described = both("muy", "very").then(described)
    being = copula("estar" if adjective.passing else "ser", subject.slot)
    return Clause(subject=subject, group=being, pieces=(piece(described),))


def location(scene: Scene, subject: Nominal) -> Clause:
    """Say where a person, a building or a thing is."""
    noun = subject.noun
    if noun is not None and noun.group == "place":
        where = near(scene, depth=1)
    elif noun is not None and noun.kind == "thing":
        where = inside(scene, _LAID_ON, depth=0)
    else:
        where = inside(scene, _STAYED_AT, owner=subject)
    past = scene.tense == "past" and (noun is None or noun.group != "place")
    return Clause(subject=subject, group=copula("estar", subject.slot, past=past), pieces=(piece(where),))


def existence(scene: Scene, *, negative: bool = False, asked: bool = False) -> Phrase:
    """Say that there is something: hay un tenedor en la mesa, there is a fork on the table."""
    stocks, where = scene.draw.pick(_FOUND[:3] if negative or asked else _FOUND)
    noun = scene.mention(stocks)
    unit, no = Unit(), Unit()
    if negative or asked:
        plural = noun.counted
        result = noun_phrase(scene, noun, "bare", plural=plural, plain=True)
    else:
        result = thing(scene, noun, acquaintance="new")
        plural = result.plural
    source, target = result.phrase.then(inside(scene, where, depth=1))
    being = unit("are" if plural else "is")
    if negative:
        return Phrase(no("no") + unit("hay") + source, unit("there") + being + no("no") + target)
    there = being + unit("there") if asked else unit("there") + being
    return Phrase(unit("hay") + source, there + target)


def weather(scene: Scene) -> Phrase:
    """Say that it is cold or hot somewhere, with the it that Spanish lacks."""
    unit = Unit()
    spanish, english = scene.draw.pick((("frío", "cold"), ("calor", "hot")))
    felt = both(spanish, english)
    if scene.maybe(0.4):
        felt = both("mucho", "very").then(felt)
    source, target = felt.then(abroad(scene, ("en", "in")))
    return Phrase(unit("hace") + source, unit.loosely("it") + unit("is") + target)
