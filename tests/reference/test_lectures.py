"""What lectures write and what is right."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch.utils.flop_counter import FlopCounterMode

from regard import Additive, Causal, Cosine, Dot, Gaussian, ScaledDot, attention
from regard.attention.score import Score
from regard.layers import MultiHeadAttention, SelfAttention


def masked_afterwards(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attention as one lecture writes it: the mask comes after the softmax."""
    weights = torch.softmax(query @ key.mT / query.size(-1) ** 0.5, dim=-1)
    return weights.tril() @ value


@pytest.mark.parametrize("renormalized", [False, True])
def test_masking_after_the_softmax_leaks_the_future_and_ours_does_not(renormalized: bool) -> None:
    query, key, value = torch.randn(3, 5, 4).unbind()
    changed = key.clone()
    changed[-1] *= -3.0  # the last key, which only the last query may see
    past = slice(0, 4)
    assert not torch.allclose(
        masked_afterwards(query, key, value)[past], masked_afterwards(query, changed, value)[past], atol=1e-3
    )
    ours = attention(query, key, value, mask=Causal())
    assert torch.equal(ours[past], attention(query, changed, value, mask=Causal())[past])
    assert not torch.allclose(ours[past], masked_afterwards(query, key, value)[past], atol=1e-3)
    weights = attention(query, key, value, mask=Causal(), return_weights=True).weights
    if renormalized:  # dividing by what is left mends it, by undoing the softmax's own sum
        after = torch.softmax(query @ key.mT / 2, dim=-1).tril()
        torch.testing.assert_close(after / after.sum(-1, keepdim=True), weights)
    torch.testing.assert_close(weights.sum(-1), torch.ones(5))


def test_without_the_tanh_additive_weights_do_not_depend_on_the_query() -> None:
    query, key, vector = torch.randn(2, 6, 4), torch.randn(2, 5, 4), torch.randn(4)

    def weights(activation: str) -> Tensor:
        score = Additive(vector, activation=activation)  # type: ignore[arg-type]
        return attention(query, key, score=score, return_weights=True).weights

    linear, bent = weights("identity"), weights("tanh")
    torch.testing.assert_close(linear, linear[:, :1].expand_as(linear))
    assert ((bent - bent[:, :1]).abs().amax(-1)[:, 1:] > 1e-3).all()


def test_dividing_by_the_width_flattens_the_weights() -> None:
    size = 1024
    query, key = torch.randn(200, size), torch.randn(16, size)

    def largest(scale: float) -> float:
        return float(attention(query, key, score=ScaledDot(scale), return_weights=True).weights.amax(-1).mean())

    by_nothing, by_root, by_width = largest(1.0), largest(size**-0.5), largest(1 / size)
    assert by_nothing > 0.9
    assert 0.15 < by_root < 0.5
    assert by_width < 1.2 / 16  # nearly equal


def test_learned_scores_are_not_symmetric_and_those_without_parameters_are() -> None:
    states, layer = torch.randn(1, 5, 8), SelfAttention(8)
    learned = Dot().dense(layer.query(states), layer.key(states))
    plain = Dot().dense(states, states)
    assert (learned - learned.mT).abs().max() > 0.1
    torch.testing.assert_close(plain, plain.mT)
    weights = SelfAttention()(states, return_weights=True).weights
    assert (weights - weights.mT).abs().max() > 0.05  # each row is divided by its own sum


def test_dot_cosine_and_gaussian_agree_on_unit_vectors_alone() -> None:
    query, key = normalize(torch.randn(3, 8), dim=-1), normalize(torch.randn(6, 8), dim=-1)
    lengths = torch.linspace(0.5, 3.0, 6)[:, None]

    def weights(score: Score, key: Tensor) -> Tensor:
        return attention(query, key, score=score, return_weights=True).weights

    for other in (Cosine(temperature=1.0), Gaussian(bandwidth=1.0)):
        torch.testing.assert_close(weights(other, key), weights(Dot(), key))
        assert (weights(other, lengths * key) - weights(Dot(), lengths * key)).abs().max() > 0.02
    torch.testing.assert_close(weights(Cosine(temperature=1.0), lengths * key), weights(Dot(), key))


@pytest.mark.parametrize("layer", [SelfAttention(), SelfAttention(8), MultiHeadAttention(8, num_heads=2)])
def test_self_attention_without_positions_only_follows_a_permutation(layer: torch.nn.Module) -> None:
    states, order = torch.randn(1, 6, 8), torch.tensor([3, 0, 5, 1, 4, 2])
    torch.testing.assert_close(layer(states[:, order]), layer(states)[:, order])
    causal = layer(states[:, order], mask=Causal())
    assert (causal - layer(states, mask=Causal())[:, order]).abs().max() > 1e-2  # whoever counts has a position


def test_heads_cost_no_parameters_and_no_multiply_adds() -> None:
    states = torch.randn(1, 10, 32)
    parameters, products, held = set(), set(), []
    for heads in (1, 2, 8):
        layer = MultiHeadAttention(32, num_heads=heads)
        with FlopCounterMode(display=False) as counter:
            held.append(layer(states, return_weights=True).weights.numel())
        parameters.add(sum(parameter.numel() for parameter in layer.parameters()))
        products.add(counter.get_total_flops())
    assert len(parameters) == len(products) == 1
    assert products.pop() > 0
    assert held == [100, 200, 800]
