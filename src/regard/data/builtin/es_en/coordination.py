"""One subject, two deeds: compró una manzana y la comió, bought an apple and ate it."""

from dataclasses import replace

from regard.data.builtin.es_en.actions import PEOPLE, STAYS, THINGS, TRIPS, Action, named
from regard.data.builtin.es_en.cause import comma
from regard.data.builtin.es_en.clause import Clause, Piece
from regard.data.builtin.es_en.clitic import it_to_other, it_to_speaker, refer, somebody_else
from regard.data.builtin.es_en.event import Event, event, suitable, verb_group
from regard.data.builtin.es_en.nominal import Nominal
from regard.data.builtin.es_en.people import someone
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.synchrony import Phrase, both

_OPENINGS = (
    *named("comprar comprar cocinar cortar pedir encontrar encontrar escribir visitar llamar"),
    *named("buscar buscar"),
    *(action for action in PEOPLE if action.name == "buscar"),
)
_EAT, _DRINK, _COOK, _READ, _HELP = named("comer beber cocinar leer ayudar")
_FIND, _GIVE, _SEND = named("encontrar dar enviar")
_COOKED = frozenset(["carne", "pescado", "arroz", "huevo"])
_SENT = frozenset(["carta", "foto"])
_LATER = tuple(action for action in (*THINGS, *STAYS, *TRIPS, *PEOPLE) if action.willed)


def deed_on_it(scene: Scene, subject: Nominal) -> Phrase | None:
    """Do something, and then something to the same object, which has become a clitic."""
    action = suitable(scene, subject, _OPENINGS)
    if scene.tense not in ("present", "past") or action is None:
        return None
    first = event(scene, subject, action=replace(action, gift=False))
    second = None if first.done_to is None else _second(scene, first, first.done_to)
    if second is None:
        return None
    deed, pieces = second
    group = verb_group(scene, subject, deed)
    if deed is _FIND and scene.draw.chance(0.5):
        missed = Clause(subject=subject.drop(), group=group, pieces=pieces, negative=True).statement()
        return first.clause.statement().then(comma()).then(both("pero", "but")).then(missed)
    done = Clause(subject=subject, group=group, pieces=pieces).predicate()
    return first.clause.statement().then(both("y", "and")).then(done)


def _second(scene: Scene, first: Event, it: Nominal) -> tuple[Action, tuple[Piece, ...]] | None:
    noun, name = it.noun, first.action.name
    if name == "buscar":
        return _FIND, (refer(it),)
    if it.kind == "person":
        return _HELP, (refer(it),)
    if noun is None:
        return None
    if noun.group == "drink" or (noun.singular in ("taza", "vaso", "botella") and name == "pedir"):
        return _DRINK, (refer(it),)
    if noun.group == "food":
        return (_COOK if noun.singular in _COOKED and name == "comprar" else _EAT), (refer(it),)
    if noun.group == "reading" and name != "escribir" and noun.singular not in _SENT and scene.draw.chance(0.6):
        return _READ, (refer(it),)
    deed = _SEND if noun.singular in _SENT and scene.draw.chance(0.6) else _GIVE
    if scene.draw.chance(0.4):
        return deed, it_to_speaker(somebody_else(scene, first.clause.subject, known=False), it)
    return deed, it_to_other(someone(scene, owner=first.clause.subject), it)


def another_deed(scene: Scene, subject: Nominal) -> Phrase | None:
    """Do one thing and then another: trabajó en casa y después visitó a su abuela."""
    first_action, second_action = suitable(scene, subject, _LATER), suitable(scene, subject, _LATER)
    if (
        scene.tense not in ("present", "past")
        or first_action is None
        or second_action is None
        or first_action.name == second_action.name
    ):
        return None
    first, second = (
        event(scene, subject, action=first_action).clause,
        event(scene, subject, action=second_action).clause,
    )
    return first.statement().then(both("y", "and")).then(both("después", "then")).then(second.predicate())
