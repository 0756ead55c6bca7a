import pytest
import sacrebleu

from regard.errors import ArgumentError
from regard.evaluation.bleu import score


def test_scores_are_those_of_sacrebleu():
    hypotheses = ["the cat sat on a mat", "it is raining today", "a dog"]
    references = ["the cat sat on the mat", "it rains today", "a dog"]
    figures = score(hypotheses, references)
    assert figures.bleu == pytest.approx(sacrebleu.corpus_bleu(hypotheses, [references]).score)
    assert figures.chrf == pytest.approx(sacrebleu.corpus_chrf(hypotheses, [references]).score)
    assert figures.chrf_signature.startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0")
    assert score(["A DOG"], ["a dog"], lowercase=True).chrf == pytest.approx(100)


@pytest.mark.parametrize(("hypotheses", "references"), [(["a"], []), ([], []), (["a", "b"], ["a"])])
def test_every_hypothesis_needs_a_reference(hypotheses, references):
    with pytest.raises(ArgumentError, match=f"received {len(hypotheses)} for {len(references)}"):
        score(hypotheses, references)
