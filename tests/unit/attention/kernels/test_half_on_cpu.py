"""Half precision on a CPU: short calls that want gradients go through the kernel in float32, all others as they are."""

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regard import Causal, Padding, attention
from regard.attention.kernels.torch_kernel import FEW_KEYS_OF_HALF
from regard.attention.mask import Mask

HALVES = [torch.bfloat16, torch.float16]
MASKS = [None, Causal(), Padding(torch.tensor([20, 7]))]


class Kernels(TorchDispatchMode):
    """Keep the precision in which torch's fused kernel is called."""

    def __init__(self) -> None:
        super().__init__()
        self.precisions: list[torch.dtype] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        if "flash_attention_for_cpu" in str(func):
            self.precisions.append(args[0].dtype)
        return func(*args, **(kwargs or {}))


def tensors(dtype: torch.dtype, *, keys: int = 20, wants_gradient: bool = True) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = [(2, 3, 20, 16), (2, 3, keys, 16), (2, 3, keys, 16)]
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_(wants_gradient) for shape in shapes]


@pytest.mark.parametrize("dtype", HALVES)
def test_the_kernel_computes_in_float32_where_gradients_are_wanted_and_keys_are_few(dtype: torch.dtype) -> None:
    with Kernels() as kernels:
        context = attention(*tensors(dtype))
    assert kernels.precisions == [torch.float32]
    assert context.dtype is dtype


@pytest.mark.parametrize("dtype", HALVES)
def test_the_kernel_computes_in_half_precision_without_gradients_and_with_many_keys(dtype: torch.dtype) -> None:
    with Kernels() as kernels:
        attention(*tensors(dtype, wants_gradient=False))
        with torch.no_grad():
            attention(*tensors(dtype))
        attention(*tensors(dtype, keys=FEW_KEYS_OF_HALF + 1))
    assert kernels.precisions == [dtype] * 3


def test_autocast_is_half_precision_too() -> None:
    with torch.autocast("cpu", torch.bfloat16), Kernels() as kernels:
        context = attention(*tensors(torch.float32))
    assert kernels.precisions == [torch.float32]
    assert context.dtype is torch.bfloat16


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("biased", [False, True])
def test_context_and_gradients_are_exact_but_for_one_rounding(
    dtype: torch.dtype, mask: Mask | None, biased: bool
) -> None:
    ours = tensors(dtype)
    exact = [tensor.detach().double().requires_grad_() for tensor in ours]
    bias = torch.linspace(-2, 2, 400).view(20, 20).to(dtype) if biased else None
    context = attention(*ours, mask=mask, bias=bias)
    expected = attention(*exact, mask=mask, bias=None if bias is None else bias.double(), backend="reference")
    rounding = torch.finfo(dtype).eps
    torch.testing.assert_close(context.double(), expected, rtol=rounding, atol=rounding / 100)
    direction = torch.linspace(-1, 1, context.numel()).view_as(context).to(dtype)
    found = torch.autograd.grad(context, ours, direction)
    wanted = torch.autograd.grad(expected, exact, direction.double())
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=rounding, atol=rounding / 100)


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients_can_be_differentiated_again(dtype: torch.dtype) -> None:
    ours = tensors(dtype)
    exact = [tensor.detach().double().requires_grad_() for tensor in ours]
    found, wanted = (
        torch.autograd.grad(
            torch.autograd.grad(attention(*items, mask=Causal()).square().sum(), items, create_graph=True)[0].sum(),
            items,
        )
        for items in (ours, exact)
    )
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=0.05, atol=0.02 * float(other.abs().max()))
