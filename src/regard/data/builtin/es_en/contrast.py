"""Clauses against one another: but."""

from dataclasses import replace

from regard.data.builtin.es_en.actions import anywhere, named
from regard.data.builtin.es_en.cause import comma, overt
from regard.data.builtin.es_en.clause import Clause, piece
from regard.data.builtin.es_en.event import event, suitable, verb_group
from regard.data.builtin.es_en.group import simple
from regard.data.builtin.es_en.liking import like, two_of_a_kind
from regard.data.builtin.es_en.nominal import Nominal
from regard.data.builtin.es_en.noun_phrase import noun_phrase
from regard.data.builtin.es_en.nouns import nouns
from regard.data.builtin.es_en.people import is_child, someone
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.es_en.states import state
from regard.data.builtin.es_en.verbs import verb
from regard.data.builtin.synchrony import Phrase, both

_TASTES = anywhere("comer beber cocinar comprar leer escribir estudiar pedir viajar")
_WANTED = named("comprar viajar visitar nadar bailar cocinar leer estudiar caminar")
_COSTLY = frozenset(["comprar", "viajar"])
_FLAWED = nouns("coche bicicleta casa camisa reloj teléfono mochila")
_FLAWS = ("old", "small", "expensive", "dirty")
_HAVE, _BUY = verb("tener", "have"), named("comprar")[0]


def but() -> Phrase:
    """Say but, after a comma."""
    return comma().then(both("pero", "but"))


def unlike_others(scene: Scene, subject: Nominal) -> Phrase | None:
    """Let two people differ: Ana bebe té, pero Pedro bebe café."""
    action = suitable(scene, subject, _TASTES)
    if action is None or subject.dropped:
        return None
    other = someone(scene, plain=True)
    if action.grown and is_child(other):
        return None
    first = event(scene, subject, action=action)
    group = first.done_to.noun.group if first.done_to is not None and first.done_to.noun is not None else ""
    alike = tuple(noun for noun in action.what if noun.group == group) or action.what
    second = event(scene, other, action=replace(action, what=alike))
    return first.clause.statement().then(but()).then(second.clause.statement())


def hindered(scene: Scene, subject: Nominal) -> Phrase | None:
    """Want and be hindered: Ana quiere comprar un coche, pero no tiene dinero."""
    if scene.tense not in ("present", "past"):
        return None
    action = suitable(scene, subject, _WANTED)
    if action is None:
        return None
    wish = event(scene, overt(scene, subject), action=action, modal="want").clause.statement()
    name = "poor" if action.name in _COSTLY else scene.draw.pick(("poor in time", "tired", "sick", "busy"))
    return wish.then(but()).then(state(scene, subject.drop(), name).statement())


def flawed(scene: Scene, subject: Nominal) -> Phrase | None:
    """Have a thing with a flaw, which the dropped subject refers to: tiene un coche, pero es viejo."""
    if scene.tense not in ("present", "past"):
        return None
    if is_child(subject):
        return None
    noun = scene.mention(_FLAWED[:3] if scene.tense == "present" else _FLAWED)
    had = noun_phrase(scene, noun, "a", plain=True)
    group = simple(_HAVE, subject.slot) if scene.tense == "present" else verb_group(scene, subject, _BUY)
    having = Clause(subject=subject, group=group, pieces=(piece(had.phrase),)).statement()
    name = scene.draw.pick([flaw for flaw in _FLAWS if flaw != "dirty" or "l" in noun.suits])
    return having.then(but()).then(state(scene, had.drop(), name).statement())


def picky(scene: Scene, subject: Nominal) -> Phrase | None:
    """Like one thing and not another: A Ana le gusta el café, pero no le gusta el té."""
    if scene.tense != "present":
        return None
    if subject.plural and not subject.dropped and subject.noun is None:
        return None
    (liked, several), (disliked, many) = two_of_a_kind(scene)
    likes = like(subject, liked, several).statement()
    return likes.then(but()).then(like(subject.drop(), disliked, many, negative=True).statement())
