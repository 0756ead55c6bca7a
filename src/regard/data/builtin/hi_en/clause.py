"""Hindi clauses: everything before the verb, the verb last; the English order around it."""

from dataclasses import dataclass

from regard.data.builtin.hi_en.group import FINISHED, Agreement, Group, Tense, conjugate
from regard.data.builtin.hi_en.lexicon import HindiGender, Verb
from regard.data.builtin.hi_en.nominal import Nominal, Thing
from regard.data.builtin.synchrony import NOTHING, Phrase, Unit, Words


@dataclass(frozen=True, kw_only=True, slots=True)
class Clause:
    """A clause before its order is settled: `object` and `place` follow the verb in English, and `time` ends it."""

    subject: Nominal
    verb: Verb
    tense: Tense
    object: Thing | None = None
    receiver: Phrase = NOTHING
    company: Phrase = NOTHING
    place: Phrase = NOTHING
    time: Phrase = NOTHING
    negative: bool = False

    @property
    def _marked(self) -> bool:
        return self.verb.transitive and self.tense in FINISHED

    def possible(self) -> bool:
        """Whether it can be said: the usne of a finished deed would not tell he from she."""
        return not self._marked or bool(self.subject.marked)

    def _group(self) -> Group:
        return conjugate(self.verb, self.tense, self.subject.slot, self._agreement())

    def _agreement(self) -> Agreement:
        if self._marked:
            gender: HindiGender = "m" if self.object is None else self.object.gender
            plural = self.object is not None and self.object.plural
            return Agreement(slot=2, gender=gender, plural=plural)
        return Agreement(slot=self.subject.slot, gender=self.subject.gender, plural=self.subject.plural)

    def statement(self, *, time_first: bool = False) -> Phrase:
        """Say it: Raam kal baajaar nahiin gayaa, Ram did not go to the market yesterday."""
        group, no = self._group(), Unit()
        verb = group.auxiliary + no("not") + group.bare if self.negative else group.finite
        return Phrase(
            self._before_verb(time_first=time_first) + (no("nahiin") if self.negative else ()) + group.hindi,
            self.subject.target + verb + group.tail + self._after_verb(),
        )

    def question(self, word: Phrase = NOTHING) -> Phrase:
        """Ask it; a question word stands before the verb in Hindi and first in English."""
        group = self._group()
        target = word.target + group.auxiliary + self.subject.target + group.bare + group.tail + self._after_verb()
        return Phrase(self._before_verb() + word.source + group.hindi, target)

    def _before_verb(self, *, time_first: bool = False) -> Words:
        doer = self.subject.marked if self._marked else self.subject.direct
        opening = self.time.source + doer if time_first else doer + self.time.source
        things = self.object.phrase.source if self.object is not None else ()
        return opening + self.company.source + self.receiver.source + self.place.source + things

    def _after_verb(self) -> Words:
        things = self.object.phrase.target if self.object is not None else ()
        return things + self.receiver.target + self.place.target + self.company.target + self.time.target
