"""Rows nobody may see: cleared whatever they hold."""

import pytest
import torch

from regard.attention.kernels.blank import blank

POISONS = [torch.nan, torch.inf, -torch.inf]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("poison", POISONS)
def test_what_is_not_kept_is_cleared(dtype: torch.dtype, poison: float) -> None:
    tensor, keep = torch.randn(2, 3, 4).to(dtype), torch.tensor([[True, False, True], [False, True, True]])
    spoilt = tensor.masked_fill(~keep.unsqueeze(-1), poison).requires_grad_()
    found = blank(spoilt, keep)
    assert torch.equal(found[keep], tensor[keep])
    assert not found[~keep].any()
    (slope,) = torch.autograd.grad(found.sum(), spoilt)
    assert torch.equal(slope, keep.unsqueeze(-1).expand_as(tensor).to(dtype))


def test_what_is_kept_stays_as_it_is_nan_too() -> None:
    tensor = torch.tensor([[torch.nan, 1.0], [torch.nan, 2.0]])
    found = blank(tensor, torch.tensor([True, False]))
    assert found[0].isnan().tolist() == [True, False]
    assert not found[1].any()


def test_one_flag_may_serve_many_rows() -> None:
    tensor = torch.full((2, 3, 4), torch.nan)
    assert not blank(tensor, torch.zeros(1, 1, dtype=torch.bool)).any()


def test_it_differentiates_twice() -> None:
    tensor = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    keep = torch.tensor([True, False, True])
    assert torch.autograd.gradgradcheck(lambda x: blank(x / (x != 99), keep).square(), tensor)
    spoilt = tensor.detach().clone()
    spoilt[1] = torch.nan
    spoilt.requires_grad_()
    (slope,) = torch.autograd.grad(blank(spoilt, keep).pow(3).sum(), spoilt, create_graph=True)
    (second,) = torch.autograd.grad(slope[keep].sum(), spoilt)
    torch.testing.assert_close(second[keep], 6 * tensor[keep])
    assert not second[1].any()
