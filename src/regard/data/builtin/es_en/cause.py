"""Clauses that explain one another: because, so, when, if, although."""

from dataclasses import replace

from regard.data.builtin.english import FIRST, FIRST_PLURAL
from regard.data.builtin.es_en.actions import anywhere, at_home, named
from regard.data.builtin.es_en.clause import Clause, piece
from regard.data.builtin.es_en.event import choose_action, event, suitable, verb_group
from regard.data.builtin.es_en.nominal import Nominal
from regard.data.builtin.es_en.nouns import nouns
from regard.data.builtin.es_en.places import toward
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.es_en.states import reason, state
from regard.data.builtin.synchrony import Phrase, both, idiom

_QUENCHING = (replace(named("beber")[0], what=nouns("agua jugo leche")),)
_LEADS_TO = {
    "hungry": (*named("comer"), *at_home("comer cocinar")),
    "thirsty": _QUENCHING,
    "sleepy": at_home("dormir"),
    "tired": at_home("dormir descansar"),
    "sick": at_home("dormir descansar"),
    "sad": named("llamar escuchar caminar visitar"),
    "happy": named("cantar bailar"),
    "worried": named("llamar hablar"),
    "hot": (*named("nadar"), *_QUENCHING),
    "exam": named("estudiar"),
}
_IN_SPITE = ("tired", "sick", "sleepy", "hungry")
_DUTIES = named("trabajar estudiar cocinar lavar leer escribir ayudar")
_ARRIVE = named("llegar")[0]
_ARRIVALS = nouns("casa casa oficina escuela hotel")
_AT_ONCE = anywhere("leer escribir escuchar comer beber llamar descansar")


def comma() -> Phrase:
    """Say nothing for a moment, in both languages."""
    return both(",", ",")


def overt(scene: Scene, subject: Nominal) -> Nominal:
    """Say I aloud in the past, where tenía alone may be I or he."""
    return subject.pronounce() if subject.dropped and subject.slot == FIRST and scene.tense == "past" else subject


def because(scene: Scene, subject: Nominal) -> Phrase | None:
    """Give a reason: Ana no fue a la escuela porque estaba enferma."""
    action = choose_action(scene, subject)
    if not action.willed:
        return None
    done = event(scene, subject, action=action, negative=scene.draw.chance(0.35))
    why = reason(scene, done)
    return None if why is None else done.clause.statement().then(both("porque", "because")).then(why.statement())


def so(scene: Scene, subject: Nominal) -> Phrase | None:
    """Draw a consequence: Ana tiene hambre, así que come una manzana."""
    if scene.tense in ("future", "now"):
        return None
    name = scene.draw.pick(tuple(_LEADS_TO))
    cause = state(scene, overt(scene, subject), name).statement()
    action = suitable(scene, subject, _LEADS_TO[name])
    if action is None:
        return None
    effect = event(scene, subject.drop(), action=action).clause.statement()
    return cause.then(comma()).then(idiom("así/1 que/1", "so/1")).then(effect)


def when(scene: Scene, subject: Nominal) -> Phrase | None:
    """Tell two things of one time: Cuando Ana llegó a casa, leyó el periódico."""
    if scene.tense in ("future", "now"):
        return None
    if scene.tense == "present" and scene.draw.chance(0.5):
        name = scene.draw.pick(tuple(_LEADS_TO))
        first, action = state(scene, subject, name), suitable(scene, subject, _LEADS_TO[name])
    else:
        home = piece(toward(scene, _ARRIVALS, owner=subject, arriving=True, depth=0))
        first = Clause(subject=subject, group=verb_group(scene, subject, _ARRIVE), pieces=(home,))
        action = suitable(scene, subject, _AT_ONCE)
    if action is None:
        return None
    then = event(scene, subject.drop(), action=action).clause.statement()
    return both("cuando", "when").then(first.statement()).then(comma()).then(then)


def if_so(scene: Scene, subject: Nominal) -> Phrase | None:
    """Offer a remedy: Si tienes hambre, puedes comer una manzana."""
    if scene.tense != "present" or subject.slot == FIRST_PLURAL:
        return None
    name = scene.draw.pick([name for name in _LEADS_TO if name not in ("happy", "exam")])
    cause = state(scene, subject, name).statement()
    action = suitable(scene, subject, _LEADS_TO[name])
    if action is None:
        return None
    remedy = event(scene, subject.drop(), action=action, modal="can").clause.statement()
    return both("si", "if").then(cause).then(comma()).then(remedy)


def although(scene: Scene, subject: Nominal) -> Phrase | None:
    """Do it all the same: Aunque Ana está cansada, trabaja en la oficina."""
    if scene.tense == "future":
        return None
    action = suitable(scene, subject, _DUTIES)
    if action is None:
        return None
    hardship = state(scene, overt(scene, subject), scene.draw.pick(_IN_SPITE)).statement()
    duty = event(scene, subject.drop(), action=action).clause.statement()
    return both("aunque", "although").then(hardship).then(comma()).then(duty)
