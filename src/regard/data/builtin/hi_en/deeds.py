"""What people do in Hindi, where, with whom and when."""

from regard.data.builtin.english import FIRST, FIRST_PLURAL, SECOND, THIRD, THIRD_PLURAL, Slot
from regard.data.builtin.hi_en.clause import Clause
from regard.data.builtin.hi_en.group import Tense
from regard.data.builtin.hi_en.lexicon import (
    BUY,
    CITIES,
    COME,
    DRINK,
    EAT,
    GIVE,
    GO,
    LIVE,
    NOUNS,
    OPEN,
    READ,
    RETURN,
    RUN,
    SEE,
    SLEEP,
    WRITE,
    Noun,
    Verb,
)
from regard.data.builtin.hi_en.nominal import Nominal, Thing, person, pronoun, thing
from regard.data.builtin.hi_en.scene import Scene
from regard.data.builtin.synchrony import NOTHING, Phrase, Unit, both, idiom

_GOALS = NOUNS["place"]
_BY_WORD: dict[str, Noun] = {noun.direct[0]: noun for nouns in NOUNS.values() for noun in nouns}


def _nouns(words: str) -> tuple[Noun, ...]:
    return tuple(_BY_WORD[word] for word in words.split())


_OBJECTS: dict[str, tuple[Noun, ...]] = {
    EAT.stem: NOUNS["food"],
    DRINK.stem: NOUNS["drink"],
    READ.stem: NOUNS["reading"],
    WRITE.stem: _nouns("patr kahaanii kitaab"),
    BUY.stem: _nouns("seb aam kitaab akhbaar ghadii gaadii phuul rotii chaaval duudh chaay"),
    SEE.stem: _nouns("phuul gaadii mandir nadii ghadii kitaab"),
    OPEN.stem: _nouns("darvaazaa khidkii patr"),
    GIVE.stem: _nouns("kitaab patr phuul seb aam ghadii akhbaar"),
}
_PLACES: dict[str, tuple[Noun, ...]] = {
    EAT.stem: _nouns("baag skuul"),
    DRINK.stem: _nouns("baag dukaan"),
    READ.stem: _nouns("baag skuul mandir"),
    BUY.stem: _nouns("baajaar dukaan gaanv"),
    SEE.stem: _nouns("baajaar gaanv"),
    SLEEP.stem: _nouns("baag"),
    RUN.stem: _nouns("baag baajaar gaanv"),
}
_MOVING = frozenset(verb.stem for verb in (GO, COME, RETURN))
_TOGETHER = frozenset(verb.stem for verb in (GO, RETURN, RUN, EAT))
_VERBS = (GO, GO, COME, RETURN, SLEEP, RUN, LIVE, EAT, DRINK, READ, WRITE, BUY, SEE, OPEN, GIVE)
_TIMES: dict[Tense, tuple[tuple[str, str], ...]] = {
    "habit": (("roz/1", "every/1 day/1"), ("subah/1", "in?1 the?1 morning/1"), ("raat/1 ko/2", "at/2 night/1")),
    "once": (("roz/1", "every/1 day/1"),),
    "now": (("abhii/1", "now/1"),),
    "past": (("kal/1", "yesterday/1"), ("aaj/1", "today/1")),
    "before": (("kal/1", "yesterday/1"),),
    "future": (("kal/1", "tomorrow/1"), ("aaj/1", "today/1")),
}
_RECEIVERS = {FIRST: ("mujhe", "me"), FIRST_PLURAL: ("hamen", "us"), SECOND: ("tumhen", "you")}


def someone(scene: Scene) -> Nominal:
    """Choose a subject: a speaker, vah, ve, or a person."""
    if scene.draw.chance(0.55):
        return person(scene)
    slot = scene.draw.weigh(((25, FIRST), (20, SECOND), (25, FIRST_PLURAL), (20, THIRD), (10, THIRD_PLURAL)))
    return pronoun(slot, "f" if scene.draw.chance(0.4) else "m")


