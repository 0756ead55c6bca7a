import math

import pytest
import torch

from regard import Causal, Padding
from regard.errors import ArgumentError
from regard.layers import AdditiveAttention


def test_equals_the_paper_written_as_a_loop() -> None:
    layer = AdditiveAttention(3, 4, 5).double()
    state, source, lengths = torch.randn(2, 3, 3).double(), torch.randn(2, 6, 4).double(), [6, 4]
    context, weights, _ = layer(state, layer.remember(source, mask=Padding(torch.tensor(lengths))), return_weights=True)
    w, u, v = (tensor.detach().tolist() for tensor in (layer.query.weight, layer.key.weight, layer.vector))
    for b, length in enumerate(lengths):
        for i in range(3):
            s = state[b, i].tolist()
            scores = []
            for j in range(length):
                h = source[b, j].tolist()
                hidden = [
                    math.tanh(sum(w[n][m] * s[m] for m in range(3)) + sum(u[n][m] * h[m] for m in range(4)))
                    for n in range(5)
                ]
                scores.append(sum(v[n] * hidden[n] for n in range(5)))
            total = sum(math.exp(score) for score in scores)
            alpha = [math.exp(score) / total for score in scores] + [0.0] * (6 - length)
            assert weights[b, i].tolist() == pytest.approx(alpha, abs=1e-12)
            expected = [sum(alpha[j] * source[b, j, m].item() for j in range(6)) for m in range(4)]
            assert context[b, i].tolist() == pytest.approx(expected, abs=1e-12)


def test_as_printed_all_weights_start_equal() -> None:
    layer = AdditiveAttention(30, 40, 50)
    layer.reset_as_printed()
    assert layer.query.weight.std().item() == pytest.approx(0.001, rel=0.1)
    weights = layer(torch.randn(1, 2, 30), layer.remember(torch.randn(1, 5, 40)), return_weights=True).weights
    torch.testing.assert_close(weights, torch.full((1, 2, 5), 0.2))


def test_without_the_tanh_every_query_has_the_same_weights_and_its_map_no_gradient() -> None:
    layer = AdditiveAttention(3, 4, 5, activation="identity").double()
    source, mask = torch.randn(2, 6, 4).double(), Padding(torch.tensor([6, 4]))
    context, weights, _ = layer(torch.randn(2, 3, 3).double(), layer.remember(source, mask=mask), return_weights=True)
    torch.testing.assert_close(weights, weights[:, :1].expand_as(weights))
    scores = (source @ layer.key.weight.mT @ layer.vector).masked_fill(
        ~torch.tensor([[1] * 6, [1, 1, 1, 1, 0, 0]]).bool(), -math.inf
    )
    torch.testing.assert_close(weights[:, 0], scores.softmax(-1))
    context.square().sum().backward()
    assert layer.query.weight.grad is not None
    assert not layer.query.weight.grad.any()
    assert layer.key.weight.grad.any()
    assert "activation='identity'" in repr(layer)
    assert "activation" not in repr(AdditiveAttention(3, 4, 5))


@pytest.mark.usefixtures("unchecked")
def test_an_unknown_activation_is_named() -> None:
    message = '`activation` must be one of tanh, identity; received "tan". Did you mean tanh?'
    with pytest.raises(ArgumentError, match=message.replace("?", r"\?")):
        AdditiveAttention(3, 4, 5, activation="tan")  # type: ignore[arg-type]


def test_values_may_be_others_than_the_keys() -> None:
    layer = AdditiveAttention(3, 4, 5)
    assert layer(torch.randn(2, 3, 3), layer.remember(torch.randn(2, 6, 4), torch.randn(2, 6, 7))).shape == (2, 3, 7)


def test_a_mask_of_the_call_joins_that_of_the_memory() -> None:
    layer = AdditiveAttention(4, 4, 5)
    x = torch.randn(2, 3, 4)
    memory = layer.remember(x, mask=Padding(torch.tensor([3, 2])))
    weights = layer(x, memory, mask=Causal(), return_weights=True).weights
    assert (weights[1] > 0).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0]]


def test_names_its_parameters() -> None:
    assert list(AdditiveAttention(3, 4, 5).state_dict()) == ["vector", "query.weight", "key.weight"]


def test_bad_sizes() -> None:
    with pytest.raises(ArgumentError, match="`hidden_size` must be at least 1; received 0"):
        AdditiveAttention(3, 4, 0)
    layer = AdditiveAttention(3, 4, 5)
    with pytest.raises(ArgumentError, match=r"`key` must have shape \(batch, length, 4\); received \(2, 6, 3\)"):
        layer.remember(torch.zeros(2, 6, 3))
    with pytest.raises(ArgumentError, match=r"`query` must have shape \(batch, length, 3\); received \(2, 6, 4\)"):
        layer(torch.zeros(2, 6, 4), layer.remember(torch.zeros(2, 6, 4)))


@pytest.mark.usefixtures("unchecked")
def test_one_state_is_a_sequence_of_one() -> None:
    layer = AdditiveAttention(3, 4, 5)
    message = r"received \(2, 3\). One vector per batch element is a sequence of one: query\[:, None\]\."
    with pytest.raises(ArgumentError, match=message):
        layer(torch.zeros(2, 3), layer.remember(torch.zeros(2, 6, 4)))
