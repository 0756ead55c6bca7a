"""Clauses inside or beside others: that, while, in order to, before and after."""

from regard.data.builtin.english import THIRD, THIRD_PLURAL
from regard.data.builtin.es_en.actions import STAYS, THINGS, Action, anywhere, named
from regard.data.builtin.es_en.cause import comma
from regard.data.builtin.es_en.clause import Clause, piece
from regard.data.builtin.es_en.event import choose_action, event, infinitive, suitable, verb_group
from regard.data.builtin.es_en.group import Modal, simple
from regard.data.builtin.es_en.nominal import Nominal
from regard.data.builtin.es_en.nouns import nouns
from regard.data.builtin.es_en.people import someone
from regard.data.builtin.es_en.people import subject as any_subject
from regard.data.builtin.es_en.places import place
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.es_en.states import STATES_OF_PEOPLE, state
from regard.data.builtin.es_en.verbs import verb
from regard.data.builtin.synchrony import Phrase, both, idiom

_SAY, _THINK, _KNOW = verb("decir", "say"), verb("creer", "think"), verb("saber", "know")
_PURPOSES: dict[str, tuple[Action, ...]] = {
    "mercado": anywhere("comprar"),
    "tienda": anywhere("comprar"),
    "biblioteca": anywhere("leer estudiar escribir"),
    "restaurante": anywhere("comer beber"),
    "parque": anywhere("jugar descansar"),
    "playa": anywhere("jugar descansar nadar"),
    "lago": anywhere("nadar"),
    "oficina": anywhere("trabajar"),
    "hospital": anywhere("visitar trabajar"),
    "universidad": anywhere("estudiar"),
    "cocina": anywhere("cocinar comer"),
}
_GOALS = nouns(" ".join(_PURPOSES))
_GO = named("ir")[0]
_DAILY = anywhere("dormir trabajar nadar bailar jugar")
_BESIDE = anywhere("leer escuchar lavar llamar beber ver hablar comer cerrar")
_LINKS = (("antes/1 de/1", "before/1"), ("después/1 de/1", "after/1"))


def reported(scene: Scene, speaker: Nominal) -> Phrase:
    """Report: Ana dice que tiene hambre, creo que Pedro va a volver."""
    if scene.tense == "past":
        opening = Clause(subject=speaker, group=simple(_SAY, speaker.slot, past=True)).statement()
        return opening.then(both("que", "that")).then(_reported_past(scene, speaker))
    say = speaker.slot in (THIRD, THIRD_PLURAL) and scene.draw.chance(0.6)
    reporting = _SAY if say else scene.draw.pick((_THINK, _THINK, _KNOW))
    opening = Clause(subject=speaker, group=simple(reporting, speaker.slot)).statement()
    return opening.then(both("que", "that")).then(_reported(scene, speaker, itself=say))


def _reported_past(scene: Scene, speaker: Nominal) -> Phrase:
    about = speaker.drop() if scene.draw.chance(0.5) else someone(scene)
    if scene.draw.chance(0.5):
        action = choose_action(scene, about)
        if action.willed:
            modal: Modal = scene.draw.pick(("want", "must"))
            return event(scene, about, action=action, modal=modal).clause.statement()
    return state(scene, about, scene.draw.pick(STATES_OF_PEOPLE)).statement()


def _reported(scene: Scene, speaker: Nominal, *, itself: bool) -> Phrase:
    about = speaker.drop() if itself and scene.draw.chance(0.4) else any_subject(scene, pronouns=False)
    if about.slot == speaker.slot and about.slot not in (THIRD, THIRD_PLURAL):
        about = someone(scene)
    if scene.tense == "present" and scene.draw.chance(0.4):
        return state(scene, about, scene.draw.pick(STATES_OF_PEOPLE)).statement()
    return event(scene, about).clause.statement()


def meanwhile(scene: Scene, subject: Nominal) -> Phrase | None:
    """Tell what two people do at once: Mientras mi madre cocina, los niños juegan."""
    if scene.tense not in ("present", "now") or subject.dropped:
        return None
    other = someone(scene)
    first, second = suitable(scene, subject, _SLOW), suitable(scene, other, _SLOW)
    if first is None or second is None or first.name == second.name:
        return None
    while_, first_clause = both("mientras", "while"), event(scene, subject, action=first).clause.statement()
    second_clause = event(scene, other, action=second).clause.statement()
    return (
        while_.then(first_clause).then(comma()).then(second_clause)
        if scene.draw.chance(0.5)
        else first_clause.then(while_).then(second_clause)
    )


def in_order_to(scene: Scene, subject: Nominal) -> Phrase | None:
    """Go somewhere for a purpose: Ana va al mercado para comprar pan."""
    goal = scene.mention(_GOALS)
    purpose = suitable(scene, subject, _PURPOSES[goal.singular])
    if scene.tense == "now" or purpose is None:
        return None
    where = both("a", "to").then(place(scene, goal, owner=subject).phrase)
    going = Clause(subject=subject, group=verb_group(scene, subject, _GO), pieces=(piece(where),)).statement()
    return going.then(both("para", "to")).then(infinitive(scene, subject, purpose, form="base"))


def around(scene: Scene, subject: Nominal) -> Phrase | None:
    """Tell what comes before or after: Antes de dormir, Ana lee un libro."""
    daily, beside = suitable(scene, subject, _DAILY), suitable(scene, subject, _BESIDE)
    if scene.tense == "now" or daily is None or beside is None:
        return None
    done = event(scene, subject, action=beside).clause.statement()
    link = idiom(*scene.draw.pick(_LINKS)).then(infinitive(scene, subject, daily, form="gerund"))
    return link.then(comma()).then(done) if scene.draw.chance(0.5) else done.then(link)


_SLOW = tuple(
    action
    for action in (*THINGS, *STAYS)
    if action.name not in ("perder", "encontrar", "abrir", "cerrar", "comprar", "pedir")
)
