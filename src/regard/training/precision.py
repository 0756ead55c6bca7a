"""How exactly to compute."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

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
