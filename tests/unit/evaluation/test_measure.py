"""BLEU, chrF and TER as counts: sacrebleu's numbers, for any subset."""

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from regard.errors import ArgumentError
from regard.evaluation.measure import measure
from regard.evaluation.scoring import Scoring

HYPOTHESES = ["The cat sat on a mat .", "It is raining today.", "a dog", "", "Nothing alike here"]
REFERENCES = ["The cat sat on the mat .", "It rains today.", "A dog", "Silence.", "Quite different words, these"]


@pytest.mark.parametrize("chosen", [[0, 1, 2, 3, 4], [1, 2], [3], [4]])
def test_any_subset_scores_as_sacrebleu_scores_it(chosen):
    found = measure(HYPOTHESES, REFERENCES)
    some, references = [HYPOTHESES[n] for n in chosen], [[REFERENCES[n] for n in chosen]]
    theirs = {"BLEU": BLEU(), "chrF": CHRF(), "TER": TER(case_sensitive=True)}
    for name, one in found.items():
        assert one.score(np.array(chosen)) == pytest.approx(theirs[name].corpus_score(some, references).score)
        assert one.chosen(np.array(chosen)).score() == one.score(np.array(chosen))
        assert one.signature == str(theirs[name].get_signature())


def test_tokens_without_case_say_so_in_the_signature():
    found = measure(["THE CAT , sat"], ["the cat , sat"], scoring=Scoring(tokenize="words", lowercase=True))
    assert [one.score() for one in found.values()] == pytest.approx([100, 100, 0])
    assert "case:lc" in found["BLEU"].signature
    assert "tok:regard-words" in found["BLEU"].signature
    assert "tok:regard-words" in found["TER"].signature
    # The tokens are taken as they are: sacrebleu's own tokenizer would part them.
    assert measure(["a-b."], ["a-b ."], scoring=Scoring(tokenize="none"))["BLEU"].score() == 0.0


def test_case_counts_in_plain_text():
    assert measure(["THE CAT"], ["the cat"])["TER"].score() == 100.0


def test_every_hypothesis_needs_a_reference():
    with pytest.raises(ArgumentError, match="received 1 for 2"):
        measure(["a"], ["a", "b"])
