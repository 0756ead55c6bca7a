import pytest
import sacrebleu

from regard.errors import ArgumentError
from regard.evaluation.bleu import bleu_signature, score
from regard.evaluation.scoring import Scoring, is_tokenized, suited_scoring


def test_scores_are_those_of_sacrebleu():
    hypotheses = ["the cat sat on a mat", "it is raining today", "a dog"]
    references = ["the cat sat on the mat", "it rains today", "a dog"]
    figures = score(hypotheses, references)
    assert figures.bleu == pytest.approx(sacrebleu.corpus_bleu(hypotheses, [references]).score)
    assert figures.chrf == pytest.approx(sacrebleu.corpus_chrf(hypotheses, [references]).score)
    assert figures.chrf_signature.startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0")
    assert score(["A DOG"], ["a dog"], Scoring(lowercase=True)).chrf == pytest.approx(100)


def test_tokenized_text_is_scored_as_it_is_without_a_warning(caplog):
    hypotheses, references = ["a b-c d e ."] * 120, ["a b - c d e ."] * 120
    figures = score(hypotheses, references, Scoring(tokenize="none"))
    theirs = sacrebleu.corpus_bleu(hypotheses, [references], tokenize="none", force=True)
    assert figures.bleu == pytest.approx(theirs.score)
    assert figures.bleu != pytest.approx(score(hypotheses, references, Scoring(tokenize="intl")).bleu)
    assert caplog.records == []
    assert bleu_signature(Scoring(tokenize="none", lowercase=True)).startswith("nrefs:1|case:lc|eff:no|tok:none|")


def test_what_suits_follows_from_references_and_model():
    plain, tokenized = ["One.", "Two .", "Three!"], ["One .", "Two .", "Three !"]
    assert (is_tokenized(plain), is_tokenized(tokenized), is_tokenized([])) == (False, True, False)
    assert suited_scoring(plain) == Scoring()
    assert suited_scoring(tokenized, lower=True) == Scoring(tokenize="none", lowercase=True)
    assert suited_scoring(tokenized, tokenize="13a", case="mixed", lower=True) == Scoring()
    assert suited_scoring(plain, tokenize="none", case="lower") == Scoring(tokenize="none", lowercase=True)


@pytest.mark.parametrize(("hypotheses", "references"), [(["a"], []), ([], []), (["a", "b"], ["a"])])
def test_every_hypothesis_needs_a_reference(hypotheses, references):
    with pytest.raises(ArgumentError, match=f"received {len(hypotheses)} for {len(references)}"):
        score(hypotheses, references)
