"""The fused kernels of a CUDA device at the edges: biases of other precisions, sinks, NaN, scales, shared inputs."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard import Alibi, Bilinear, Causal, Padding, RelativeBias, ScaledDot, Sink, attention

pytestmark = pytest.mark.gpu

HALF = [torch.bfloat16, torch.float16]


def draw(*shape: int, device: torch.device, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, device=device).to(dtype)


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("kind", ["bias", "alibi", "relative"])
def test_a_bias_beside_half_precision(dtype: torch.dtype, kind: str, cuda: torch.device) -> None:
    inputs = [draw(1, 8, 128, 64, device=cuda, dtype=dtype) for _ in range(3)]
    arguments: dict[str, Any] = {
        "bias": {"bias": draw(1, 8, 128, 128, device=cuda) * 10},
        "alibi": {"position": Alibi.of_heads(8, device=cuda)},
        "relative": {"position": RelativeBias(table=draw(8, 255, device=cuda) * 10)},
    }[kind]
    wide = {name: value.double() if isinstance(value, Tensor) else value for name, value in arguments.items()}
    exact = attention(*(tensor.double() for tensor in inputs), backend="reference", **wide)
    plain = (attention(*inputs, backend="reference", **arguments).double() - exact).abs().max()
    found = (attention(*inputs, **arguments).double() - exact).abs().max()
    assert found <= 2 * plain + 2 * torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [*HALF, torch.float32], ids=str)
def test_a_very_low_bias_is_not_minus_infinity(dtype: torch.dtype, cuda: torch.device) -> None:
    query, key = (draw(1, 2, 20, 8, device=cuda, dtype=dtype) for _ in range(2))
    found = attention(query, key, bias=torch.full((20, 20), -1e9, device=cuda), return_weights=True)
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(1, 2, 20, device=cuda))
    assert found.context.abs().max() > 0


@pytest.mark.parametrize("dtype", [*HALF, torch.float32], ids=str)
@pytest.mark.parametrize("mask", [None, Causal(), "padded"], ids=str)
def test_sinks(dtype: torch.dtype, mask: Any, cuda: torch.device) -> None:
    inputs = [draw(2, 6, 200, 64, device=cuda, dtype=dtype).requires_grad_() for _ in range(1)]
    inputs += [draw(2, 2, 200, 64, device=cuda, dtype=dtype).requires_grad_() for _ in range(2)]
    sink = draw(6, device=cuda).requires_grad_()
    mask = Padding(torch.tensor([200, 60], device=cuda)) if mask == "padded" else mask
    results = []
    for backend in ("sdpa", "reference"):
        context = attention(*inputs, mask=mask, normalize=Sink(sink), grouped=True, backend=backend)
        results.append([context, *torch.autograd.grad(context.float().square().sum(), [*inputs, sink])])
    tolerance = 1e-3 if dtype == torch.float32 else 0.05
    for found, truth in zip(*results, strict=True):
        scale = max(1.0, float(truth.detach().float().abs().max()))
        torch.testing.assert_close(found.float(), truth.float(), atol=tolerance * scale, rtol=0)


@pytest.mark.parametrize("keys", [1, 7, 16, 64])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_a_query_of_nan_gives_nan(keys: int, dtype: torch.dtype, cuda: torch.device) -> None:
    query, key = (draw(2, 2, keys, 8, device=cuda, dtype=dtype) for _ in range(2))
    query[..., -1, :] = torch.nan
    for mask in (None, Causal()):
        context = attention(query, key, mask=mask)
        assert context[..., -1, :].isnan().all()
        assert context[..., :-1, :].isfinite().all()


@pytest.mark.parametrize("scale", [-1.0, 0.0, -0.01])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_any_scale_goes_with_the_causal_mask(scale: float, dtype: torch.dtype, cuda: torch.device) -> None:
    inputs = [draw(2, 2, 64, 32, device=cuda, dtype=dtype) for _ in range(3)]
    arguments = {"score": ScaledDot(scale), "mask": Causal()}
    truth = attention(*inputs, backend="reference", **arguments)
    torch.testing.assert_close(attention(*inputs, **arguments), truth, atol=0.03, rtol=0.03)


def test_bilinear_keeps_within_half_precision(cuda: torch.device) -> None:
    query, key, value = (draw(1, 1, 20, 16, device=cuda, dtype=torch.float16) * size for size in (300, 300, 1))
    assert attention(query, key, value, score=Bilinear(draw(16, 16, device=cuda) * 30)).isfinite().all()


def test_shared_inputs_have_one_first_derivative(cuda: torch.device) -> None:
    x = draw(2, 3, 64, 32, device=cuda).requires_grad_()
    for make in (lambda: (x, x), lambda: (x, x.sin(), x), lambda: (x * 2, x)):
        for mask in (None, Causal()):
            slopes = []
            for again in (False, True):
                context = attention(*make(), mask=mask)
                slopes.append(torch.autograd.grad(context.square().sum(), x, create_graph=again)[0])
            torch.testing.assert_close(*slopes, atol=5e-3, rtol=5e-3)
