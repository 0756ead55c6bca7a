import pytest
import torch

from regard.errors import ArgumentError
from regard.layers import LearnedAdditive, LearnedBilinear, LearnedCosine, LearnedGaussian, LearnedScore

SCORES = {
    "additive": lambda: LearnedAdditive(4, num_heads=3),
    "bilinear": lambda: LearnedBilinear(4, 4, num_heads=3),
    "gaussian": lambda: LearnedGaussian(num_heads=3, bandwidth=2.0),
    "cosine": lambda: LearnedCosine(num_heads=3, temperature=0.5),
}


@pytest.mark.parametrize("name", SCORES)
def test_every_head_has_its_own(name: str) -> None:
    module: LearnedScore = SCORES[name]()
    (parameter,) = module.parameters()
    assert parameter.size(0) == 3
    query, key = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6, 4)
    before = module().dense(query, key)
    assert before.shape == (2, 3, 5, 6)
    with torch.no_grad():
        parameter[1] += 0.5
    changed = (module().dense(query, key) != before).flatten(2).any(-1)
    assert changed.tolist() == [[False, True, False]] * 2


def test_start_where_told() -> None:
    torch.testing.assert_close(SCORES["gaussian"]()().bandwidth, torch.full((3, 1, 1), 2.0))  # type: ignore[attr-defined]
    torch.testing.assert_close(SCORES["cosine"]()().temperature, torch.full((3, 1, 1), 0.5))  # type: ignore[attr-defined]


def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match="`num_heads` must be at least 1; received 0"):
        LearnedAdditive(4, num_heads=0)
    with pytest.raises(ArgumentError, match="`query_size` must be at least 1; received 0"):
        LearnedBilinear(0, 4, num_heads=1)
    with pytest.raises(ArgumentError, match="`bandwidth` must be positive; received 0"):
        LearnedGaussian(num_heads=1, bandwidth=0.0)
    with pytest.raises(ArgumentError, match="`temperature` must be positive; received 0"):
        LearnedCosine(num_heads=1, temperature=0.0)
