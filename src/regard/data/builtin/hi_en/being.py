"""Hindi sentences of being: feeling, quality, having, liking."""

from regard.data.builtin.english import FIRST, FIRST_PLURAL, SECOND, THIRD, Slot, be
from regard.data.builtin.hi_en.group import Agreement, is_, was
from regard.data.builtin.hi_en.lexicon import MOODS, NOUNS, suited
from regard.data.builtin.hi_en.nominal import Nominal, agree, thing
from regard.data.builtin.hi_en.scene import Scene
from regard.data.builtin.synchrony import Phrase, Unit, both

_MINE: dict[Slot, tuple[str, str, str]] = {
    FIRST: ("mere", "mujhe", "I"),
    SECOND: ("tumhaare", "tumhen", "you"),
    FIRST_PLURAL: ("hamaare", "hamen", "we"),
}
_OWNED = (*NOUNS["reading"], *NOUNS["thing"][2:])
_LIKED = (*NOUNS["food"][:3], *NOUNS["drink"])
_ENGLISH_MOODS = dict(MOODS)


def mood_of(who: Nominal, mood: str, *, past: bool) -> Phrase:
    """Say that somebody is or was sick, tired or happy."""
    being = Unit()
    with_ = Agreement(slot=who.slot, gender=who.gender, plural=who.plural)
    felt = both(agree(mood, who.gender, plural=who.plural), _ENGLISH_MOODS[mood])
    source = who.direct + felt.source + being(was(with_) if past else is_(with_))
    return Phrase(source, who.target + being(be(who.slot, past=past)) + felt.target)


def feeling(scene: Scene, who: Nominal) -> Phrase:
    """Say how somebody feels or felt; vah with hai alone would not tell he from she."""
    mood, past = scene.draw.pick(MOODS)[0], scene.draw.chance(0.5)
    unclear = who.slot == THIRD and not who.oblique and not mood.endswith("aa")
    return mood_of(who, mood, past=past or unclear)


def quality(scene: Scene) -> Phrase:
    """Say what a thing is like: gaadii nayii hai, the car is new."""
    noun, head, being = scene.draw.pick((*_OWNED, *NOUNS["place"])), Unit(), Unit()
    hindi, english = scene.draw.pick(suited(noun))
    with_ = Agreement(slot=THIRD, gender=noun.gender, plural=False)
    past = scene.draw.chance(0.3)
    described = both(agree(hindi, noun.gender), english)
    source = head(noun.direct[0]) + described.source + being(was(with_) if past else is_(with_))
    target = head.loosely("the") + head(noun.english[0]) + being(be(THIRD, past=past)) + described.target
    return Phrase(source, target)


def having(scene: Scene, who: Nominal) -> Phrase | None:
    """Say what somebody has: Raam ke paas ek gaadii hai, mere paas ek kitaab hai."""
    owned, having_ = thing(scene, scene.draw.pick(_OWNED), rich=0.3, new=True), Unit()
    owner, doer = _experience(who, dative=False)
    if not doer:
        return None
    with_, past = Agreement(slot=THIRD, gender=owned.gender, plural=owned.plural), scene.draw.chance(0.3)
    english = "had" if past else "has" if who.slot == THIRD else "have"
    source = owner + having_("paas") + owned.phrase.source + having_(was(with_) if past else is_(with_))
    return Phrase(source, doer + having_(english) + owned.phrase.target)


def liking(scene: Scene, who: Nominal) -> Phrase | None:
    """Say what somebody likes: mujhe chaay pasand hai, Siitaa ko duudh pasand hai."""
    liked, like, (fond, doer) = thing(scene, scene.draw.pick(_LIKED), rich=0.0), Unit(), _experience(who, dative=True)
    if not doer:
        return None
    english = "likes" if who.slot == THIRD else "like"
    source = fond + liked.phrase.source + like("pasand") + like.loosely("hai")
    return Phrase(source, doer + like(english) + liked.phrase.target)


def _experience(who: Nominal, *, dative: bool) -> Phrase:
    """Turn a subject into the one it belongs to (ke) or happens to (ko); nothing for vah and ve, which have no form."""
    if who.slot in _MINE:
        having_, liking_, english = _MINE[who.slot]
        return Phrase(who.head(liking_ if dative else having_), who.head(english))
    if not who.oblique:
        return Phrase((), ())
    return Phrase(who.oblique + who.head.loosely("ko" if dative else "ke"), who.target)
