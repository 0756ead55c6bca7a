"""Confidence and significance: the numbers of sacrebleu's own tests, which are slower and less free."""

import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from regard.errors import ArgumentError
from regard.evaluation.bootstrap import interval, paired_difference, resample
from regard.evaluation.measure import measure

WORDS = ["the", "a", "cat", "dog", "house", "sees", "likes", "runs", "and", "never", "often", "red", "small"]


def garble(texts, share, seed):
    """Replace some of the words."""
    chance = random.Random(seed)
    return [" ".join(w if chance.random() > share else chance.choice(WORDS) for w in t.split()) for t in texts]


CHANCE = random.Random(0)
REFERENCES = [" ".join(CHANCE.choices(WORDS, k=CHANCE.randint(4, 12))) for _ in range(80)]
BASELINE, NEAR, FAR = (garble(REFERENCES, share, seed) for share, seed in ((0.3, 1), (0.28, 2), (0.1, 3)))


@pytest.mark.parametrize("system", [NEAR, FAR], ids=["near", "far"])
def test_the_paired_test_is_that_of_sacrebleu(system, monkeypatch):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    metrics = {"BLEU": BLEU(), "chrF": CHRF()}
    _, theirs = PairedTest([("a", BASELINE), ("b", system)], metrics, [REFERENCES], test_type="bs", n_samples=300)()
    ours, baseline = measure(system, REFERENCES), measure(BASELINE, REFERENCES)
    for name, their_name in (("BLEU", "BLEU"), ("chrF", "chrF2")):
        found = paired_difference(ours[name], baseline[name], samples=300)
        first, second = theirs[their_name]
        assert found.p_value == second.p_value
        assert found.value == pytest.approx(second.score - first.score)
        assert found.low < found.value < found.high
        mine = interval(ours[name], samples=300)
        assert mine.value == pytest.approx(second.score)
        assert (mine.high - mine.low) / 2 == pytest.approx(second.ci, rel=1e-4)


def test_a_real_difference_is_significant_and_a_small_one_is_not():
    measures = [measure(side, REFERENCES, names=["BLEU"])["BLEU"] for side in (BASELINE, NEAR, FAR)]
    assert paired_difference(measures[2], measures[0], samples=200).p_value < 0.01
    assert paired_difference(measures[1], measures[0], samples=200).p_value > 0.05


def test_a_system_does_not_differ_from_itself():
    one = measure(NEAR, REFERENCES, names=["chrF"])["chrF"]
    assert paired_difference(one, one, samples=50) == (0.0, 0.0, 0.0, 1.0)


def test_resamples_are_of_whole_sentences_and_the_same_for_one_seed():
    counts = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    drawn = resample(counts, samples=200, seed=3)
    assert (drawn.sum(-1) == 3).all()
    assert drawn[:, 0].mean() == pytest.approx(1, abs=0.2)
    assert (resample(counts, samples=200, seed=3) == drawn).all()
    assert (resample(counts, samples=200, seed=4) != drawn).any()


def test_mistakes():
    with pytest.raises(ArgumentError, match="`samples` must be at least 40, for the ends of 95 %; received 39"):
        resample(np.ones((2, 2)), samples=39)
    few, many = measure(["a"], ["a"]), measure(["a", "b"], ["a", "b"])
    with pytest.raises(ArgumentError, match="`system` must be measured on the 2 sentences of the baseline; received 1"):
        paired_difference(few["BLEU"], many["BLEU"])
