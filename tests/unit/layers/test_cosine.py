import math

import pytest
import torch

from regard.errors import ArgumentError
from regard.layers import CosineAttention


def test_equals_a_loop() -> None:
    layer = CosineAttention(temperature=0.3).double()
    query, key = torch.randn(1, 2, 3).double(), torch.randn(1, 5, 3).double()
    weights = layer(query, layer.remember(key), return_weights=True).weights
    for i in range(2):
        cosines = [float(query[0, i] @ k) / float(query[0, i].norm() * k.norm()) for k in key[0]]
        total = sum(math.exp(cosine / 0.3) for cosine in cosines)
        assert weights[0, i].tolist() == pytest.approx([math.exp(cosine / 0.3) / total for cosine in cosines])


def test_length_does_not_matter() -> None:
    layer, query, key = CosineAttention(), torch.randn(1, 2, 3), torch.randn(1, 5, 3)
    weights = layer(query, layer.remember(key), return_weights=True).weights
    longer = layer(query * 7, layer.remember(key * torch.rand(1, 5, 1)), return_weights=True).weights
    torch.testing.assert_close(weights, longer)
    assert "temperature=1, learned=True" in repr(layer)


def test_temperature_is_positive() -> None:
    with pytest.raises(ArgumentError, match="`temperature` must be positive; received -1"):
        CosineAttention(temperature=-1.0)
