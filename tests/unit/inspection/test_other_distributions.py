"""Other weights, the same answer: found where they exist, and not where they do not."""

import math

import pytest
import torch
from torch import Tensor, nn

from regard import Causal
from regard.errors import ArgumentError
from regard.inspection import another_distribution, intervene, record
from regard.inspection.readings.other_distributions import shuffled_distributions, uniform_distribution
from regard.layers import SelfAttention


class Reader(nn.Module):
    """Looks at rows of `memory` and says what it found."""

    def __init__(self, memory: Tensor) -> None:
        super().__init__()
        self.memory, self.look = memory, SelfAttention()

    def forward(self) -> Tensor:
        found: Tensor = self.look(self.memory[None], mask=Causal())[0]
        return found[-1:]


TWINS = torch.tensor([[4.0, 0.0], [4.0, 0.0], [0.0, 1.0], [4.1, 0.0]])
"""Rows 0, 1 and 3 say the same, so that weights may move between them."""
DIFFERENT = 3 * torch.eye(3)


def test_finds_weights_that_change_nothing() -> None:
    model = Reader(TWINS)
    other = another_distribution(model, model, layer="look", tolerance=0.01, steps=80)
    assert other.within_tolerance
    assert other.change <= 0.01
    assert other.divergence > 0.15  # the most there is: 0.236, since the first query has one key alone
    with torch.no_grad():
        before = model().softmax(-1)
        with intervene(model, weights={"look": other.forced}):
            after = model().softmax(-1)
    assert float((before - after).abs().sum() / 2) == pytest.approx(other.change, abs=1e-6)
    torch.testing.assert_close(other.forced.sum(-1), torch.ones(1, 1, 4))
    assert (other.forced[0, 0].triu(1) == 0).all()  # masked stays masked
    assert other.weights.caveat.startswith("That other weights give the same answer")


def test_finds_none_where_every_weight_matters() -> None:
    model = Reader(DIFFERENT)
    other = another_distribution(model, model, layer="look", tolerance=1e-4, steps=60)
    last = other.forced[0, 0, -1]
    own = torch.softmax(torch.tensor([0.0, 0.0, 9.0]), 0)
    assert not other.within_tolerance or float((last - own).abs().max()) < 0.05


def test_the_same_seed_gives_the_same() -> None:
    model = Reader(TWINS)
    runs = [another_distribution(model, model, layer="look", steps=5, seed=3).forced for _ in range(2)]
    assert torch.equal(*runs)
    assert model.memory.grad is None


def test_uniform_and_shuffled_weights() -> None:
    model = Reader(TWINS)
    flat = uniform_distribution(model, model, layer="look")
    torch.testing.assert_close(flat.forced[0, 0, 1], torch.tensor([0.5, 0.5, 0.0, 0.0]))
    assert 0 < flat.divergence < math.log(2)
    others = shuffled_distributions(model, model, layer="look", times=4)
    with torch.no_grad():
        own = model.look(TWINS[None], mask=Causal(), return_weights=True).weights[0]
    for other in others:
        forced = other.forced[0, 0]
        assert torch.equal(forced.sort(-1).values, own.sort(-1).values)
        assert (forced.triu(1) == 0).all()
    assert len({tuple(other.forced.flatten().tolist()) for other in others}) > 1


def test_what_it_cannot_do_is_said() -> None:
    model = Reader(TWINS)
    with pytest.raises(ArgumentError, match=r"must call one layer that look matches once, on one example; received 2"):
        another_distribution(model, lambda: model() + model(), layer="look")
    with pytest.raises(ArgumentError, match=r"`steps` must be at least 1; received 0"):
        another_distribution(model, model, layer="look", steps=0)
    layer = SelfAttention()
    with pytest.raises(ArgumentError, match=r"received 1 calls, on 2 examples"):
        another_distribution(layer, lambda: layer(torch.ones(2, 3, 4)), layer="*")
    with pytest.raises(
        ArgumentError, match=r"predictions in a graph that holds the weights; received some cut from it"
    ):
        another_distribution(model, lambda: model().detach(), layer="look")


def test_uniform_weights_are_those_of_intervening() -> None:
    model = Reader(TWINS)
    other = uniform_distribution(model, model, layer="look")
    with torch.no_grad(), intervene(model, weights={"look": "uniform"}), record(model) as trace:
        model()
    torch.testing.assert_close(trace[0].weights, other.forced)
    torch.testing.assert_close(other.forced[0, 0, 1], torch.tensor([0.5, 0.5, 0.0, 0.0]))


def test_a_search_runs_the_model_without_cudnn_which_has_no_gradients_then() -> None:
    model, seen = Reader(TWINS), []

    def run() -> Tensor:
        seen.append((torch.is_grad_enabled(), torch.backends.cudnn.enabled))
        return model()

    before = torch.backends.cudnn.enabled
    another_distribution(model, run, layer="look", steps=2)
    assert [enabled for graded, enabled in seen if graded] == [False, False]
    assert torch.backends.cudnn.enabled == before
