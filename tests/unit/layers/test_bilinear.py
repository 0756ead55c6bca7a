import math

import pytest
import torch

from regard.errors import ArgumentError
from regard.layers import BilinearAttention


@torch.no_grad()
def test_equals_a_loop() -> None:
    layer = BilinearAttention(3, 4).double()
    query, key, value = torch.randn(1, 2, 3).double(), torch.randn(1, 5, 4).double(), torch.randn(1, 5, 2).double()
    context, weights, _ = layer(query, layer.remember(key, value), return_weights=True)
    for i in range(2):
        scores = [float(query[0, i] @ layer.matrix @ key[0, j]) for j in range(5)]
        total = sum(map(math.exp, scores))
        assert weights[0, i].tolist() == pytest.approx([math.exp(score) / total for score in scores])
        expected = [sum(math.exp(scores[j]) / total * float(value[0, j, m]) for j in range(5)) for m in range(2)]
        assert context[0, i].tolist() == pytest.approx(expected)


def test_checks_widths() -> None:
    layer = BilinearAttention(3, 4)
    with pytest.raises(ArgumentError, match=r"`key` must have shape \(batch, length, 4\); received \(1, 2, 3\)"):
        layer.remember(torch.zeros(1, 2, 3))
    with pytest.raises(ArgumentError, match=r"`query` must have shape \(batch, length, 3\); received \(1, 2, 4\)"):
        layer(torch.zeros(1, 2, 4), layer.remember(torch.zeros(1, 2, 4)))
    with pytest.raises(ArgumentError, match="`key_size` must be at least 1; received -1"):
        BilinearAttention(3, -1)
