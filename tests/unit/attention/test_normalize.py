"""Normalizers at their limits: ties, one key, huge scores."""

import math
from typing import Any

import entmax
import pytest
import torch
from torch import Tensor

from regard import Entmax, Hard, Mean, Sigmoid, Softmax, Sparsemax
from regard.attention.normalize import _bisect, normalize

DISTRIBUTIONS: list[Any] = [Softmax(), Sparsemax(), Entmax(1.5), Entmax(1.05), Entmax(1.95), Hard(), Mean()]
DTYPES = [torch.float64, torch.float32]


def sums_to_one(weights: Tensor, tolerance: float = 1e-5) -> bool:
    return bool(((weights.sum(-1) - 1).abs() < tolerance).all() and (weights >= 0).all())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("normalizer", DISTRIBUTIONS, ids=repr)
@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4, 1e30])
def test_scores_of_any_size(normalizer: Any, dtype: torch.dtype, size: float) -> None:
    scores = (torch.randn(50, 13) * size).to(dtype).requires_grad_()
    weights = normalizer(scores, None)
    assert sums_to_one(weights)
    if not isinstance(normalizer, (Hard, Mean)):
        (slope,) = torch.autograd.grad((weights * torch.arange(13)).sum(), scores)
        assert slope.isfinite().all()


@pytest.mark.parametrize("normalizer", DISTRIBUTIONS, ids=repr)
def test_one_key_takes_all(normalizer: Any) -> None:
    scores = torch.tensor([[-1e4], [0.0], [3.0]])
    assert torch.equal(normalizer(scores, None), torch.ones(3, 1))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("normalizer", [n for n in DISTRIBUTIONS if not isinstance(n, Hard)], ids=repr)
