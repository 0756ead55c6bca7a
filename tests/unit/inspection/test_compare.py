"""Two maps or traces beside each other; ranks against scipy."""

import math

import pytest
import torch
from scipy.spatial.distance import jensenshannon
from scipy.stats import kendalltau

from regard import Causal
from regard.errors import ArgumentError
from regard.inspection import Call, Trace, compare, difference, divergences, kendall_tau, rank_correlations, weights_of


def call(weights: torch.Tensor, mask: torch.Tensor | None = None) -> Call:
    return Call(layer="a", step=0, scores=weights, weights=weights, value_norms=weights[..., 0, :], mask=mask)


def some(*shape: int) -> torch.Tensor:
    return torch.randn(*shape).softmax(-1)


@pytest.mark.parametrize("values", [torch.rand, lambda *size: torch.randint(4, size)])
def test_kendalls_tau_agrees_with_scipy(values) -> None:
    torch.manual_seed(1)
    for _ in range(20):
        one, other = values(12), values(12)
        assert kendall_tau(one, other) == pytest.approx(float(kendalltau(one.numpy(), other.numpy()).statistic))


def test_kendalls_tau_at_its_ends() -> None:
    order = torch.arange(5)
    assert kendall_tau(order, order**2) == 1.0
    assert kendall_tau(order, -order) == -1.0
    assert math.isnan(kendall_tau(order, torch.zeros(5)))
    assert math.isnan(kendall_tau(order[:1], order[:1]))
    assert kendall_tau(torch.rand(512), torch.rand(512)) == pytest.approx(0.0, abs=0.1)


@pytest.mark.usefixtures("unchecked")
def test_ranks_are_of_the_same_items() -> None:
    with pytest.raises(ArgumentError, match="`first` and `second` must rank the same items; received 3 and 2"):
        kendall_tau(torch.ones(3), torch.ones(2))


def test_maps_row_by_row() -> None:
    first, second = some(1, 1, 3, 5), some(1, 1, 3, 5)
    one, other = weights_of(call(first)), weights_of(call(second))
    torch.testing.assert_close(difference(one, other).values, second[0, 0] - first[0, 0])
    assert difference(one, other).limits == (-1.0, 1.0)
    expected = [jensenshannon(a.double(), b.double()) ** 2 for a, b in zip(first[0, 0], second[0, 0], strict=True)]
    torch.testing.assert_close(divergences(one, other).values, torch.tensor(expected, dtype=torch.double))
    taus = [kendall_tau(a, b) for a, b in zip(first[0, 0], second[0, 0], strict=True)]
    torch.testing.assert_close(rank_correlations(one, other).values, torch.tensor(taus))
    assert float(divergences(one, one).values.abs().max()) == 0.0


def test_masked_keys_and_empty_rows_do_not_count() -> None:
    mask = Causal().dense((1, 1, 3, 3)).expand(1, 1, 3, 3)
    weights = [some(1, 1, 3, 3) * mask for _ in range(2)]
    weights[0][0, 0, 1] = 0.0
    maps = [weights_of(call(one, mask)) for one in weights]
    taus, far = rank_correlations(*maps).values, divergences(*maps).values
    assert math.isnan(float(taus[0]))  # one key alone has no order
    assert float(taus[2]) == pytest.approx(kendall_tau(weights[0][0, 0, 2], weights[1][0, 0, 2]))
    assert math.isnan(float(far[1]))
    assert float(far[0]) == 0.0


def test_traces_call_by_call_and_head_by_head() -> None:
    first = Trace([call(some(1, 2, 3, 4)), call(some(1, 1, 2, 2))])
    second = Trace([call(first[0].weights.clone()), call(some(1, 1, 2, 2))])
    second[0].weights[0, 1, 0] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    found = compare(first, second)
    assert [(one.layer, one.head) for one in found] == [("a", 0), ("a", 1), ("a", 0)]
    assert (found[0].largest, found[0].divergence, found[0].rank_correlation) == (0.0, 0.0, 1.0)
    assert found[1].largest == pytest.approx(float((first[0].weights - second[0].weights).abs().max()))
    assert 0 < found[1].divergence < math.log(2) / 3


def test_what_cannot_be_compared_is_said() -> None:
    one, other = Trace([call(some(1, 2, 3, 4))]), Trace([call(some(1, 2, 3, 5))])
    with pytest.raises(ArgumentError, match=r"calls of the same shapes; received 1 and 1 calls, which part at call 0"):
        compare(one, other)
    with pytest.raises(ArgumentError, match=r"received 1 and 0 calls, which part at call 0"):
        compare(one, Trace())
    message = r"`first` and `second` must be maps of the same queries and keys; received \(3, 4\) and \(3, 5\)"
    with pytest.raises(ArgumentError, match=message):
        difference(weights_of(one[0]), weights_of(other[0]))
