"""The Spanish-English grammar as the sampler sees it."""

from regard.data.builtin import english
from regard.data.builtin.draw import Draw
from regard.data.builtin.english import FIRST, SECOND
from regard.data.builtin.es_en import spelling
from regard.data.builtin.es_en.actions import named
from regard.data.builtin.es_en.clause import Clause, piece
from regard.data.builtin.es_en.clitic import to_speaker
from regard.data.builtin.es_en.group import copula, with_modal
from regard.data.builtin.es_en.nominal import pronoun
from regard.data.builtin.es_en.noun_phrase import noun_phrase
from regard.data.builtin.es_en.nouns import NOUNS
from regard.data.builtin.es_en.question import mark
from regard.data.builtin.es_en.scene import Scene
from regard.data.builtin.es_en.sentence import derive
from regard.data.builtin.sampling import Grammar
from regard.data.builtin.synchrony import Phrase, both


def _finish(told: Phrase) -> Phrase:
    return Phrase(spelling.smooth(told.source), english.smooth(told.target))


def _derive(draw: Draw, wanted: int) -> Phrase | None:
    phrase = derive(draw, wanted)
    return None if phrase is None else _finish(phrase)


def lectures() -> tuple[Phrase, ...]:
    """Derive the two sentences of the lectures, by the rules that derive all others."""
    scene = Scene(Draw("lectures"), tense="present", rich=0.0)
    origin = both("de", "from").then(both("Canadá", "Canada"))
    from_canada = Clause(subject=pronoun(FIRST, "m"), group=copula("ser", FIRST), pieces=(piece(origin),))
    fork = noun_phrase(scene, NOUNS["tenedor"], "a", plain=True)
    bring = with_modal("can", named("traer")[0].verb, SECOND)
    request = Clause(subject=pronoun(SECOND, "m").drop(), group=bring, pieces=to_speaker(pronoun(FIRST, "m"), fork))
    return _finish(from_canada.statement()), _finish(mark(request.question()))


GRAMMAR = Grammar(name="builtin:es-en", derive=_derive, lectures=lectures())
