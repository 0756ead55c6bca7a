"""The Hindi-English grammar as the sampler sees it."""

from regard.data.builtin import english
from regard.data.builtin.draw import Draw
from regard.data.builtin.english import FIRST_PLURAL
from regard.data.builtin.hi_en.clause import Clause
from regard.data.builtin.hi_en.deeds import goal
from regard.data.builtin.hi_en.lexicon import GO
from regard.data.builtin.hi_en.nominal import pronoun
from regard.data.builtin.hi_en.sentence import derive
from regard.data.builtin.sampling import Grammar
from regard.data.builtin.synchrony import Phrase


def _derive(draw: Draw, wanted: int) -> Phrase | None:
    phrase = derive(draw, wanted)
    return None if phrase is None else Phrase(phrase.source, english.smooth(phrase.target))


def lectures() -> tuple[Phrase, ...]:
    """Derive the sentence of the lectures, by the rules that derive all others."""
    clause = Clause(subject=pronoun(FIRST_PLURAL, "m"), verb=GO, tense="before", place=goal("baajaar"))
    return (clause.statement(),)


GRAMMAR = Grammar(name="builtin:hi-en", derive=_derive, lectures=lectures())
