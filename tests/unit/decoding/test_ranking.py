"""Scores, their bound, and coverage."""

import math

import pytest
import torch

from regard.decoding.ranking import add_coverage, bound, coverage_penalty, score


def test_a_score_is_divided_by_a_power_of_the_length() -> None:
    found = score(torch.tensor([-6.0, -3.0]), 4, length_penalty=0.5, covered=torch.tensor([-1.0, 0.0]))
    assert found.tolist() == [-4.0, -1.5]


@pytest.mark.parametrize("penalty", [0.0, 0.3, 1.0, 2.0])
def test_nothing_goes_beyond_the_bound(penalty: float) -> None:
    """However a hypothesis goes on, and however long it becomes."""
    limits = torch.tensor([12])
    words = -torch.rand(200, 12)
    words[:20, 4:] = 0.0  # sure of every further word
    total = words.cumsum(1)
    highest = bound(total[:, 3], limits.expand(200), length_penalty=penalty)
    for length in range(4, 13):
        reached = score(total[:, length - 1], length, length_penalty=penalty)
        assert (reached <= highest + 1e-6).all()
    torch.testing.assert_close(score(total[:20, 11], 12, length_penalty=penalty), highest[:20])


def test_coverage_is_the_papers() -> None:
    weights = torch.tensor([[[[0.9, 0.1, 0.0]], [[0.2, 0.4, 0.4]]]])  # one row, two layers: the last counts
    coverage = add_coverage(add_coverage(None, weights, weight=1.0), weights, weight=1.0)
    found = coverage_penalty(coverage, torch.tensor([2]), weight=0.5)
    assert found.item() == pytest.approx(0.5 * (math.log(0.4) + math.log(0.8)))
    assert coverage_penalty(10 * coverage, torch.tensor([3]), weight=0.5).item() == 0.0


def test_heads_are_averaged() -> None:
    weights = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]]]])
    assert add_coverage(None, weights, weight=1.0).tolist() == [[0.75, 0.25]]


def test_what_was_never_looked_at_is_bad_and_not_impossible() -> None:
    found = coverage_penalty(torch.tensor([[1.0, 0.0]]), torch.tensor([2]), weight=1.0)
    assert found.item() == pytest.approx(math.log(1e-8))