@pytest.mark.parametrize("length", [2, 7, 1000])
def test_equals_share_equally(normalizer: Any, dtype: torch.dtype, length: int) -> None:
    weights = normalizer(torch.full((3, length), 0.3, dtype=dtype), None)
    torch.testing.assert_close(weights, torch.full_like(weights, 1 / length), atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("normalizer", [Sparsemax(), Entmax(1.5), Entmax(1.7)], ids=repr)
def test_ties_at_the_edge_of_the_support_stay_together(normalizer: Any) -> None:
    for gap in torch.linspace(0, 2, 41, dtype=torch.float64):
        weights = normalizer(torch.tensor([[0.0, 0.0, -gap, -gap, -gap]], dtype=torch.float64), None)[0]
        assert sums_to_one(weights, 1e-12)
        assert weights[0] == weights[1]
        assert weights[2] == weights[3] == weights[4]
    assert weights[2] == 0


def test_sparsemax_by_hand() -> None:
    scores = torch.tensor([[1.0, 0.8, -1.0], [3.0, 0.0, 0.0], [0.5, 0.5, 0.0]], dtype=torch.float64)
    truth = torch.tensor([[0.6, 0.4, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(Sparsemax()(scores, None), truth)


def test_the_edge_of_the_support_is_continuous() -> None:
    """A key about to get weight: just inside and just outside give nearly the same, with finite slopes."""
    for normalizer, gap in ((Sparsemax(), 1.0), (Entmax(1.5), 2.0), (Entmax(1.7), 1 / 0.7)):
        weights = []
        for side in (-1e-9, 0.0, 1e-9):
            scores = torch.tensor([[0.0, -gap + side]], dtype=torch.float64, requires_grad=True)
            weights.append(normalizer(scores, None))
            (slope,) = torch.autograd.grad(weights[-1][0, 0], scores)
            assert slope.isfinite().all()
        torch.testing.assert_close(weights[0], weights[2], atol=1e-6, rtol=0)


def test_entmax_lies_between_softmax_and_sparsemax() -> None:
    scores = torch.randn(20, 9, dtype=torch.float64)
    near_softmax, near_sparsemax = Entmax(1 + 1e-5)(scores, None), Entmax(2 - 1e-9)(scores, None)
    torch.testing.assert_close(near_softmax, Softmax()(scores, None), atol=1e-4, rtol=1e-3)
    torch.testing.assert_close(near_sparsemax, Sparsemax()(scores, None), atol=1e-6, rtol=1e-6)
    assert torch.equal(Entmax(2.0)(scores, None), Sparsemax()(scores, None))
    supports = [(normalizer(scores, None) > 0).sum() for normalizer in (Softmax(), Entmax(1.5), Sparsemax())]
    assert supports[0] > supports[1] > supports[2]


def test_entmax_solves_its_equation() -> None:
    """Inside the support, weight^(α−1) is (α−1)·score minus one threshold; outside, scores lie below it."""
    for alpha in (1.1, 1.5, 1.9):
        scores = torch.randn(30, 12, dtype=torch.float64) * 3
        weights = Entmax(alpha)(scores, None)
        inside = weights > 0
        threshold = (alpha - 1) * scores - weights.pow(alpha - 1)
        low = threshold.masked_fill(~inside, math.inf).amin(-1)
        high = threshold.masked_fill(~inside, -math.inf).amax(-1)
        torch.testing.assert_close(low, high, atol=1e-9, rtol=0)
        assert ((alpha - 1) * scores[~inside] <= high.unsqueeze(-1).expand_as(scores)[~inside] + 1e-9).all()


def test_hard_takes_the_first_of_equals() -> None:
    scores = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    assert Hard()(scores, None).tolist() == [[0, 1, 0], [1, 0, 0]]
    mask = torch.tensor([[True, False, True], [False, False, True]])
    assert normalize(scores, mask, Hard()).tolist() == [[0, 0, 1], [0, 0, 1]]


def test_hard_gives_scores_no_gradient() -> None:
    scores = torch.randn(3, 4, requires_grad=True)
    assert not Hard()(scores, None).requires_grad


def test_sigmoid_gates_each_key_alone() -> None:
    scores = torch.tensor([[0.0, 100.0, -100.0]])
    torch.testing.assert_close(Sigmoid()(scores, None), torch.tensor([[0.5, 1.0, 0.0]]))
    torch.testing.assert_close(Sigmoid(-math.log(3))(scores, None)[0, 0], torch.tensor(0.25))
    changed = Sigmoid()(torch.tensor([[0.0, -7.0, 5.0]]), None)
    assert changed[0, 0] == 0.5


@pytest.mark.parametrize("normalizer", [*DISTRIBUTIONS, Sigmoid()], ids=repr)
def test_masked_keys_count_for_nothing(normalizer: Any) -> None:
    scores = torch.randn(6, 9, dtype=torch.float64)
    mask = torch.rand(6, 9) < 0.5
    mask[0], mask[1] = False, True
    weights = normalize(scores, mask, normalizer)
    assert not weights[~mask].any()
    assert not weights[0].any()
    for row in range(1, 6):
        alone = normalizer(scores[row : row + 1, mask[row]], None)
        torch.testing.assert_close(weights[row : row + 1, mask[row]], alone, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("normalizer", [*DISTRIBUTIONS, Sigmoid()], ids=repr)
def test_a_mask_may_be_smaller_than_the_scores(normalizer: Any) -> None:
    scores, mask = torch.randn(2, 3, 4, dtype=torch.float64), torch.tensor([True, False, True, True])
    small = normalize(scores, mask, normalizer)
    assert torch.equal(small, normalize(scores, mask.expand(2, 3, 4), normalizer))


@pytest.mark.parametrize("normalizer", [n for n in DISTRIBUTIONS if n.shift_invariant], ids=repr)
def test_a_constant_added_to_a_row_changes_nothing(normalizer: Any) -> None:
    scores = torch.randn(5, 7, dtype=torch.float64)
    shifted = scores + torch.randn(5, 1, dtype=torch.float64) * 10
    torch.testing.assert_close(normalizer(shifted, None), normalizer(scores, None), atol=1e-10, rtol=1e-10)


def test_sigmoid_is_no_such_normalizer() -> None:
    assert not Sigmoid().shift_invariant
    scores = torch.randn(5, 7)
    assert not torch.allclose(Sigmoid()(scores + 1, None), Sigmoid()(scores, None))


ALPHAS = [1.01, 1.05, 1.2, 1.35, 1.5, 1.6, 1.75, 1.9, 1.99]


def near_the_threshold(alpha: float, rows: int, keys: int, steps: int) -> Tensor:
    """Draw scores, one of which lies within a few units in the last place of the threshold of its row."""
    scores = torch.randn(rows, keys) * 0.7 / (alpha - 1) ** 0.5
    top = scores.amax(-1, keepdim=True)
    threshold = _bisect((scores - top) * (alpha - 1), 1 / (alpha - 1))
    for _ in range(abs(steps)):
        threshold = torch.nextafter(threshold, torch.full_like(threshold, math.copysign(2.0, steps)))
    first = torch.where(scores.argmax(-1, keepdim=True) == 0, scores[:, :1], threshold / (alpha - 1) + top)
    return torch.cat([first, scores[:, 1:]], -1)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_entmax_over_many_rows(alpha: float) -> None:
    """Every row sums to one and every gradient is finite: of scores as they come, and of scores at the threshold.

    Run over a million rows of each alpha by `tests/stress/entmax_rows.py`.
    """
    drawn = [torch.randn(3000, keys) * (1 + keys % 3) for keys in (2, 5, 64)]
    hard = [near_the_threshold(alpha, 1000, keys, steps) for keys in (3, 9, 40) for steps in (-3, -1, 1, 2)]
    for scores in (*drawn, *hard):
        scores.requires_grad_()
        weights = Entmax(alpha)(scores, None)
        assert sums_to_one(weights, 2e-6)
        (slope,) = torch.autograd.grad((weights * torch.linspace(-1, 1, scores.size(-1))).sum(), scores)
        assert slope.isfinite().all()
        assert (slope.sum(-1).abs() < 1e-4).all()  # adding a constant to a row changes nothing


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_gradients_of_entmax_are_those_of_the_bisection(alpha: float) -> None:
    """Where a score lies at the threshold itself they jump; elsewhere they agree with the entmax package's."""
    for keys in (2, 5, 64):
        scores = (torch.randn(2000, keys) * 2).double()
        scaled = (scores - scores.amax(-1, keepdim=True)) * (alpha - 1)
        apart = ((scaled - _bisect(scaled, 1 / (alpha - 1))).abs() > 1e-6).all(-1)
        ours, theirs = scores[apart].clone().requires_grad_(), scores[apart].clone().requires_grad_()
        weights, truth = Entmax(alpha)(ours, None), entmax.entmax_bisect(theirs, alpha, n_iter=80)
        direction = torch.linspace(-1, 1, keys, dtype=torch.float64)
        torch.testing.assert_close(weights, truth, atol=1e-9, rtol=1e-9)
        slopes = [torch.autograd.grad((one * direction).sum(), x)[0] for one, x in ((weights, ours), (truth, theirs))]
        torch.testing.assert_close(*slopes, atol=1e-7, rtol=1e-6)


def test_a_row_of_nan_stays_nan() -> None:
    for normalizer in DISTRIBUTIONS:
        if not isinstance(normalizer, (Hard, Mean)):
            assert normalizer(torch.tensor([[torch.nan, torch.nan]]), None).isnan().all()