def deed(scene: Scene, subject: Nominal, *, rich: float, tense: Tense | None = None) -> Clause | None:
    """Let the subject do something sensible, or give up where Hindi would not tell he from she."""
    verb = scene.draw.pick(_VERBS)
    chosen: Tense = scene.draw.weigh(scene.tenses) if tense is None else tense
    if (verb is LIVE and chosen not in ("habit", "once")) or (verb is SEE and chosen == "now"):
        return None
    timed = chosen in _TIMES and verb is not LIVE and scene.draw.chance(0.45 * rich + 0.05)
    accompanied = verb.stem in _TOGETHER and scene.draw.chance(0.3 * rich)
    clause = Clause(
        subject=subject,
        verb=verb,
        tense=chosen,
        object=_object(scene, verb, subject, rich),
        receiver=_receiver(scene, subject) if verb is GIVE else NOTHING,
        company=_company(scene, subject) if accompanied else NOTHING,
        place=_place(scene, verb, subject, rich),
        time=idiom(*scene.draw.pick(_TIMES[chosen])) if timed else NOTHING,
        negative=scene.draw.chance(0.15),
    )
    return clause if clause.possible() else None


def _object(scene: Scene, verb: Verb, subject: Nominal, rich: float) -> Thing | None:
    if verb.stem not in _OBJECTS:
        return None
    return thing(scene, scene.draw.pick(_OBJECTS[verb.stem]), owner=subject, rich=rich)


def _place(scene: Scene, verb: Verb, subject: Nominal, rich: float) -> Phrase:
    if verb.stem in _MOVING:
        if scene.draw.chance(0.2):
            return both("ghar", "home")
        goal = thing(scene, scene.draw.pick(_GOALS), owner=subject, case="oblique", rich=rich)
        if verb is COME:
            return after(goal.phrase, both("se", "from"))
        return Phrase(goal.phrase.source, goal.head.loosely("to") + goal.phrase.target)
    if verb is LIVE:
        return home(scene, subject)
    if verb is SLEEP and scene.draw.chance(0.6):
        return idiom("ghar/1 par/2", "at/2 home/1")
    if verb.stem not in _PLACES or not scene.draw.chance(0.15 + 0.35 * rich):
        return NOTHING
    return inside(scene, _PLACES[verb.stem], subject, rich)


def goal(word: str) -> Phrase:
    """Say to the place: baajaar, to the market, of which English says more."""
    noun, head = _BY_WORD[word], Unit()
    return Phrase(head(noun.oblique[0]), head.loosely("to the") + head(noun.english[0]))


def home(scene: Scene, owner: Nominal) -> Phrase:
    """Say where somebody lives: Dillii mein, gaanv mein."""
    if scene.draw.chance(0.6):
        return after(both(*scene.draw.pick(CITIES)), both("mein", "in"))
    return inside(scene, _nouns("gaanv"), owner, 0.4)


def inside(scene: Scene, options: tuple[Noun, ...], owner: Nominal, rich: float) -> Phrase:
    """Say in one of these places: baag mein."""
    place = thing(scene, scene.draw.pick(options), owner=owner, case="oblique", rich=rich)
    return after(place.phrase, both("mein", "in"))


def after(phrase: Phrase, postposition: Phrase) -> Phrase:
    """Put a postposition after its phrase in Hindi and before it in English."""
    return Phrase(phrase.source + postposition.source, postposition.target + phrase.target)


def _company(scene: Scene, subject: Nominal) -> Phrase:
    return after(_oblique(person(scene, owner=subject)), both("ke saath", "with"))


def _receiver(scene: Scene, subject: Nominal) -> Phrase:
    others = [words for slot, words in _RECEIVERS.items() if not _overlap(slot, subject.slot)]
    if scene.draw.chance(0.35):
        unit, (hindi, english) = Unit(), scene.draw.pick(others)
        return Phrase(unit(hindi), unit.loosely("to") + unit(english))
    return after(_oblique(person(scene, owner=subject)), both("ko", "to"))


def _overlap(slot: Slot, other: Slot) -> bool:
    return slot == other or {slot, other} == {FIRST, FIRST_PLURAL}


def _oblique(who: Nominal) -> Phrase:
    return Phrase(who.oblique, who.target)
