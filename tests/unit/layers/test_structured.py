import math

import pytest
import torch

from regard import Padding
from regard.errors import ArgumentError
from regard.layers import StructuredSelfAttention


@pytest.mark.parametrize("hops", [1, 3])
@torch.no_grad()
def test_equals_the_paper_written_as_a_loop(hops: int) -> None:
    layer = StructuredSelfAttention(4, 5, hops).double()
    text, lengths = torch.randn(2, 6, 4).double(), [6, 3]
    matrix, weights, _ = layer(text, mask=Padding(torch.tensor(lengths)), return_weights=True)
    for b, length in enumerate(lengths):
        hidden = [torch.tanh(layer.hidden.weight @ text[b, j]) for j in range(length)]
        for r in range(hops):
            scores = [math.exp(float(layer.hops[r] @ h)) for h in hidden]
            alpha = [score / sum(scores) for score in scores]
            assert weights[b, r].tolist() == pytest.approx(alpha + [0.0] * (6 - length))
            expected = sum((alpha[j] * text[b, j] for j in range(length)), torch.zeros(4).double())
            torch.testing.assert_close(matrix[b, r], expected)


def test_penalty() -> None:
    apart = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    alike = torch.tensor([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    even = torch.full((2, 3), 1 / 3)
    found = StructuredSelfAttention.penalty(torch.stack([apart, alike, even]))
    assert found.tolist() == pytest.approx([0, 2, 2 * (1 / 3 - 1) ** 2 + 2 / 9])


def test_the_penalty_drives_hops_apart() -> None:
    layer, text = StructuredSelfAttention(6, 8, 2), torch.randn(4, 5, 6)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    penalties = []
    for _ in range(60):
        penalty = layer.penalty(layer(text, return_weights=True).weights).mean()
        optimizer.zero_grad()
        penalty.backward()
        optimizer.step()
        penalties.append(penalty.item())
    assert penalties[-1] < 0.3 * penalties[0]


@pytest.mark.usefixtures("unchecked")
def test_bad_arguments() -> None:
    with pytest.raises(ArgumentError, match="`num_hops` must be at least 1; received 0"):
        StructuredSelfAttention(4, 5, 0)
    with pytest.raises(ArgumentError, match=r"`sequence` must have shape \(batch, length, 4\); received \(2, 6, 5\)"):
        StructuredSelfAttention(4, 5)(torch.zeros(2, 6, 5))
    with pytest.raises(ArgumentError, match=r"shape \(batch, key\) = \(2, 6\); received \(2, 1\)"):
        StructuredSelfAttention(4, 5)(torch.zeros(2, 6, 4), mask=torch.ones(2, 1, dtype=torch.bool))
