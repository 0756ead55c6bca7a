"""How exactly to compute."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from regard.config.train import Precision


def find_precision(precision: Precision, device: torch.device) -> Precision:
    """Return what "auto" is on a device: bf16 on a GPU that computes in it, fp32 elsewhere.

    >>> find_precision("auto", torch.device("cpu")), find_precision("tf32", torch.device("cpu"))
    ('fp32', 'tf32')
    """
    if precision != "auto":
        return precision
    # Emulated, it would be slower than fp32.
    return "bf16" if device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"


def autocast(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """Compute the forward pass in bf16 where asked; parameters and sums stay in fp32."""
    return torch.autocast(device.type, torch.bfloat16) if precision == "bf16" else nullcontext()


@contextmanager
def matrix_products(precision: Precision) -> Iterator[None]:
    """Let matrix products in fp32 use TF32 while training, where asked, and leave the setting as it was."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def matrices_of_linears(module: nn.Module) -> dict[str, Tensor]:
    """Give the matrices, by name, that autocast rounds for linear layers and nothing else uses."""
    shared = {id(item.weight) for item in module.modules() if isinstance(item, nn.Embedding)}
    named = ((f"{name}.weight", item) for name, item in module.named_modules() if type(item) is nn.Linear)
    return {name: item.weight for name, item in named if id(item.weight) not in shared}


def round_to_bfloat16(tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Round many tensors in a few kernels; their gradients come back in the same way.

    >>> round_to_bfloat16([torch.ones(2)])
    (tensor([1., 1.], dtype=torch.bfloat16),)
    """
    return _Rounded.apply(*tensors)  # type: ignore[no-any-return, no-untyped-call]


class _Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        return tuple(_converted(tensors, torch.bfloat16))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        converted = iter(_converted([item for item in gradients if item is not None], torch.float32))
        return tuple(None if item is None else next(converted) for item in gradients)


def _converted(tensors: Iterable[Tensor], dtype: torch.dtype) -> list[Tensor]:
    tensors = list(tensors)
    result = [torch.empty_like(item, dtype=dtype) for item in tensors]
    if result:
        torch._foreach_copy_(result, tensors)
    return result
