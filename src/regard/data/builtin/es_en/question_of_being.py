"""Questions about how and where things are, whether there are any, and what people like."""

from regard.data.builtin.english import SECOND
from regard.data.builtin.es_en.actions import HAVINGS
from regard.data.builtin.es_en.clause import Clause, piece
from regard.data.builtin.es_en.copular import character, existence, findable, quality, shown, sight, trade
from regard.data.builtin.es_en.group import copula, simple
from regard.data.builtin.es_en.liking import liking
from regard.data.builtin.es_en.nominal import pronoun, say
from regard.data.builtin.es_en.noun_phrase import thing
from regard.data.builtin.es_en.nouns import nouns
from regard.data.builtin.es_en.people import draw_gender, someone_brief
from regard.data.builtin.es_en.question import person_asked_about
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.es_en.states import STATES_OF_PEOPLE, state
from regard.data.builtin.synchrony import Phrase, Unit, both

_COUNTED = nouns("animal coche bicicleta maleta hermano hermana hijo hija amigo primo")


def from_where(scene: Scene) -> Phrase:
    """Ask where somebody is from: ¿De dónde eres?"""
    origin, word = both("de", "from"), both("dónde", "where")
    subject = person_asked_about(scene)
    source, target = word.then(Clause(subject=subject, group=copula("ser", subject.slot)).question())
    return Phrase(origin.source + source, target + origin.target)


def where_is(scene: Scene) -> Phrase:
    """Ask where something or somebody is: ¿Dónde están mis llaves?"""
    kind = scene.draw.weigh(((40, "thing"), (35, "sight"), (25, "person")))
    subject = findable(scene) if kind == "thing" else sight(scene) if kind == "sight" else person_asked_about(scene)
    return both("dónde", "where").then(Clause(subject=subject, group=copula("estar", subject.slot)).question())


def how_is(scene: Scene) -> Phrase | None:
    """Ask whether somebody or something is so: ¿Está cansada tu madre?"""
    if scene.draw.chance(0.35):
        clause = quality(scene, shown(scene))
        return None if clause is None else clause.question("last")
    subject = person_asked_about(scene)
    match scene.draw.weigh(((45, "state"), (30, "character"), (25, "trade"))):
        case "state":
            return state(scene, subject, scene.draw.pick(STATES_OF_PEOPLE)).question("last")
        case "character":
            return character(scene, subject).question("last")
        case _:
            working = trade(scene, subject)
            return None if working is None else working.question("last")


def is_there(scene: Scene) -> Phrase:
    """Ask whether there is any: ¿Hay leche en la cocina?"""
    return existence(scene, asked=True)


def likes(scene: Scene) -> Phrase:
    """Ask whether somebody likes something: ¿Te gusta el café?"""
    who = pronoun(SECOND, draw_gender(scene.draw)).drop() if scene.draw.chance(0.6) else someone_brief(scene)
    clause = liking(scene, who)
    return Phrase(clause.statement().source, clause.question().target)


def has(scene: Scene) -> Phrase:
    """Ask whether somebody has, wants or needs something: ¿Quieres un café?"""
    action, subject = scene.draw.pick(HAVINGS), person_asked_about(scene)
    had = thing(scene, scene.mention(action.what), acquaintance="new")
    return Clause(subject=subject, group=simple(action.verb, subject.slot), pieces=(piece(had.phrase),)).question()


def how_many_had(scene: Scene) -> Phrase:
    """Ask how many somebody has: ¿Cuántos hermanos tienes?"""
    action, subject = HAVINGS[0], person_asked_about(scene)
    noun = scene.mention(_COUNTED)
    many = both("cuántas" if noun.gender == "f" else "cuántos", "how many")
    rest = Clause(subject=subject, group=simple(action.verb, subject.slot)).question()
    return many.then(say(Unit(), noun, plural=True)).then(rest)
