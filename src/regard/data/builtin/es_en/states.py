"""How people and things are, to explain what people do: tiene hambre, está cansada, es caro."""

from regard.data.builtin.es_en.adjectives import find
from regard.data.builtin.es_en.clause import Clause, piece
from regard.data.builtin.es_en.event import Event
from regard.data.builtin.es_en.group import copula, simple
from regard.data.builtin.es_en.nominal import Nominal
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.es_en.verbs import verb
from regard.data.builtin.synchrony import both

_HAVE, _NEED = verb("tener", "have"), verb("necesitar", "need")

_SENSED = {
    "hungry": ("hambre", "hungry", "mucha"),
    "thirsty": ("sed", "thirsty", "mucha"),
    "sleepy": ("sueño", "sleepy", "mucho"),
    "cold": ("frío", "cold", "mucho"),
    "hot": ("calor", "hot", "mucho"),
}
_FELT = {
    "tired": "cansado",
    "happy": "contento",
    "sick": "enfermo",
    "busy": "ocupado",
    "sad": "triste",
    "worried": "preocupado",
}
_OF_THINGS = {"dirty": "sucio", "cheap": "barato", "expensive": "caro", "old": "viejo", "small": "pequeño"}

_REASONS: dict[str, tuple[str, ...]] = {
    "comer": ("hungry",),
    "beber": ("thirsty",),
    "cocinar": ("hungry",),
    "pedir": ("hungry",),
    "dormir": ("tired", "sleepy", "sick"),
    "descansar": ("tired", "sick"),
    "estudiar": ("exam",),
    "trabajar": ("money",),
    "nadar": ("hot",),
    "bailar": ("happy",),
    "cantar": ("happy",),
    "llamar": ("worried", "sad", "happy", "sick"),
    "visitar": ("worried", "happy"),
    "hablar": ("worried", "sad"),
    "volver": ("tired", "sick"),
    "escuchar": ("sad", "happy", "tired"),
    "lavar": ("dirty",),
}
_EXCUSES = ("tired", "sick", "busy", "hurried", "poor in time")
STATES_OF_PEOPLE = (*_SENSED, *_FELT)


def state(scene: Scene, subject: Nominal, name: str) -> Clause:
    """Say that `subject` is hungry, tired, dirty or short of money, now or, in a past scene, then."""
    past = scene.tense == "past"
    if name in _SENSED:
        spanish, english, much = _SENSED[name]
        sensed = both(spanish, english)
        if scene.maybe(0.25):
            sensed = both(much, "very").then(sensed)
        return Clause(subject=subject, group=copula("tener", subject.slot, past=past), pieces=(piece(sensed),))
    if name in _FELT or name in _OF_THINGS:
        adjective = find(_FELT.get(name) or _OF_THINGS[name])
        described = both(adjective.agree(subject.gender, plural=subject.plural), adjective.english)
        if scene.maybe(0.2):
            described = both("muy", "very").then(described)
        being = copula("estar" if adjective.passing else "ser", subject.slot, past=past)
        return Clause(subject=subject, group=being, pieces=(piece(described),))
    match name:
        case "exam":
            exam = both("un", "a").then(both("examen", "exam"))
            return Clause(subject=subject, group=simple(_HAVE, subject.slot, past=past), pieces=(piece(exam),))
        case "hurried":
            group = copula("tener", subject.slot, past=past)
            return Clause(subject=subject, group=group, pieces=(piece(both("prisa", "in a hurry")),))
        case "money":
            money = piece(both("dinero", "money"))
            return Clause(subject=subject, group=simple(_NEED, subject.slot), pieces=(money,))
        case _:
            lacking = both("tiempo", "time") if name == "poor in time" else both("dinero", "money")
            group = simple(_HAVE, subject.slot, past=past)
            return Clause(subject=subject, group=group, pieces=(piece(lacking),), negative=True)


def reason(scene: Scene, event: Event) -> Clause | None:
    """Explain an event by a state of its subject or of its object, where something sensible can be said."""
    names = _reasons(scene, event)
    if not names:
        return None
    name = scene.draw.pick(names)
    about = event.done_to if name in _OF_THINGS and event.done_to is not None else event.clause.subject
    return state(scene, about.drop(), name)


def _reasons(scene: Scene, event: Event) -> tuple[str, ...]:
    action, done_to = event.action, event.done_to
    thing = done_to.noun if done_to is not None else None
    person = event.clause.subject.kind == "person"
    if event.clause.negative:
        if action.name == "comprar" and person:
            return ("poor", "poor", "expensive") if thing is not None else ("poor",)
        return _EXCUSES if person else ("tired", "sick")
    if action.name == "comprar" and thing is not None:
        if thing.group == "food":
            return ("hungry", "cheap")
        return ("cheap",) if thing.group != "drink" else ("thirsty",)
    if thing is not None and thing.singular == "ventana" and action.name in ("abrir", "cerrar"):
        return ("hot",) if action.name == "abrir" else ("cold",)
    names = _REASONS.get(action.name, ())
    if scene.tense in ("past", "future"):
        names = tuple(name for name in names if name != "money")
    if thing is not None and thing.group == "drink" and thing.singular not in ("agua", "jugo", "leche"):
        return ("cold",) if thing.singular in ("té", "café") else ()
    return names
