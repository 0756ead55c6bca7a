"""What the rest of a sentence knows of a noun phrase: its words, what agrees with it, and how it is referred to."""

from dataclasses import dataclass, replace

from regard.data.builtin.english import FIRST, FIRST_PLURAL, SECOND, THIRD, THIRD_PLURAL, Gender, Slot
from regard.data.builtin.es_en.nouns import Kind, Noun, SpanishGender
from regard.data.builtin.synchrony import NOTHING, Phrase, Unit

_SUBJECTS = {
    (FIRST, "m"): ("yo", "I"),
    (FIRST, "f"): ("yo", "I"),
    (SECOND, "m"): ("tú", "you"),
    (SECOND, "f"): ("tú", "you"),
    (THIRD, "m"): ("él", "he"),
    (THIRD, "f"): ("ella", "she"),
    (FIRST_PLURAL, "m"): ("nosotros", "we"),
    (FIRST_PLURAL, "f"): ("nosotras", "we"),
    (THIRD_PLURAL, "m"): ("ellos", "they"),
    (THIRD_PLURAL, "f"): ("ellas", "they"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Nominal:
    """A noun phrase, a pronoun, or a subject that is dropped and has no words."""

    phrase: Phrase
    head: Unit
    slot: Slot
    gender: SpanishGender
    kind: Kind
    noun: Noun | None = None
    named: bool = False

    @property
    def english_gender(self) -> Gender:
        """Whether English says he, she or it."""
        return self.gender if self.kind == "person" else "n"

    @property
    def plural(self) -> bool:
        """Whether it is more than one."""
        return self.slot >= FIRST_PLURAL

    @property
    def dropped(self) -> bool:
        """Whether it has no words, so that in Spanish only the verb tells it."""
        return not self.phrase.target

    def drop(self) -> "Nominal":
        """Leave it out, because it has been mentioned or the verb tells it; what refers to it is a unit of its own."""
        return replace(self, phrase=NOTHING, head=Unit())

    def extend(self, phrase: Phrase) -> "Nominal":
        """Say `phrase` right after it: a relative clause, or a place it belongs to."""
        return replace(self, phrase=self.phrase.then(phrase))

    def pronounce(self) -> "Nominal":
        """Say it as a subject pronoun."""
        spanish, english = _SUBJECTS[self.slot, self.gender]
        return replace(self, phrase=Phrase(self.head(spanish), self.head(english)))


def pronoun(slot: Slot, gender: SpanishGender) -> Nominal:
    """Build yo, tú, él, ella, nosotros, nosotras, ellos or ellas."""
    return Nominal(phrase=NOTHING, head=Unit(), slot=slot, gender=gender, kind="person").pronounce()


def proper(spanish: str, english: str, gender: SpanishGender) -> Nominal:
    """Build the name of a person."""
    head = Unit()
    phrase = Phrase(head(spanish), head(english))
    return Nominal(phrase=phrase, head=head, slot=THIRD, gender=gender, kind="person", named=True)


def of_noun(noun: Noun, head: Unit, phrase: Phrase, *, plural: bool) -> Nominal:
    """Build the nominal of a noun phrase in the third person."""
    slot = THIRD_PLURAL if plural else THIRD
    return Nominal(phrase=phrase, head=head, slot=slot, gender=noun.gender, kind=noun.kind, noun=noun)


def say(head: Unit, noun: Noun, *, plural: bool) -> Phrase:
    """Say the noun itself."""
    if plural:
        return Phrase(head(noun.plural), head(noun.english_plural))
    return Phrase(head(noun.singular), head(noun.english_singular))
