import pytest
import torch

from regard import Padding
from regard.errors import ArgumentError, ArgumentTypeError
from regard.layers import TfIdf, TokenWeights

TEXTS = [["david", "beckham", "scored"], ["david", "scored", "and", "scored"], ["rain"]]


def test_tf_idf_is_static_attention() -> None:
    model = TfIdf.fit(TEXTS)
    layer = TokenWeights.tf_idf(model)
    text = ["beckham", "scored", "scored", "unheard"]
    context, weights, _ = layer(model.number(text)[None], torch.eye(4)[None], return_weights=True)
    idf = model.terms(["beckham", "scored"])
    total = idf["beckham"] + 2 * idf["scored"]
    expected = [idf["beckham"] / total, idf["scored"] / total, idf["scored"] / total, 0.0]
    assert weights[0].tolist() == pytest.approx(expected)
    assert context[0].tolist() == pytest.approx(expected)
    terms = model.terms(text)  # count · idf: the places of a term share its weight
    assert float(weights[0, 1:3].sum() / weights[0, 0]) == pytest.approx(terms["scored"] / terms["beckham"])


def test_a_text_of_words_that_say_nothing_gives_zero() -> None:
    layer = TokenWeights.tf_idf([[0, 1], [0, 2]])
    context, weights, _ = layer(torch.tensor([[0, 0], [0, 1]]), torch.ones(2, 2, 3), return_weights=True)
    assert weights.tolist() == [[0, 0], [0, 1]]
    assert context.tolist() == [[0] * 3, [1] * 3]


def test_the_vocabulary_may_be_larger_than_what_was_seen() -> None:
    layer = TokenWeights.tf_idf([[0, 1], [0, 2]], variant="scikit-learn", vocabulary_size=6)
    assert layer.scores.shape == (6,)
    assert layer(torch.tensor([[5, 1]]), torch.eye(2)[None]).tolist() == [[0, 1]]


def test_tf_idf_is_saved_but_not_learned() -> None:
    layer = TokenWeights.tf_idf(TEXTS)
    assert not list(layer.parameters())
    assert list(layer.state_dict()) == ["scores"]
    assert repr(layer).startswith("TokenWeights(\n  vocabulary_size=5, learned=False")


def test_learns_which_token_matters() -> None:
    torch.manual_seed(0)
    layer, vectors = TokenWeights(6), torch.randn(6, 3)
    head = torch.nn.Linear(3, 1)
    optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.1)
    tokens = torch.randint(0, 5, (64, 7))
    tokens[::2, 3] = 5  # the sign to look for
    target = (torch.arange(64) % 2 == 0).float()
    for _ in range(60):
        found = head(layer(tokens, vectors[tokens])).squeeze(-1)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(found, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert layer.scores.argmax().item() == 5
    assert layer(tokens[:1], vectors[tokens[:1]], return_weights=True).weights[0].argmax().item() == 3


def test_padding_and_negative_tokens_count_for_nothing() -> None:
    layer, value = TokenWeights(4), torch.randn(2, 3, 2)
    masked = layer(torch.tensor([[1, 2, 3], [1, 2, 3]]), value, mask=Padding(torch.tensor([3, 2])))
    negative = layer(torch.tensor([[1, 2, 3], [1, 2, -1]]), value)
    torch.testing.assert_close(masked, negative)


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match="`vocabulary_size` must be at least 1; received 0"):
        TokenWeights(0)


@pytest.mark.usefixtures("unchecked")
def test_tokens_and_vectors_go_together() -> None:
    with pytest.raises(ArgumentTypeError, match=r"`tokens` must be a tensor of integers; received torch.float32"):
        TokenWeights(4)(torch.zeros(2, 3), torch.zeros(2, 3, 1))
    message = r"a vector for each of the \(2, 3\) tokens, \(batch, length, size\); received shape \(2, 4, 1\)"
    with pytest.raises(ArgumentError, match=message):
        TokenWeights(4)(torch.zeros(2, 3, dtype=torch.long), torch.zeros(2, 4, 1))
