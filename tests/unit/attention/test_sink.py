"""Sinks, soft caps and log normalizers: what the fused kernel is made to give."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from regard import (
    Alibi,
    Attended,
    Causal,
    Cosine,
    Documents,
    Dot,
    Padding,
    Partial,
    Rotary,
    ScaledDot,
    Sink,
    Softcap,
    Window,
    attention,
    explain_backend,
    merge,
)

MASKS: dict[str, Any] = {
    "none": None,
    "causal": Causal(),
    "padded": Padding(torch.tensor([19, 4])),
    "causal, padded": Causal() & Padding(torch.tensor([19, 4])),
    "window": Window(3, 0),
    "empty rows": Documents(torch.arange(19) // 7 - 1),
}


def draw(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, dtype=torch.float64).to(dtype).requires_grad_()


def both(inputs: list[Tensor], learned: list[Tensor], **arguments: Any) -> list[list[Tensor]]:
    """Give context and all gradients, by the fused kernel and by the reference."""
    results = []
    for backend in ("sdpa", "reference"):
        context = attention(*inputs, backend=backend, **arguments)
        direction = torch.linspace(-1, 1, context.numel(), dtype=context.dtype).view_as(context)
        results.append([context, *torch.autograd.grad(context, [*inputs, *learned], direction)])
    return results


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("score", [ScaledDot(), ScaledDot(-0.3), Dot(), Cosine(0.2)], ids=repr)
def test_the_fused_kernel_has_sinks(mask: str, score: Any) -> None:
    inputs, sink = [draw(2, 3, 19, 8) for _ in range(3)], draw(3)
    found, truth = both(inputs, [sink], mask=MASKS[mask], score=score, normalize=Sink(sink))
    torch.testing.assert_close(found, truth, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("shape", [(19, 8), (3, 19, 8), (2, 3, 19, 8), (2, 5, 3, 19, 8)], ids=len)
@pytest.mark.parametrize("mask", [None, Causal()], ids=["open", "causal"])
def test_sinks_over_any_number_of_axes(shape: tuple[int, ...], mask: Any) -> None:
    inputs = [draw(*shape) for _ in range(3)]
    sinks = [draw(), *([draw(3)] if len(shape) > 2 else [])]
    for sink in sinks:
        found, truth = both(inputs, [sink], mask=mask, normalize=Sink(sink))
        torch.testing.assert_close(found, truth, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("value_width", [3, 8, 20])
def test_sinks_with_grouped_heads_and_other_widths(value_width: int) -> None:
    inputs, sink = [draw(2, 6, 19, 8), draw(2, 2, 19, 8), draw(2, 2, 19, value_width)], draw(6)
    for more in ({}, {"position": Rotary()}, {"position": Alibi.of_heads(6)}, {"bias": torch.randn(19, 19).double()}):
        found, truth = both(inputs, [sink], mask=Causal(), normalize=Sink(sink), grouped=True, **more)
        torch.testing.assert_close(found, truth, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32], ids=str)
def test_half_precision_does_not_round_the_sink(dtype: torch.dtype) -> None:
    inputs = [draw(2, 4, 40, 16, dtype=dtype).detach() for _ in range(3)]
    sink = torch.tensor([3.017, -2.003, 5.555, 0.1])
    truth = attention(*(tensor.double() for tensor in inputs), normalize=Sink(sink.double()))
    found = attention(*inputs, mask=Causal(), normalize=Sink(sink))
    masked = attention(*(tensor.double() for tensor in inputs), mask=Causal(), normalize=Sink(sink.double()))
    tolerance = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}[dtype]
    torch.testing.assert_close(attention(*inputs, normalize=Sink(sink)).double(), truth, atol=tolerance, rtol=0)
    torch.testing.assert_close(found.double(), masked, atol=tolerance, rtol=0)


def test_a_sink_is_one_more_key_whose_value_is_zero() -> None:
    query, key, value, sink = draw(2, 5, 4), draw(2, 7, 4), draw(2, 7, 3), draw()
    found = attention(query, key, value, normalize=Sink(sink), return_weights=True)
    scores = torch.cat([query @ key.mT / 2, sink.expand(2, 5, 1)], -1).softmax(-1)
    torch.testing.assert_close(found.weights, scores[..., :-1])
    torch.testing.assert_close(found.context, scores[..., :-1] @ value)
    total = attention(query, key, value, return_log_normalizer=True)
    torch.testing.assert_close(found.context, total.context * torch.sigmoid(total.log_normalizer - sink).unsqueeze(-1))


def test_soft_caps_hold_the_scores() -> None:
    query, key = draw(2, 5, 4), draw(2, 7, 4)
    found = attention(query * 100, key, score=Softcap(2.0), return_weights=True)
    ratio = found.weights.max(-1).values / found.weights.min(-1).values
    assert (ratio <= math.exp(4) + 1e-9).all()
    nested = Softcap(1.0, Softcap(5.0, Dot()))
    scores = torch.tanh(5 * torch.tanh(query @ key.mT / 5))
    torch.testing.assert_close(attention(query, key, score=nested), scores.softmax(-1) @ key)


@pytest.mark.parametrize("mask", ["none", "causal", "padded", "empty rows"])
def test_sinks_and_log_normalizers_can_be_differentiated_twice(mask: str) -> None:
    """Through the fused kernel, whose own derivative has none."""
    inputs, sink = [draw(2, 2, 19, 3) for _ in range(3)], draw(2)

    def attend(query: Tensor, key: Tensor, value: Tensor, sink: Tensor) -> tuple[Tensor, ...]:
        partial = attention(query, key, value, mask=MASKS[mask], return_log_normalizer=True)
        log = partial.log_normalizer.masked_fill(partial.log_normalizer == -torch.inf, 0.0)
        context = attention(query, key, value, mask=MASKS[mask], normalize=Sink(sink))
        return context[..., ::9, :1], log[..., ::9], partial.context[..., ::9, :1]

    assert torch.autograd.gradcheck(attend, (*inputs, sink), fast_mode=True)
    assert torch.autograd.gradgradcheck(attend, (*inputs, sink), fast_mode=True)


def test_the_kernel_that_normalizes_gives_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is computed beside it, for a log normalizer or a sink."""
    from regard.attention.kernels import rows, sdpa

    def never(*arguments: Any, **options: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(rows, "log_normalizers", never)
    monkeypatch.setattr(sdpa, "with_sink", never)
    inputs = [draw(2, 3, 19, 8) for _ in range(3)]
    for mask in MASKS.values():
        attention(*inputs, mask=mask, return_log_normalizer=True)
        attention(*inputs, mask=mask, normalize=Sink(draw(3)))


# Log normalizers


@pytest.mark.parametrize("chunk", [200, 1 << 20])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(
    "more", [{}, {"position": Rotary()}, {"position": Alibi.of_heads(3)}, "bias", "grouped"], ids=str
)
def test_log_normalizers_without_weights(chunk: int, mask: str, more: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.attention.kernels import chunked

    monkeypatch.setitem(chunked.CHUNK_SIZE, "cpu", chunk)
    arguments = {"bias": {"bias": torch.randn(19, 19).double()}, "grouped": {"grouped": True}}.get(str(more), more)
    heads = 1 if more == "grouped" else 3
    inputs = [draw(2, 3, 19, 8), draw(2, heads, 19, 8), draw(2, heads, 19, 5)]
    partial = attention(*inputs, mask=MASKS[mask], return_log_normalizer=True, **arguments)
    attended = attention(*inputs, mask=MASKS[mask], return_weights=True, **arguments)
    assert isinstance(partial, Partial)
    assert torch.equal(partial.context, attended.context)
    torch.testing.assert_close(partial.log_normalizer, attended.log_normalizer)
    finite = partial.log_normalizer.isfinite()
    slopes = [torch.autograd.grad(one.log_normalizer[finite].square().sum(), inputs[:2]) for one in (partial, attended)]
    torch.testing.assert_close(*slopes, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("normalizer_of", ["sdpa", "reference"])
@pytest.mark.parametrize("weights", [False, True], ids=["alone", "beside weights"])
def test_parts_merge_into_the_whole(normalizer_of: Any, weights: bool) -> None:
    query, key, value = draw(2, 3, 5, 8), draw(2, 3, 24, 8), draw(2, 3, 24, 4)
    mask = torch.rand(2, 1, 5, 24) < 0.5
    mask[0, :, 2], mask[1, :, 3, :8] = False, False
    parts: list[Partial | Attended] = [
        attention(
            query,
            key[..., first : first + 8, :],
            value[..., first : first + 8, :],
            mask=mask[..., first : first + 8],
            backend=normalizer_of,
            return_weights=weights,
            return_log_normalizer=True,
        )
        for first in (0, 8, 16)
    ]
    whole = attention(query, key, value, mask=mask, return_log_normalizer=True)
    merged = merge(parts)
    torch.testing.assert_close(merged.context, whole.context)
    torch.testing.assert_close(merged.log_normalizer, whole.log_normalizer)
    slopes = [torch.autograd.grad(one.context.square().sum(), (query, key, value)) for one in (merged, whole)]
    torch.testing.assert_close(*slopes)
    again = merge([merge(parts[:2]), parts[2]])
    torch.testing.assert_close(again.context, whole.context)


def test_weights_come_with_both_when_both_are_asked_for() -> None:
    query = draw(2, 5, 4)
    found = attention(query, query, return_weights=True, return_log_normalizer=True)
    assert isinstance(found, Attended)
    assert explain_backend(query, query).chosen == "sdpa"
