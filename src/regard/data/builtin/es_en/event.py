"""Events: somebody does something sensible."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from regard.data.builtin.english import FIRST_PLURAL
from regard.data.builtin.es_en.actions import ACTIONS, ANIMALS, Action
from regard.data.builtin.es_en.clause import Clause, Piece
from regard.data.builtin.es_en.complements import complements
from regard.data.builtin.es_en.group import Group, Modal, in_tense, with_modal
from regard.data.builtin.es_en.nominal import Nominal
from regard.data.builtin.es_en.people import is_child
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.synchrony import Phrase, Unit


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """A clause with what it is about: the action, and the thing or person it is done to."""

    clause: Clause
    action: Action
    done_to: Nominal | None = None


def choose_action(scene: Scene, subject: Nominal) -> Action:
    """Choose something that this subject does and that suits the tense of the scene."""
    while True:
        if subject.kind == "animal" and subject.noun is not None:
            action = scene.draw.pick(ANIMALS[subject.noun.singular])
        else:
            action = scene.draw.pick(scene.draw.weigh(ACTIONS))
        if scene.tense in action.tenses and not (action.grown and is_child(subject)):
            return action


def suitable(scene: Scene, subject: Nominal, actions: Sequence[Action]) -> Action | None:
    """Choose one of `actions` that suits the tense of the scene and the age of the subject, if there is one."""
    young = is_child(subject)
    fitting = [action for action in actions if scene.tense in action.tenses and not (young and action.grown)]
    return scene.draw.pick(fitting) if fitting else None


def verb_group(scene: Scene, subject: Nominal, action: Action, modal: Modal | None = None) -> Group:
    """Conjugate `action`, and note where its form alone does not tell the past from the present."""
    past = scene.tense == "past"
    if modal is not None:
        return with_modal(modal, action.verb, subject.slot, past=past)
    spanish = action.verb.spanish
    if past and subject.slot == FIRST_PLURAL and spanish.past[FIRST_PLURAL] == spanish.present[FIRST_PLURAL]:
        scene.needs_time = True
    return in_tense(action.verb, subject.slot, scene.tense)


def event(
    scene: Scene,
    subject: Nominal,
    *,
    action: Action | None = None,
    modal: Modal | None = None,
    negative: bool = False,
) -> Event:
    """Let `subject` do `action`, or something chosen, telling as much about it as the scene is rich."""
    action = action or choose_action(scene, subject)
    group = verb_group(scene, subject, action, modal)
    pieces: tuple[Piece, ...]
    done_to: Nominal | None
    if negative and action.clear and action.frame in ("thing", "person") and scene.draw.chance(0.15):
        pieces, done_to = (_nothing(action),), None
    else:
        pieces, done_to = complements(scene, subject, action)
    clause = Clause(subject=subject, group=group, pieces=pieces, negative=negative)
    return Event(clause=clause, action=action, done_to=done_to)


def _nothing(action: Action) -> Piece:
    unit = Unit()
    if action.frame == "thing":
        return Piece((), unit("nada"), unit("anything"))
    return Piece((), unit.loosely("a") + unit("nadie"), unit("anyone"))


def infinitive(scene: Scene, subject: Nominal, action: Action, *, form: Literal["base", "to", "gerund"]) -> Phrase:
    """Say the action without tense: comprar pan; buy bread, to buy bread, buying bread."""
    doing, english = Unit(), action.verb.english
    pieces, _ = complements(scene, subject, action, clitics=False)
    source = doing(action.verb.spanish.infinitive)
    target = doing.loosely("to") if form == "to" else ()
    target += doing(english.gerund if form == "gerund" else english.base) + doing(english.particle)
    for item in pieces:
        source, target = source + item.source, target + item.target
    return Phrase(source, target)
