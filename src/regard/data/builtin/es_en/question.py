"""Questions about what is done: yes or no, question words, and polite requests."""

from regard.data.builtin.english import FIRST, FIRST_PLURAL, SECOND, THIRD
from regard.data.builtin.es_en.actions import GIFTS, PEOPLE, STAYS, THINGS, TRIPS, Action
from regard.data.builtin.es_en.clause import Clause, Piece, piece
from regard.data.builtin.es_en.clitic import to_speaker
from regard.data.builtin.es_en.complements import complements
from regard.data.builtin.es_en.event import choose_action, event, verb_group
from regard.data.builtin.es_en.group import Modal, with_modal
from regard.data.builtin.es_en.nominal import Nominal, pronoun, say
from regard.data.builtin.es_en.noun_phrase import several_at_times, thing
from regard.data.builtin.es_en.people import draw_gender, relative_or_friend, someone_brief
from regard.data.builtin.es_en.places import inside
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.es_en.times import time
from regard.data.builtin.synchrony import Phrase, Unit, both

_COUNTED = frozenset(["comprar", "leer", "escribir", "lavar", "comer", "encontrar"])
_CHOSEN = frozenset(["leer", "ver", "comprar", "escuchar", "buscar", "esperar"])
_ASKED_WHAT = frozenset(
    ["comer", "beber", "cocinar", "comprar", "leer", "escribir", "buscar", "estudiar", "pedir", "perder"]
)


def mark(asked: Phrase) -> Phrase:
    """Set the marks: ¿ … ? in Spanish, only the second in English."""
    unit = Unit()
    return Phrase(unit.loosely("¿") + asked.source + unit("?"), asked.target + unit("?"))


def person_asked_about(scene: Scene) -> Nominal:
    """Ask about you, or about somebody in a word or two."""
    match scene.draw.weigh(((45, "you"), (40, "one"), (15, "several"))):
        case "you":
            return pronoun(SECOND, draw_gender(scene.draw)).drop()
        case "one":
            return someone_brief(scene)
        case _:
            return relative_or_friend(scene, plural=True)


def yes_or_no(scene: Scene) -> Phrase:
    """Ask whether: ¿Quieres comprar un coche?, ¿Compró Ana el pan?"""
    modal: Modal | None = None
    if scene.tense == "present" and scene.draw.chance(0.45):
        modal = scene.draw.pick(("can", "want", "must"))
    subject = person_asked_about(scene)
    if modal == "can" and subject.slot == SECOND:
        modal = "want"
    action = choose_action(scene, subject)
    phrase = event(scene, subject, action=action, modal=modal if action.willed else None).clause.question()
    if (not action.willed and scene.tense == "present") or not scene.draw.chance(0.25):
        return phrase
    return phrase.then(time(scene, "future" if modal is not None and action.willed else None))


def request(scene: Scene) -> Phrase:
    """Ask for something: ¿Me puedes traer un tenedor?, Can you bring me a fork?"""
    action = scene.draw.pick(GIFTS)
    you = pronoun(SECOND, draw_gender(scene.draw)).drop()
    receiver = pronoun(scene.draw.pick((FIRST, FIRST, FIRST_PLURAL)), "m")
    gift = thing(scene, scene.mention(action.what), owner=you, acquaintance="handed")
    pieces = to_speaker(receiver, gift)
    return Clause(subject=you, group=with_modal("can", action.verb, SECOND), pieces=pieces).question()


def what(scene: Scene) -> Phrase:
    """Ask what: ¿Qué compró tu madre en el mercado?"""
    action = _suitable(scene, [action for action in THINGS if action.name in _ASKED_WHAT])
    where = (piece(inside(scene, action.where, depth=0)),) if action.where and scene.maybe(0.4) else ()
    return _ask(scene, both("qué", "what"), action, where)


def who(scene: Scene) -> Phrase:
    """Ask who: ¿Quién lava los platos?"""
    word = both("quién", "who")
    somebody = Nominal(phrase=word, head=Unit(), slot=THIRD, gender="m", kind="person")
    return _timed(scene, event(scene, somebody).clause.statement(), 0.2)


