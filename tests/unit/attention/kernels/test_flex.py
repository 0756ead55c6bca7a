"""FlexAttention where it is meant for: long sequences and masks with many empty blocks, on a CUDA device."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from regard import (
    Alibi,
    Causal,
    Documents,
    Gaussian,
    Padding,
    Rotary,
    ScoreMod,
    Softcap,
    Window,
    attention,
    explain_backend,
)
from regard.attention.kernels.flex import WORTHWHILE_PAIRS

pytestmark = [pytest.mark.gpu, pytest.mark.compiled]
LENGTH = math.isqrt(WORTHWHILE_PAIRS)  # from here on it is chosen
IDS = torch.arange(LENGTH) // 300

SPARSE: dict[str, Any] = {
    "window": lambda device: Window(64, 0),
    "documents": lambda device: Documents(IDS.to(device)),
    "packed and causal": lambda device: Documents(IDS.to(device)) & Causal(),
    "window and padding": lambda device: Window(64, 64) & Padding(torch.tensor([1500, 40], device=device)),
    "one length for all": lambda device: Window(64, 64) & Padding(torch.tensor([1500], device=device)),
    "ragged window": lambda device: Window(
        64, 0, positions=torch.stack([torch.arange(LENGTH), torch.arange(LENGTH) - 100]).to(device)
    ),
}


def draw(*shape: int, device: torch.device) -> Tensor:
    return torch.randn(shape, device=device, dtype=torch.bfloat16).requires_grad_()


@pytest.mark.parametrize("name", SPARSE)
def test_it_is_chosen_and_right(name: str, cuda: torch.device) -> None:
    inputs = [draw(2, 4, LENGTH, 64, device=cuda) for _ in range(3)]
    mask = SPARSE[name](cuda)
    assert explain_backend(*inputs, mask=mask).chosen == "flex"
    results = []
    for backend in (None, "reference"):
        context = attention(*inputs, mask=mask, backend=backend)
        results.append([context, *torch.autograd.grad(context.float().square().sum(), inputs)])
    for found, truth in zip(*results, strict=True):
        torch.testing.assert_close(found, truth, atol=0.06, rtol=0.05)


@pytest.mark.parametrize("width", [1, 8, 24, 80, 256, 300])
@pytest.mark.parametrize("value_width", [8, 64])
def test_any_width_will_do(width: int, value_width: int, cuda: torch.device) -> None:
    """Whatever the kernel cannot take must be refused, or made to fit: a chosen backend never fails."""
    query, key = (draw(1, 2, LENGTH, width, device=cuda) for _ in range(2))
    value = draw(1, 2, LENGTH, value_width, device=cuda)
    context = attention(query, key, value, mask=Window(32, 0))
    truth = attention(query, key, value, mask=Window(32, 0), backend="reference")
    torch.testing.assert_close(context, truth, atol=0.05, rtol=0.05)
    torch.autograd.grad(context.sum(), (query, key, value))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16], ids=str)
def test_any_precision_will_do(dtype: torch.dtype, cuda: torch.device) -> None:
    inputs = [draw(1, 2, LENGTH, 32, device=cuda).detach().to(dtype) for _ in range(3)]
    context = attention(*inputs, mask=Window(32, 0))
    truth = attention(*inputs, mask=Window(32, 0), backend="reference")
    torch.testing.assert_close(context, truth, atol=2e-2, rtol=2e-2)


@pytest.mark.parametrize("arguments", [{"position": Rotary()}, {"score": Gaussian(4.0)}, {}], ids=str)
def test_other_parts_go_with_it(arguments: dict[str, Any], cuda: torch.device) -> None:
    inputs = [draw(2, 4, LENGTH, 32, device=cuda) for _ in range(3)]
    context = attention(*inputs, mask=Window(64, 0), backend="flex", **arguments)
    torch.testing.assert_close(
        context, attention(*inputs, mask=Window(64, 0), backend="reference", **arguments), atol=0.06, rtol=0.05
    )


@pytest.mark.parametrize("axes", [3, 4])
def test_alibi_slopes_belong_to_the_third_axis_from_the_end(axes: int, cuda: torch.device) -> None:
    lead = (4,) if axes == 3 else (2, 4)
    inputs = [draw(*lead, LENGTH, 32, device=cuda) for _ in range(3)]
    position = Alibi.of_heads(4, device=cuda)
    context = attention(*inputs, mask=Window(64, 0), position=position, backend="flex")
    truth = attention(*inputs, mask=Window(64, 0), position=position, backend="reference")
    torch.testing.assert_close(context, truth, atol=0.06, rtol=0.05)


def test_nan_where_nobody_looks_stays_there(cuda: torch.device) -> None:
    inputs = [draw(2, 4, LENGTH, 32, device=cuda).detach() for _ in range(3)]
    lengths = torch.tensor([1500, 40], device=cuda)
    mask = Window(64, 64) & Padding(lengths)
    clean = attention(*inputs, mask=mask, backend="flex")
    for tensor in inputs[1:]:
        tensor[0, :, 1500:], tensor[1, :, 40:] = torch.nan, torch.inf
    assert torch.equal(attention(*inputs, mask=mask, backend="flex"), clean)
    assert not clean[1, :, 200:].any()


def test_grouped_heads(cuda: torch.device) -> None:
    query = draw(2, 6, LENGTH, 32, device=cuda)
    key, value = draw(2, 2, LENGTH, 32, device=cuda), draw(2, 2, LENGTH, 32, device=cuda)
    context = attention(query, key, value, mask=Window(64, 0), grouped=True, backend="flex")
    truth = attention(query, key, value, mask=Window(64, 0), grouped=True, backend="reference")
    torch.testing.assert_close(context, truth, atol=0.06, rtol=0.05)


def test_the_gaussian_is_centered_on_the_keys_that_count(cuda: torch.device) -> None:
    """Nine keys in ten are padding at the origin, far from the others."""
    query, key, value = (draw(2, 4, 1000, 32, device=cuda).detach().float() for _ in range(3))
    lengths = torch.tensor([100, 80], device=cuda)
    inputs = query + 100, key + 100, value
    mask = Padding(lengths)
    truth = attention(*(tensor.double() for tensor in inputs), score=Gaussian(3.0), mask=mask, backend="reference")
    found = attention(*inputs, score=Gaussian(3.0), mask=mask, backend="flex")
    torch.testing.assert_close(found.double(), truth, atol=1e-2, rtol=1e-2)


def test_second_derivatives(cuda: torch.device) -> None:
    query, key = (draw(1, 1, 256, 32, device=cuda).detach().float().requires_grad_() for _ in range(2))
    results = []
    for backend in ("flex", "reference"):
        context = attention(query, key, mask=Window(16, 0), backend=backend)
        (slope,) = torch.autograd.grad(context.square().sum(), query, create_graph=True)
        results.append(torch.autograd.grad(slope.square().sum(), (query, key)))
    torch.testing.assert_close(*results, atol=1e-2, rtol=1e-2)


# Scores that functions change


def test_a_soft_cap_is_fused_and_right(cuda: torch.device) -> None:
    inputs = [draw(2, 4, 2048, 64, device=cuda) for _ in range(3)]
    score = Softcap(5.0)
    assert explain_backend(*inputs, score=score, mask=Causal()).chosen == "flex"
    results = []
    for backend in (None, "reference"):
        context = attention(*inputs, score=score, mask=Causal(), backend=backend)
        results.append([context, *torch.autograd.grad(context.float().square().sum(), inputs)])
    for found, truth in zip(*results, strict=True):
        torch.testing.assert_close(found, truth, atol=0.06, rtol=0.05)


@pytest.mark.parametrize("position", [None, "alibi"])
def test_a_function_of_score_and_indices_is_fused_and_right(position: str | None, cuda: torch.device) -> None:
    inputs = [draw(2, 4, 2048, 64, device=cuda) for _ in range(3)]
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.1], device=cuda)
    score = ScoreMod(lambda score, b, h, i, j: score - slopes[h] * (i - j).abs() / (1 + b))
    given = {} if position is None else {"position": Alibi.of_heads(4, device=cuda)}
    assert explain_backend(*inputs, score=score, **given).chosen == "flex"
    results = []
    for backend in (None, "reference"):
        context = attention(*inputs, score=score, backend=backend, **given)
        results.append([context, *torch.autograd.grad(context.float().square().sum(), inputs)])
    for found, truth in zip(*results, strict=True):
        torch.testing.assert_close(found, truth, atol=0.06, rtol=0.05)


def test_what_a_function_holds_gets_its_gradient_or_an_error(cuda: torch.device) -> None:
    """Never none without a word."""
    inputs = [draw(1, 4, 2048, 64, device=cuda).detach().float() for _ in range(3)]
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.1], device=cuda, requires_grad=True)

    def slope(backend: Any) -> Tensor:
        score = ScoreMod(lambda score, b, h, i, j: score - slopes[h] * (i - j).abs() / 100)
        context = attention(*inputs, score=score, backend=backend)
        return torch.autograd.grad(context.square().sum(), slopes)[0]

    torch.testing.assert_close(slope(None), slope("reference"), atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("mask", [Window(16, 0), Causal()], ids=repr)
def test_shared_inputs_have_one_first_derivative(mask: Any, cuda: torch.device) -> None:
    x = draw(1, 2, 256, 32, device=cuda).detach().float().requires_grad_()
    for make in (lambda: (x, x), lambda: (x, x.sin(), x), lambda: (x * 2, x)):
        slopes = []
        for again in (False, True):
            context = attention(*make(), mask=mask, backend="flex")
            slopes.append(torch.autograd.grad(context.square().sum(), x, create_graph=again)[0])
        torch.testing.assert_close(*slopes, atol=5e-3, rtol=5e-3)


def test_learned_slopes_learn(cuda: torch.device) -> None:
    inputs = [draw(1, 4, LENGTH, 32, device=cuda).detach() for _ in range(3)]
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.1], device=cuda, requires_grad=True)
    context = attention(*inputs, mask=Window(64, 0), position=Alibi(slopes=slopes))
    assert torch.autograd.grad(context.float().square().sum(), slopes)[0].abs().min() > 0
