"""Weights summed over queries, the largest of each row and log normalizers, without holding the weights."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regard import (
    Additive,
    Alibi,
    Causal,
    Documents,
    Entmax,
    GaussianWindow,
    Padding,
    RelativeBias,
    Rotary,
    ScoreRows,
    Shaw,
    Sink,
    Softcap,
    WeightSummary,
    Window,
    attention,
    summarize_weights,
)
from regard.attention.kernels import chunked
from regard.errors import ArgumentError

CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"mask": Causal()},
    "padded": {"mask": Padding(torch.tensor([19, 4]))},
    "both": {"mask": Causal() & Padding(torch.tensor([19, 0]))},
    "empty rows": {"mask": Documents(torch.arange(19) // 7 - 1)},
    "bias": {"bias": torch.randn(2, 1, 19, 19).double()},
    "rotary": {"position": Rotary(), "mask": Causal()},
    "alibi": {"position": Alibi.of_heads(3)},
    "relative": {"position": RelativeBias(table=torch.randn(3, 9).double()), "mask": Window(4, 0)},
    "relative, at positions": {
        "position": RelativeBias(
            table=torch.randn(3, 9).double(), query_positions=torch.stack([torch.arange(19), torch.arange(19).flip(0)])
        )
    },
    "shaw": {"position": Shaw(keys=torch.randn(9, 8).double())},
    "a function": {"score": lambda query, key: -(query.unsqueeze(-2) - key.unsqueeze(-3)).square().sum(-1)},
    "rows": {"score": ScoreRows(lambda query, key, i, j: query @ key.mT - 0.1 * (i - j).abs())},
    "softcap": {"score": Softcap(2.0)},
    "additive": {"score": Additive(torch.randn(8).double())},
    "entmax": {"normalize": Entmax(1.5)},
    "sink": {"normalize": Sink(torch.randn(3).double()), "mask": Causal()},
}


@pytest.mark.parametrize("chunk", [400, 1 << 20], ids=["cut", "whole"])
@pytest.mark.parametrize("name", CASES)
def test_it_is_what_the_weights_amount_to(name: str, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chunked.CHUNK_SIZE, "cpu", chunk)
    query, key = (torch.randn(2, 3, 19, 8, dtype=torch.float64, requires_grad=True) for _ in range(2))
    result, options = summarize_weights(query, key, **CASES[name]), CASES[name]
    attended = attention(query, key, **options, return_weights=True, backend="reference")
    truth = WeightSummary(attended.weights.sum(-2), attended.weights.amax(-1), attended.log_normalizer)
    torch.testing.assert_close(result, truth)
    slopes = [
        torch.autograd.grad((one.received.square().sum() + one.largest.sum()), (query, key)) for one in (result, truth)
    ]
    torch.testing.assert_close(*slopes, atol=1e-10, rtol=1e-8)


def test_a_window_over_weights_is_given_all_queries() -> None:
    query, key = torch.randn(2, 5, 4), torch.randn(2, 7, 4)
    position = GaussianWindow(center=torch.full((2, 5), 3.0), half_width=2.0)
    attended = attention(query, key, position=position, return_weights=True)
    torch.testing.assert_close(summarize_weights(query, key, position=position).received, attended.weights.sum(-2))


def test_grouped_heads() -> None:
    query, key = torch.randn(2, 6, 5, 4), torch.randn(2, 2, 7, 4)
    attended = attention(query, key, grouped=True, return_weights=True)
    torch.testing.assert_close(summarize_weights(query, key, grouped=True).received, attended.weights.sum(-2))


class Largest(TorchDispatchMode):
    """Records how many numbers the largest tensor has that any operation gives."""

    numbers = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for item in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(item, Tensor):
                self.numbers = max(self.numbers, item.numel())
        return result


@pytest.mark.parametrize("trained", [False, True])
def test_no_tensor_holds_every_pair(trained: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chunked.CHUNK_SIZE, "cpu", 1 << 12)
    query, key = (torch.randn(1, 2, 300, 8, requires_grad=trained) for _ in range(2))
    with Largest() as largest:
        summary = summarize_weights(query, key)
        partial = attention(query, key, return_log_normalizer=True)
        if trained:
            torch.autograd.grad(summary.received.square().sum() + partial.log_normalizer.sum(), (query, key))
    assert 0 < largest.numbers < 300 * 300 / 4


def test_gradients_and_second_derivatives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chunked.CHUNK_SIZE, "cpu", 20)
    query, key = (torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))

    def summed(query: Tensor, key: Tensor) -> tuple[Tensor, ...]:
        summary = summarize_weights(query, key, mask=Causal())
        assert summary.log_normalizer is not None
        return summary.received, summary.log_normalizer

    assert torch.autograd.gradcheck(summed, (query, key))
    assert torch.autograd.gradgradcheck(summed, (query, key))


def test_wrong_arguments_are_named_as_by_attention() -> None:
    with pytest.raises(ArgumentError, match="must have the same width for ScaledDot; received 4 and 5"):
        summarize_weights(torch.zeros(2, 3, 4), torch.zeros(2, 3, 5))
