import math

import pytest
import torch

from regard.errors import ArgumentError
from regard.layers import TfIdf

TEXTS = [
    ["david", "beckham", "played", "football"],
    ["david", "played", "the", "piano", "the", "whole", "day"],
    ["the", "match", "was", "played", "in", "the", "rain"],
]


def test_the_lecture_counts_and_divides() -> None:
    model = TfIdf.fit(TEXTS)
    terms = model.terms(TEXTS[1])
    assert terms["david"] == pytest.approx(math.log(3 / 2))
    assert terms["the"] == pytest.approx(2 * math.log(3 / 2))
    assert terms["piano"] == pytest.approx(math.log(3))
    assert terms["played"] == 0  # in every document


def test_equals_scikit_learn() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer=lambda text: text)
    table = vectorizer.fit_transform(TEXTS).toarray()
    model = TfIdf.fit(TEXTS, variant="scikit-learn")
    names = vectorizer.get_feature_names_out()
    for row, text in enumerate(TEXTS):
        terms = model.terms(text)
        assert [terms.get(name, 0.0) for name in names] == pytest.approx(table[row].tolist(), abs=1e-6)
    unseen = ["david", "unheard", "of"]
    expected = vectorizer.transform([unseen]).toarray()[0]
    assert [model.terms(unseen).get(name, 0.0) for name in names] == pytest.approx(expected.tolist(), abs=1e-6)


def test_unseen_words_weigh_nothing() -> None:
    model = TfIdf.fit(TEXTS)
    assert model.weigh(["unheard", "of"]).tolist() == [0, 0]
    assert model.number(["unheard", "david"]).tolist() == [-1, 0]
    assert TfIdf.fit(TEXTS, variant="scikit-learn").terms(["unheard"]) == {"unheard": 0}


def test_each_place_has_the_weight_of_its_term() -> None:
    model = TfIdf.fit(TEXTS)
    terms = model.terms(TEXTS[1])
    assert model.weigh(TEXTS[1]).tolist() == pytest.approx([terms[word] for word in TEXTS[1]])


def test_takes_token_numbers() -> None:
    model = TfIdf.fit(([0, 3], [3, 3, 5]), vocabulary_size=8)
    assert model.idf.tolist() == pytest.approx([math.log(2), 0, 0, 0, 0, math.log(2), 0, 0])
    assert model.weigh([5, 5, 7]).tolist() == pytest.approx([2 * math.log(2), 2 * math.log(2), 0])
    assert len(TfIdf.fit([[0, 3]]).idf) == 4
    assert torch.equal(model.number([5, 9]), torch.tensor([5, -1]))


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match="`documents` must hold at least one document; received none"):
        TfIdf.fit([])
    with pytest.raises(ArgumentError, match="token numbers must be from 0 to 3; received 4"):
        TfIdf.fit([[0, 4]], vocabulary_size=4)
    with pytest.raises(ArgumentError, match="token numbers must be from 0 to 4; received -1"):
        TfIdf.fit([[-1, 4]])


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_variant_names_the_nearest() -> None:
    with pytest.raises(ArgumentError, match=r'received "sklearn". Did you mean scikit-learn\?'):
        TfIdf.fit(TEXTS, variant="sklearn")  # type: ignore[arg-type]
