"""Tensors on their way to the page: exact 32-bit numbers where they are few, a byte each where they are many."""

import base64
from typing import NotRequired, TypedDict

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from regard.inspection.trace.packed import pack_levels

EXACT = 2**20
"""Weights that are sent exactly; of more, a page asks for the rows it shows in numbers."""


class Packed(TypedDict):
    """A tensor in JSON; `web/src/tensor.ts` reads it."""

    shape: list[int]
    float32: NotRequired[str]
    """The numbers, row after row, as base64 of little-endian IEEE 754."""
    bytes: NotRequired[str]
    """Or each as a share of `scale`, in steps of 1/255, deflated, as base64."""
    scale: NotRequired[float]


def pack(tensor: Shaped[Tensor, "..."]) -> Packed:
    """Pack a tensor of any shape; float32 numbers arrive bit for bit.

    >>> pack(torch.tensor([[0.5, 1.0]]))
    {'shape': [1, 2], 'float32': 'AAAAPwAAgD8='}
    """
    numbers = tensor.detach().to("cpu", torch.float32).contiguous().numpy().astype("<f4", copy=False)
    return {"shape": list(tensor.shape), "float32": base64.b64encode(numbers.tobytes()).decode("ascii")}


def pack_weights(weights: Float[Tensor, "..."], *, exact: int = EXACT) -> Packed:
    """Pack weights, 0 or more: exactly where there are at most `exact` of them, else to within 1/510.

    Where some are above 1, as where an operation does not normalize, it is 1/510 of the largest.
    """
    if weights.numel() <= exact:
        return pack(weights)
    scale = max(float(weights.max()), 1.0)
    return {"shape": list(weights.shape), "bytes": pack_levels(weights / scale), "scale": scale}
