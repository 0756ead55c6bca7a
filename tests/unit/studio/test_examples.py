"""Sentences to begin with."""

from regard.data.builtin import corpus
from regard.studio.examples import EXAMPLES, examples_for
from regard.tasks.translation.model import Translator


def test_the_lectures_sentences_are_those_of_the_corpora():
    for name, examples in EXAMPLES.items():
        lectures = {(pair.source, pair.target) for pair in corpus(name, split="lectures")}
        told = {(one.text, one.reference) for one in examples if one.about == "from the lectures"}
        assert told
        assert told <= lectures


def test_they_are_offered_to_models_that_know_their_words(models):
    with models.borrow("recurrent", Translator) as spanish:
        assert examples_for(spanish) == EXAMPLES["builtin:es-en"]
    with models.borrow("transformer", Translator) as bytes_alone:
        assert examples_for(bytes_alone) == ()
