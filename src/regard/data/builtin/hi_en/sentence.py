"""Whole Hindi sentences of about a wanted length."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from regard.data.builtin.draw import Draw
from regard.data.builtin.hi_en.being import feeling, having, liking, mood_of, quality
from regard.data.builtin.hi_en.clause import Clause
from regard.data.builtin.hi_en.deeds import deed, home, someone
from regard.data.builtin.hi_en.group import Tense
from regard.data.builtin.hi_en.lexicon import BUY, COME, DRINK, EAT, LIVE, READ, SAY, WRITE
from regard.data.builtin.hi_en.nominal import Nominal, person, pronoun
from regard.data.builtin.hi_en.scene import Scene
from regard.data.builtin.synchrony import NOTHING, Phrase, Unit, both

Told: TypeAlias = Phrase | None
"""What a rule gives: a phrase, or nothing where the draw did not suit it."""

_THINGS_DONE = frozenset(verb.stem for verb in (EAT, DRINK, READ, WRITE, BUY))


def derive(draw: Draw, wanted: int) -> Told:
    """Derive a sentence of about `wanted` words."""
    scene, rich = Scene(draw), min(1.0, max(0.2, (wanted - 2) / 8))
    if wanted > 14:
        sentence = _many(scene, wanted, rich)
    elif wanted > 7 and draw.chance(0.6):
        sentence = draw.weigh(_TWO)(scene, rich)
    else:
        sentence = draw.weigh(_ONE)(scene, rich)
    if sentence is None or sentence.source[-1].text == "?" or draw.chance(0.5):
        return sentence
    return sentence.then(both(".", "."))


def protagonist(scene: Scene, rich: float) -> Nominal:
    """Choose a subject, perhaps with a relative clause."""
    who = someone(scene)
    return _who_lives(scene, who) if who.common and scene.draw.chance(0.3 * rich) else who


def _who_lives(scene: Scene, who: Nominal) -> Nominal:
    """Add where somebody lives: vah ladkaa jo gaanv mein rahtaa hai, the boy who lives in the village."""
    that, silent = Unit(), replace(who, direct=(), target=())
    clause = both("jo", "who").then(
        Clause(subject=silent, verb=LIVE, tense="habit", place=home(scene, who)).statement()
    )
    return replace(
        who,
        direct=that("ve" if who.plural else "vah") + who.direct + clause.source,
        marked=that("un" if who.plural else "us") + who.marked + clause.source,
        target=that("the") + who.target[1:] + clause.target,
    )


def _deed(scene: Scene, rich: float) -> Told:
    done = deed(scene, protagonist(scene, rich), rich=rich)
    return None if done is None else done.statement(time_first=scene.draw.chance(0.4))


def _being(scene: Scene, rich: float) -> Told:
    match scene.draw.weigh(((40, "feeling"), (25, "quality"), (20, "having"), (15, "liking"))):
        case "feeling":
            return feeling(scene, protagonist(scene, rich))
        case "quality":
            return quality(scene)
        case "having":
            return having(scene, someone(scene))
        case _:
            return liking(scene, someone(scene))


def _question(scene: Scene, rich: float) -> Told:
    mark = Unit()
    done = deed(scene, someone(scene), rich=min(rich, 0.5))
    if done is None:
        return None
    phrase = _asked(scene, replace(done, negative=False), mark)
    return None if phrase is None else Phrase(phrase.source + mark("?"), phrase.target + mark("?"))


def _asked(scene: Scene, done: Clause, mark: Unit) -> Told:
    match scene.draw.weigh(((45, "whether"), (20, "where"), (15, "what"), (20, "when"))):
        case "whether":
            phrase = done.question()
            return Phrase(mark.loosely("kyaa") + phrase.source, phrase.target)
        case "where" if done.place.source and done.verb is not COME:
            return replace(done, place=NOTHING).question(both("kahaan", "where"))
        case "what" if done.verb.stem in _THINGS_DONE:
            return replace(done, object=None).question(both("kyaa", "what"))
        case "when" if done.tense in ("past", "future") and done.verb is not LIVE:
            return replace(done, time=NOTHING).question(both("kab", "when"))
        case _:
            return None


def _because(scene: Scene, rich: float) -> Told:
    """Excuse oneself: Raam skuul nahiin gayaa kyonki vah biimaar thaa."""
    who = protagonist(scene, rich)
    done = deed(scene, who, rich=rich, tense="past")
    if done is None or not _tells(scene, "past"):
        return None
    self = pronoun(who.slot, who.gender)
    excuse = mood_of(self, scene.draw.pick(("biimaar", "thakaa")), past=True)
    return replace(done, negative=True).statement().then(both("kyonki", "because")).then(excuse)


def _report(scene: Scene, rich: float) -> Told:
    """Report: Siitaa kahtii hai ki Raam ghar jaaegaa."""
    who, inner = person(scene), _deed(scene, rich)
    if inner is None:
        return None
    return Clause(subject=who, verb=SAY, tense="habit").statement().then(both("ki", "that")).then(inner)


def _when(scene: Scene, rich: float) -> Told:
    """Tell two things of one time: jab Raam ghar aayaa, tab Siitaa ne chaay pii."""
    tense: Tense = "past" if _tells(scene, "past") else "habit"
    first, second = (deed(scene, person(scene), rich=rich * 0.5, tense=tense) for _ in range(2))
    if first is None or second is None or first.verb is second.verb or LIVE in (first.verb, second.verb):
        return None
    if not _tells(scene, tense):
        return None
    when, comma = Unit(), both(",", ",")
    first_clause, second_clause = (
        replace(clause, negative=False, time=NOTHING).statement() for clause in (first, second)
    )
    source = when("jab") + first_clause.source + comma.source + when.loosely("tab") + second_clause.source
    return Phrase(source, when("when") + first_clause.target + comma.target + second_clause.target)


def _tells(scene: Scene, tense: Tense) -> bool:
    return any(tense == other_tense for _, other_tense in scene.tenses)


def _and(scene: Scene, rich: float) -> Told:
    first, second = _deed(scene, rich * 0.6), _deed(scene, rich * 0.6)
    if first is None or second is None:
        return None
    return first.then(_connective(scene, first, second)).then(second)


def _connective(scene: Scene, told: Phrase, more: Phrase) -> Phrase:
    opposed = any(word.text == "lekin" for word in (*told.source[-16:], *more.source))
    kind = scene.draw.weigh(((30, "aur"), (30, ", aur"), (0 if opposed else 25, ", lekin"), (20, ";")))
    match kind:
        case "aur":
            return both("aur", "and")
        case ", aur":
            return both(",", ",").then(both("aur", "and"))
        case ", lekin":
            return both(",", ",").then(both("lekin", "but"))
        case _:
            return both(";", ";")


def _many(scene: Scene, wanted: int, rich: float) -> Told:
    sentence = scene.draw.weigh(_TWO)(scene, rich)
    while sentence is not None and len(sentence.source) < wanted - 3:
        more = scene.draw.weigh(_TWO)(scene, rich)
        if more is not None:
            sentence = sentence.then(_connective(scene, sentence, more)).then(more)
    return sentence


_ONE: tuple[tuple[float, Callable[[Scene, float], Told]], ...] = ((60, _deed), (20, _being), (20, _question))
_TWO: tuple[tuple[float, Callable[[Scene, float], Told]], ...] = (
    (25, _deed),
    (20, _because),
    (15, _report),
    (15, _when),
    (25, _and),
)
