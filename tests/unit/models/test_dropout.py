import re

import pytest
import torch
from torch import nn

from regard.errors import ArgumentError
from regard.models.dropout import Dropout, drop_words, keep, quicken


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.9])
def test_it_drops_the_share_asked_for_and_keeps_the_mean(probability: float) -> None:
    kept = Dropout(probability)(torch.ones(400, 500))
    assert (kept == 0).float().mean() == pytest.approx(probability, abs=0.005)
    assert kept.mean() == pytest.approx(1.0, abs=0.02)
    assert len(kept.unique()) == 2
    assert kept.max() == pytest.approx(1 / (1 - probability), rel=1e-4)


def test_neighbors_are_dropped_independently() -> None:
    """Four numbers share a draw of 64 bits."""
    dropped = (Dropout(0.5)(torch.ones(40_000, 4)) == 0).float()
    together = torch.cov(dropped.T)
    torch.testing.assert_close(together, 0.25 * torch.eye(4), rtol=0, atol=0.01)


def test_the_seed_decides() -> None:
    layer, x = Dropout(0.4), torch.randn(7, 9)
    torch.manual_seed(1)
    first = layer(x)
    torch.manual_seed(1)
    assert torch.equal(layer(x), first)
    assert not torch.equal(layer(x), first)


def test_gradients_pass_where_numbers_do() -> None:
    x = torch.randn(5, 6, requires_grad=True)
    dropped = Dropout(0.5)(x)
    dropped.sum().backward()
    torch.testing.assert_close(x.grad, dropped.detach() / x.detach())


@pytest.mark.parametrize("shape", [(0, 4), (3, 5), (2, 3, 7), (1,)])
def test_any_shape_and_precision(shape: tuple[int, ...]) -> None:
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        dropped = Dropout(0.5)(torch.ones(shape, dtype=dtype))
        assert dropped.shape == shape
        assert dropped.dtype == dtype


def test_all_or_nothing() -> None:
    x = torch.randn(3, 4)
    assert torch.equal(Dropout(0.0)(x), x)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert (Dropout(1.0)(x) == 0).all()
    assert (keep(x, 1.0) == 0).all()


def test_shared_drops_the_same_features_at_every_place() -> None:
    dropped = Dropout(0.5, shared=True)(torch.ones(3, 8, 20))
    assert torch.equal(dropped, dropped[:, :1].expand(3, 8, 20))
    assert not torch.equal(dropped[0], dropped[1])


def test_words_are_dropped_whole() -> None:
    dropped = drop_words(torch.ones(30, 40, 5), 0.25)
    assert torch.equal(dropped, dropped[..., :1].expand(30, 40, 5))
    assert (dropped == 0).float().mean() == pytest.approx(0.25, abs=0.05)


def test_quicken_replaces_torchs_own() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.2), nn.ModuleList([nn.Dropout(0.3), Dropout(0.4, shared=True)]))
    names = list(model.state_dict())
    quicken(model)
    found = [module for module in model.modules() if isinstance(module, nn.Dropout)]
    assert [type(module) for module in found] == [Dropout] * 3
    assert [module.p for module in found] == [0.2, 0.3, 0.4]
    assert [module.shared for module in found] == [False, False, True]
    assert list(model.state_dict()) == names


def test_a_share_is_a_probability() -> None:
    with pytest.raises(
        ArgumentError, match=re.escape("`dropout` must be a probability between 0 and 1; received 1.5.")
    ):
        Dropout(1.5)
