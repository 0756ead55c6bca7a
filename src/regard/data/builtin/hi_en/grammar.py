"""The Hindi-English grammar as the sampler sees it."""

from regard.data.builtin import english
from regard.data.builtin.draw import Draw
from regard.data.builtin.english import FIRST_PLURAL
from regard.data.builtin.hi_en.clause import Clause
from regard.data.builtin.hi_en.deeds import goal
from regard.data.builtin.hi_en.lexicon import CITIES, GO, NAMES
from regard.data.builtin.hi_en.nominal import pronoun
from regard.data.builtin.hi_en.sentence import derive
from regard.data.builtin.sampling import Grammar
from regard.data.builtin.synchrony import Phrase
from regard.data.pair import detokenize, words

_PROPER = {name[0].lower(): name[0] for name in (*NAMES, *CITIES)}


def _derive(draw: Draw, wanted: int) -> Phrase | None:
    told = derive(draw, wanted)
    return None if told is None else Phrase(told.source, english.smooth(told.target))


def lectures() -> tuple[Phrase, ...]:
    """Derive the sentence of the lectures, by the rules that derive all others."""
    clause = Clause(subject=pronoun(FIRST_PLURAL, "m"), verb=GO, tense="before", place=goal("baajaar"))
    return (clause.statement(),)


def restore(sentence: str) -> str:
    """Give a typed sentence its capitals.

    >>> restore("kal siitaa baajaar gayii")
    'Kal Siitaa baajaar gayii'
    """
    spelled = [_PROPER.get(word.lower(), word.lower()) for word in words(sentence)]
    return detokenize([word.capitalize() if position == 0 else word for position, word in enumerate(spelled)])


GRAMMAR = Grammar(name="builtin:hi-en", derive=_derive, lectures=lectures(), restore=restore)
