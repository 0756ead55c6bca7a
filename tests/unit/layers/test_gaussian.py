import math

import pytest
import torch

from regard.errors import ArgumentError
from regard.layers import GaussianAttention


def test_is_kernel_regression() -> None:
    layer = GaussianAttention(bandwidth=0.7).double()
    x, y = torch.randn(1, 20, 2).double(), torch.randn(1, 20, 1).double()
    query = torch.randn(1, 4, 2).double()
    found = layer(query, layer.remember(x, y))
    for i in range(4):
        kernel = [math.exp(-float((query[0, i] - x[0, j]).square().sum()) / (2 * 0.7**2)) for j in range(20)]
        expected = sum(k * float(y[0, j]) for j, k in enumerate(kernel)) / sum(kernel)
        assert found[0, i].item() == pytest.approx(expected)


def test_the_bandwidth_is_learned_and_can_be_fixed() -> None:
    torch.manual_seed(0)
    x = torch.linspace(0, 6, 60).view(1, 60, 1)
    y = torch.sin(3 * x) + 0.05 * torch.randn_like(x)
    unseen = torch.linspace(0.05, 5.95, 40).view(1, 40, 1)
    layer = GaussianAttention(bandwidth=2.0)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    losses = []
    for _ in range(60):
        loss = (layer(unseen, layer.remember(x, y)) - torch.sin(3 * unseen)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 50
    assert 0.02 < layer.bandwidth.item() < 0.5
    assert not any(parameter.requires_grad for parameter in GaussianAttention(learned=False).parameters())
    assert "bandwidth=2, learned=False" in repr(GaussianAttention(bandwidth=2.0, learned=False))


def test_bandwidth_is_positive() -> None:
    with pytest.raises(ArgumentError, match="`bandwidth` must be positive; received 0"):
        GaussianAttention(bandwidth=0.0)
