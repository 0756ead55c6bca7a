"""Whole sentences of about a wanted length: one clause, two, or many."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from regard.data.builtin.draw import Draw
from regard.data.builtin.english import SECOND
from regard.data.builtin.es_en import question, question_of_being
from regard.data.builtin.es_en.cause import although, because, comma, if_so, overt, so, when
from regard.data.builtin.es_en.contrast import flawed, hindered, picky, unlike_others
from regard.data.builtin.es_en.coordination import another_deed, deed_on_it
from regard.data.builtin.es_en.copular import (
    character,
    comparison,
    existence,
    feeling,
    findable,
    location,
    origin,
    quality,
    shown,
    sight,
    trade,
    weather,
)
from regard.data.builtin.es_en.event import choose_action, event
from regard.data.builtin.es_en.group import Modal
from regard.data.builtin.es_en.liking import liking
from regard.data.builtin.es_en.nominal import Nominal
from regard.data.builtin.es_en.people import animal, someone, someone_brief, subject
from regard.data.builtin.es_en.relative import with_relative
from regard.data.builtin.es_en.report import around, in_order_to, meanwhile, reported
from regard.data.builtin.es_en.scene import Scene, Tense
from regard.data.builtin.es_en.times import frequency, time
from regard.data.builtin.synchrony import Phrase, both

Told: TypeAlias = Phrase | None
"""What a rule gives: a phrase, or nothing where the draw did not suit it."""

_TENSES: tuple[tuple[float, Tense], ...] = ((36, "present"), (34, "past"), (12, "now"), (18, "future"))


def derive(draw: Draw, wanted: int) -> Told:
    """Derive a sentence of about `wanted` words, in any of the ways that suit that length."""
    scene = Scene(draw, tense=draw.weigh(_TENSES), rich=min(1.0, max(0.1, (wanted - 2) / 12)))
    if wanted > 20 or (wanted > 12 and draw.chance(0.6)):
        sentence = _many(scene, wanted)
    elif wanted < 5 + draw.between(1, 12):
        scene.alone = True
        sentence = draw.weigh(_ONE)(scene)
    else:
        sentence = _two(scene)
    if sentence is None or (scene.needs_time and not scene.has_time):
        return None
    if sentence.source[-1].text != "?" and draw.chance(0.5 if wanted <= 20 else 0.8):
        sentence = sentence.then(both(".", "."))
    return sentence


def protagonist(scene: Scene) -> Nominal:
    """Choose who a sentence is about, with a relative clause if the scene is rich."""
    chosen = subject(scene)
    if chosen.named or (chosen.noun is not None and chosen.kind == "person"):
        if not scene.maybe(0.35):
            return chosen
        unique = chosen.named or (chosen.noun is not None and chosen.noun.group == "kin" and not chosen.plural)
        return with_relative(scene, chosen, aside=unique)
    return chosen


def _two(scene: Scene, *, timed: float = 0.3) -> Told:
    """Tell two things that belong together, perhaps with the time in front."""
    rule, timely = scene.draw.weigh(_TWO)
    sentence = rule(scene, protagonist(scene))
    if sentence is None or not timely or scene.has_time or sentence.source[0].text in ("mientras", "antes", "después"):
        return sentence
    return time(scene).then(sentence) if scene.needs_time or scene.maybe(timed) else sentence


def _deed(scene: Scene) -> Told:
    who = animal(scene) if scene.draw.chance(0.06) else protagonist(scene)
    modal: Modal | None = None
    if scene.tense in ("present", "past") and who.kind == "person" and scene.draw.chance(0.25):
        modal = scene.draw.pick(("want", "must", "can"))
        if modal == "can" and (scene.tense == "past" or who.slot == SECOND):
            modal = "want"
        who = overt(scene, who)
    action = choose_action(scene, who)
    if not action.willed:
        modal = None
    negative = action.willed and scene.draw.chance(0.16)
    clause = event(scene, who, action=action, modal=modal, negative=negative).clause
    if scene.tense == "present" and modal is None and action.willed and not negative and scene.draw.chance(0.12):
        return replace(clause, adverb=frequency(scene)).statement()
    phrase = clause.statement()
    if (not action.willed and scene.tense == "present") or not (scene.needs_time or scene.draw.chance(0.35)):
        return phrase
    when_ = time(scene, "future" if modal is not None and scene.tense == "present" else None)
    return when_.then(phrase) if scene.draw.chance(0.5) else phrase.then(when_)


def _being(scene: Scene) -> Told:
    match scene.draw.weigh(
        (
            (16, "origin"),
            (12, "trade"),
            (14, "character"),
            (8, "comparison"),
            (20, "feeling"),
            (18, "thing"),
            (18, "place"),
        )
    ):
        case "origin":
            return origin(scene, subject(scene)).statement()
        case "trade":
            working = trade(scene, subject(scene))
            return None if working is None else working.statement()
        case "character":
            return character(scene, protagonist(scene)).statement()
        case "comparison":
            return comparison(scene, someone(scene), someone_brief(scene)).statement()
        case "feeling":
            return feeling(scene, protagonist(scene)).statement()
        case "thing":
            clause = quality(scene, with_relative(scene, shown(scene)) if scene.maybe(0.4) else shown(scene))
            return None if clause is None else clause.statement()
        case _:
            who = scene.draw.weigh(((40, findable), (30, sight), (30, someone)))(scene)
            return location(scene, who).statement()


def _liking(scene: Scene) -> Told:
    who = protagonist(scene)
    if who.plural and not who.dropped and who.noun is None:
        return None
    negative = scene.draw.chance(0.25)
    return liking(scene, who, negative=negative, loved=not negative and scene.draw.chance(0.25)).statement()


def _existence(scene: Scene) -> Told:
    return existence(scene, negative=scene.draw.chance(0.25))


def _question(scene: Scene) -> Told:
    ask: Callable[[Scene], Told] = scene.draw.weigh(_QUESTIONS)
    if ask is question.when and scene.tense not in ("past", "future"):
        scene.tense = "past"
    phrase = ask(scene)
    return None if phrase is None else question.mark(phrase)


_QUESTIONS: tuple[tuple[float, Callable[[Scene], Told]], ...] = (
    (20, question.yes_or_no),
    (14, question.request),
    (8, question.what),
    (8, question.who),
    (5, question.whom),
    (7, question.where),
    (4, question.where_to),
    (6, question.why),
    (5, question.when),
    (4, question.how_many),
    (4, question.which),
    (4, question.with_whom),
    (3, question_of_being.from_where),
    (6, question_of_being.where_is),
    (8, question_of_being.how_is),
    (4, question_of_being.is_there),
    (6, question_of_being.likes),
    (4, question_of_being.has),
    (2, question_of_being.how_many_had),
)
_ONE: tuple[tuple[float, Callable[[Scene], Told]], ...] = (
    (46, _deed),
    (18, _being),
    (8, _liking),
    (5, _existence),
    (2, weather),
    (21, _question),
)
_TWO: tuple[tuple[float, tuple[Callable[[Scene, Nominal], Told], bool]], ...] = (
    (20, (because, True)),
    (8, (so, False)),
    (10, (when, False)),
    (5, (if_so, False)),
    (7, (although, False)),
    (7, (unlike_others, True)),
    (9, (hindered, False)),
    (5, (flawed, False)),
    (4, (picky, False)),
    (18, (deed_on_it, True)),
    (14, (another_deed, True)),
    (10, (reported, False)),
    (12, (meanwhile, True)),
    (10, (in_order_to, True)),
    (7, (around, True)),
)


def _many(scene: Scene, wanted: int) -> Told:
    """Tell several things of several people, in one tense."""
    sentence = _two(scene, timed=0.5)
    if sentence is None:
        return None
    while len(sentence.source) < wanted - 3:
        more = _two(scene, timed=0.0)
        if more is not None:
            sentence = sentence.then(_connective(scene, sentence, more)).then(more)
    return sentence


def _connective(scene: Scene, told: Phrase, more: Phrase) -> Phrase:
    opposed = any(word.text == "pero" for word in (*told.source[-20:], *more.source))
    kind = scene.draw.weigh(((55, "and"), (25, "semicolon"), (0 if opposed else 20, "but")))
    if kind == "semicolon":
        return both(";", ";")
    return comma().then(both("y", "and") if kind == "and" else both("pero", "but"))
