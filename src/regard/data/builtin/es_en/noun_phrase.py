"""Noun phrases for things: a determiner, a noun, adjectives after it, a possessor, a content."""

from regard.data.builtin.es_en.adjectives import COLORS, Adjective, suited
from regard.data.builtin.es_en.determiner import Acquaintance, Determiner, article, choose, determine, is_new
from regard.data.builtin.es_en.nominal import Nominal, of_noun, say
from regard.data.builtin.es_en.nouns import NOUNS, Noun
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.synchrony import Phrase, Unit, both

_SEVERAL = {
    "food": 0.45,
    "tableware": 0.35,
    "reading": 0.3,
    "furniture": 0.3,
    "personal": 0.15,
    "kin": 0.5,
    "place": 0.0,
}
_SEVERAL_OF = {"sopa": 0.0, "ensalada": 0.0, "flor": 0.7, "foto": 0.4, "huevo": 0.6}
_UNDEGREED = "cflaxh"
_CONTAINERS = (("taza", "café"), ("taza", "té"), ("vaso", "agua"), ("vaso", "leche"), ("vaso", "jugo"),
               ("botella", "agua"), ("botella", "vino"))  # fmt: skip


def _inflected(noun: Noun, adjective: Adjective, *, plural: bool) -> Phrase:
    return both(adjective.agree(noun.gender, plural=plural), adjective.english)


def describe(scene: Scene, noun: Noun, *, plural: bool, new: bool) -> tuple[Phrase, ...]:
    """Choose adjectives, in the Spanish order: none, one, or, if it is `new`, a color and a quality that is much so."""
    options = suited(noun)
    if not options or not scene.maybe(0.45):
        return ()
    first = scene.draw.pick(options)
    if new and (first.spanish == "sucio" or (first.letter, noun.group) == ("n", "reading")):
        return ()
    if not new:
        return (_inflected(noun, first, plural=plural),)
    very = both("muy", "very").then(_inflected(noun, first, plural=plural))
    if first.letter in "smp" and "c" in noun.suits and scene.maybe(0.4):
        return (_inflected(noun, scene.draw.pick(COLORS), plural=plural), very)
    if first.letter not in _UNDEGREED and scene.maybe(0.2):
        return (very,)
    return (_inflected(noun, first, plural=plural),)


def noun_phrase(
    scene: Scene,
    noun: Noun,
    choice: Determiner,
    *,
    plural: bool = False,
    owner: Nominal | None = None,
    plain: bool = False,
) -> Nominal:
    """Build a noun phrase: una casa blanca muy bonita, a very pretty white house; `plain` without adjectives."""
    determiner = determine(scene, noun, choice, plural=plural, owner=owner)
    adjectives = () if plain else describe(scene, noun, plural=plural, new=is_new(choice))
    head = Unit()
    phrase = say(head, noun, plural=plural)
    source, target = determiner.source + phrase.source, determiner.target
    for adjective in adjectives:
        source += adjective.source
    for adjective in reversed(adjectives):
        target += adjective.target
    return of_noun(noun, head, Phrase(source, target + phrase.target), plural=plural)


def several_at_times(noun: Noun) -> bool:
    """Whether people speak of several of it."""
    return noun.counted and _SEVERAL_OF.get(noun.singular, 1.0) > 0


def draw_plural(scene: Scene, noun: Noun) -> bool:
    """Choose whether to speak of one or of several."""
    return noun.counted and scene.draw.chance(_SEVERAL_OF.get(noun.singular, _SEVERAL.get(noun.group, 0.1)))


def thing(scene: Scene, noun: Noun, *, owner: Nominal | None = None, acquaintance: Acquaintance = "any") -> Nominal:
    """Build an object: one or several, with whatever determiner suits it."""
    plural = draw_plural(scene, noun)
    choice = choose(scene, noun, plural=plural, owner=owner, acquaintance=acquaintance)
    return noun_phrase(scene, noun, choice, plural=plural, owner=owner)


def belonging(scene: Scene, noun: Noun, possessor: Nominal, *, plural: bool) -> Nominal:
    """Build what is somebody's: el libro viejo de Ana, Ana's old book."""
    head, of = Unit(), Unit()
    phrase = say(head, noun, plural=plural)
    source = head.loosely(article(noun, plural=plural)) + phrase.source
    target = possessor.phrase.target + of("'s")
    for adjective in describe(scene, noun, plural=plural, new=False):
        source, target = source + adjective.source, target + adjective.target
    source += of("de") + possessor.phrase.source
    return of_noun(noun, head, Phrase(source, target + phrase.target), plural=plural)


def portion(scene: Scene) -> Nominal:
    """Build a vessel with what is in it: un vaso de leche, a glass of milk."""
    vessel, content = (NOUNS[word] for word in scene.draw.pick(_CONTAINERS))
    plural = scene.draw.chance(0.2)
    outside = noun_phrase(scene, vessel, "number" if plural else "a", plural=plural, plain=True)
    inside = noun_phrase(scene, content, "bare")
    return outside.extend(both("de", "of").then(inside.phrase))