def whom(scene: Scene) -> Phrase:
    """Ask whom: ¿A quién visitaste ayer?, Who did you visit yesterday?"""
    unit = Unit()
    return _ask(scene, Phrase(unit.loosely("a") + unit("quién"), unit("who")), _suitable(scene, PEOPLE), ())


def where(scene: Scene) -> Phrase:
    """Ask where: ¿Dónde compraste el pan?"""
    action = _suitable(scene, [action for action in (*THINGS, *STAYS) if len(action.where) > 2])
    pieces: tuple[Piece, ...] = ()
    if action.frame == "thing":
        pieces = (piece(thing(scene, scene.mention(action.what), acquaintance=action.acquaintance).phrase),)
    elif action.name == "hablar":
        pieces = (piece(both("con", "with").then(someone_brief(scene).phrase)),)
    return _ask(scene, both("dónde", "where"), action, pieces)


def where_to(scene: Scene) -> Phrase:
    """Ask where somebody goes: ¿Adónde va Ana?"""
    action = _suitable(scene, [action for action in TRIPS if action.name in ("ir", "viajar")])
    return _ask(scene, both("adónde", "where"), action, ())


def why(scene: Scene) -> Phrase:
    """Ask why: ¿Por qué está cantando Ana?"""
    action = _suitable(scene, (*THINGS, *STAYS, *TRIPS, *PEOPLE[:4]))
    return _ask(scene, both("por qué", "why"), action, None)


def when(scene: Scene) -> Phrase:
    """Ask when: ¿Cuándo volvió tu padre a casa?"""
    action = _suitable(scene, (*THINGS, *TRIPS))
    subject = person_asked_about(scene)
    pieces, _ = complements(scene, subject, action)
    clause = Clause(subject=subject, group=verb_group(scene, subject, action), pieces=pieces)
    return both("cuándo", "when").then(clause.question("third"))


def how_many(scene: Scene) -> Phrase:
    """Ask how many: ¿Cuántas manzanas compró Ana?"""
    action = _suitable(scene, [action for action in THINGS if action.name in _COUNTED])
    noun = scene.mention([noun for noun in action.what if several_at_times(noun)])
    many = both("cuántas" if noun.gender == "f" else "cuántos", "how many")
    return _ask(scene, many.then(say(Unit(), noun, plural=True)), action, ())


def which(scene: Scene) -> Phrase:
    """Ask which: ¿Qué libro está leyendo Ana?"""
    action = _suitable(scene, [action for action in THINGS if action.name in _CHOSEN])
    noun = scene.mention([noun for noun in action.what if noun.counted])
    return _ask(scene, both("qué", "which").then(say(Unit(), noun, plural=False)), action, ())


def with_whom(scene: Scene) -> Phrase:
    """Ask with whom, which English leaves to the end: ¿Con quién vives?, Who do you live with?"""
    action = _suitable(scene, [action for action in (*STAYS, *TRIPS[:1]) if action.friend])
    company, word = both("con", "with"), both("quién", "who")
    pieces = complements(scene, person_asked_about(scene), action)[0][:1] if action.frame == "go" else ()
    source, target = _ask(scene, word, action, pieces, timed=False)
    return Phrase(company.source + source, target + company.target)


def _suitable(scene: Scene, actions: tuple[Action, ...] | list[Action]) -> Action:
    return scene.draw.pick([action for action in actions if scene.tense in action.tenses])


def _ask(scene: Scene, word: Phrase, action: Action, pieces: tuple[Piece, ...] | None, *, timed: bool = True) -> Phrase:
    subject = person_asked_about(scene)
    if pieces is None:
        pieces, _ = complements(scene, subject, action)
    clause = Clause(subject=subject, group=verb_group(scene, subject, action), pieces=pieces)
    phrase = word.then(clause.question("third"))
    return _timed(scene, phrase, 0.25) if timed else phrase


def _timed(scene: Scene, asked: Phrase, probability: float) -> Phrase:
    return asked.then(time(scene)) if scene.draw.chance(probability) else asked
