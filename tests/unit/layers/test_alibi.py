import pytest
import torch

from regard import Causal, attention
from regard.errors import ArgumentError
from regard.layers.position.alibi import AlibiBias


def test_it_is_the_papers_for_eight_heads():
    slopes = AlibiBias(8)().slopes
    torch.testing.assert_close(slopes, torch.tensor([1 / 2**h for h in range(1, 9)]))


def test_scores_fall_with_distance_by_the_slope():
    query, key = torch.zeros(1, 4, 3, 2), torch.zeros(1, 4, 3, 2)
    weights = attention(query, key, position=AlibiBias(4)(), mask=Causal(), return_weights=True).weights
    for head, slope in enumerate([1 / 4, 1 / 16, 1 / 64, 1 / 256]):
        expected = torch.softmax(torch.tensor([-2 * slope, -slope, 0.0]), 0)
        torch.testing.assert_close(weights[0, head, 2], expected)


def test_fixed_slopes_are_no_parameter_and_learned_ones_are():
    fixed, learned = AlibiBias(4), AlibiBias(4, learned=True)
    assert not list(fixed.parameters())
    assert not fixed.state_dict()
    assert list(learned.state_dict()) == ["slopes"]
    x = torch.randn(1, 4, 5, 3)
    attention(x, x, position=learned()).square().sum().backward()
    assert (learned.slopes.grad != 0).all()
    assert repr(learned) == "AlibiBias(4, learned=True)"


@pytest.mark.usefixtures("unchecked")
def test_bad_heads():
    with pytest.raises(ArgumentError, match="`num_heads` must be at least 1; received 0"):
        AlibiBias(0)
