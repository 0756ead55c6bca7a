"""Bins of source length, and the scores of each."""

import pytest

from regard.errors import ArgumentError
from regard.evaluation.by_length import Bin, by_length, make_bins
from regard.evaluation.measure import measure


def test_bins_cover_every_length_once():
    bins = make_bins([1, 5, 10])
    assert [str(one) for one in bins] == ["0", "1–4", "5–9", "10+"]
    for length in range(30):
        inside = [one for one in bins if one.low <= length <= (one.high if one.high is not None else length)]
        assert len(inside) == 1
    assert make_bins()[-1] == Bin(50, None)


@pytest.mark.parametrize(("edges", "said"), [([], "nothing"), ([0, 5], "0,5"), ([5, 5], "5,5"), ([9, 5], "9,5")])
def test_bins_must_rise(edges, said):
    with pytest.raises(ArgumentError, match=f"`bins` must be lengths at which a bin begins.*received {said}"):
        make_bins(edges)


def test_each_bin_is_scored_alone():
    hypotheses = ["a b c d e", "x x x x x", "a b c d e"] + ["p q r s t u"] * 10
    references = ["a b c d e", "a b c d e", "a b c d x"] + ["p q r s t u"] * 10
    lengths = [3, 25, 3] + [12] * 10
    found = by_length(measure(hypotheses, references, names=["BLEU", "chrF"]), lengths, samples=40)
    assert [(str(one.bin), one.sentences, one.few) for one in found] == [
        ("0–9", 2, True),
        ("10–19", 10, False),
        ("20–29", 1, True),  # 30 and above have no sentences, and are left out
    ]
    assert found[0].mean_length == 3
    alone = measure([hypotheses[0], hypotheses[2]], [references[0], references[2]], names=["BLEU"])["BLEU"]
    assert found[0].scores["BLEU"].value == pytest.approx(alone.score())
    assert found[0].scores["BLEU"].low < found[0].scores["BLEU"].value < found[0].scores["BLEU"].high
    assert found[1].scores["BLEU"] == pytest.approx((100, 100, 100))
    assert found[2].scores["BLEU"].value == 0
