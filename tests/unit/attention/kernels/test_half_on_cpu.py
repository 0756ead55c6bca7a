"""Half precision on a CPU: the kernel's own forward pass, and a backward pass in float32 where that is quicker."""

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regard import Causal, Padding, Sink, attention
from regard.attention.kernels.with_log import FEW_KEYS_OF_HALF
from regard.attention.mask import Mask

HALVES = [torch.bfloat16, torch.float16]
MASKS = [None, Causal(), Padding(torch.tensor([20, 7])), Padding(torch.tensor([20, 0]))]


class Kernels(TorchDispatchMode):
    """Keep the precision in which torch's fused kernel is called, forward and backward."""

    def __init__(self) -> None:
        super().__init__()
        self.forward: list[torch.dtype] = []
        self.backward: list[torch.dtype] = []
        self.mask_bytes: list[int] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        if "flash_attention_for_cpu" in str(func):
            if kwargs and kwargs.get("attn_mask") is not None:
                self.mask_bytes.append(kwargs["attn_mask"].untyped_storage().nbytes())
            (self.backward if "backward" in str(func) else self.forward).append(args[0].dtype)
        return func(*args, **(kwargs or {}))


def tensors(dtype: torch.dtype, *, keys: int = 20, wants_gradient: bool = True) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = [(2, 3, 20, 16), (2, 3, keys, 16), (2, 3, keys, 16)]
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_(wants_gradient) for shape in shapes]


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("keys", [3, 20, FEW_KEYS_OF_HALF])
def test_with_few_keys_the_backward_pass_is_in_float32(dtype: torch.dtype, keys: int) -> None:
    query, key, value = tensors(dtype, keys=keys)
    with Kernels() as kernels:
        attention(query, key, value).sum().backward()
    assert (kernels.forward, kernels.backward) == ([dtype], [torch.float32])
    assert query.grad is not None
    assert query.grad.dtype is dtype


def test_with_many_keys_it_is_in_bfloat16_and_never_in_float16() -> None:
    with Kernels() as kernels:
        for dtype in HALVES:
            attention(*tensors(dtype, keys=FEW_KEYS_OF_HALF + 1)).sum().backward()
    assert (kernels.forward, kernels.backward) == (HALVES, [torch.bfloat16, torch.float32])


@pytest.mark.parametrize("dtype", HALVES)
def test_a_mask_is_not_written_out_for_heads_and_queries(dtype: torch.dtype) -> None:
    with Kernels() as kernels:
        attention(*tensors(dtype), mask=Padding(torch.tensor([20, 7]))).sum().backward()
    assert kernels.backward == [torch.float32]
    assert kernels.mask_bytes[-1] == 2 * 20 * torch.float32.itemsize


def test_autocast_is_half_precision_too() -> None:
    query, key, value = tensors(torch.float32)
    with torch.autocast("cpu", torch.bfloat16), Kernels() as kernels:
        context = attention(query, key, value)
        context.sum().backward()
    assert (kernels.forward, kernels.backward) == ([torch.bfloat16], [torch.float32])
    assert context.dtype is torch.bfloat16


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(
    ("dtype", "autocast"), [(torch.bfloat16, False), (torch.float16, False), (torch.float32, True)]
)
def test_the_context_does_not_depend_on_what_else_is_asked_for(
    dtype: torch.dtype, autocast: bool, mask: Mask | None
) -> None:
    query, key, value = tensors(dtype)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        context = attention(query, key, value, mask=mask)
        beside_weights = attention(query, key, value, mask=mask, return_weights=True).context
        beside_log = attention(query, key, value, mask=mask, return_log_normalizer=True).context
        with torch.no_grad():
            untracked = attention(query, key, value, mask=mask)
    for other in (beside_weights, beside_log, untracked):
        assert torch.equal(context, other)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("biased", [False, True])
def test_gradients_are_as_exact_as_half_precision_allows(dtype: torch.dtype, mask: Mask | None, biased: bool) -> None:
    ours = tensors(dtype)
    exact = [tensor.detach().double().requires_grad_() for tensor in ours]
    bias = torch.linspace(-2, 2, 400).view(20, 20).to(dtype) if biased else None
    context = attention(*ours, mask=mask, bias=bias)
    expected = attention(*exact, mask=mask, bias=None if bias is None else bias.double(), backend="reference")
    direction = torch.linspace(-1, 1, context.numel()).view_as(context).to(dtype)
    found = torch.autograd.grad(context, ours, direction)
    wanted = torch.autograd.grad(expected, exact, direction.double())
    rounding = torch.finfo(dtype).eps
    for one, other in zip((context, *found), (expected, *wanted), strict=True):
        torch.testing.assert_close(one.double(), other, rtol=4 * rounding, atol=2 * rounding)


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients_beside_a_sink_and_of_log_normalizers(dtype: torch.dtype) -> None:
    ours = tensors(dtype)
    exact = [tensor.detach().double().requires_grad_() for tensor in ours]
    sinks = [torch.zeros(3, dtype=items[0].dtype) for items in (ours, exact)]
    found, wanted = (
        torch.autograd.grad(
            attention(*items, normalize=Sink(sink)).sum()
            + attention(*items, return_log_normalizer=True).log_normalizer.sum(),
            items,
        )
        for items, sink in zip((ours, exact), sinks, strict=True)
    )
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=0.02, atol=0.02)


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
