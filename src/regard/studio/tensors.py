"""Tensors on their way to the page: exact 32-bit numbers where they are few, a byte each where they are many."""

import base64
from typing import NotRequired  # whose TypedDict pydantic reads on Python 3.11

import torch
from jaxtyping import Float, Shaped
from torch import Tensor
from typing_extensions import TypedDict

from regard.inspection.trace.packed import LEVELS, pack_levels

EXACT = 2**20
"""Weights that are sent exactly; of more, a page asks for the rows it shows in numbers."""


ROOT_LEVELS = 95
"""Steps of the root of a weight, where a map is rounded: weights near 0.002 and near 0.9 both stay distinct."""


class Packed(TypedDict):
    """A tensor in JSON, row after row; `web/src/tensor.ts` reads it."""

    shape: list[int]
    float32: NotRequired[str]
    """The numbers as base64 of little-endian IEEE 754."""
    roots: NotRequired[str]
    """Or the root of each share of `scale`, in steps of 1/95, as bytes, deflated, as base64."""
    scale: NotRequired[float]


class PackedShares(TypedDict):
    """A tensor in JSON as `regard serve` sends it."""

    shape: list[int]
    float32: NotRequired[str]
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


def pack_map(weights: Float[Tensor, "..."], *, exact: int = EXACT) -> Packed:
    r"""Pack weights, 0 or more: exactly where there are at most `exact` of them, else by their roots.

    $$b = \mathrm{round}(95 \sqrt{\alpha / s}), \qquad \alpha \approx s\,(b/95)^2$$

    where $s$ is 1, or the largest weight where that is more, as where an operation does not normalize.
    """
    if weights.numel() <= exact:
        return pack(weights)
    scale = max(float(weights.max()), 1.0)
    levels = (weights / scale).clamp_min(0.0).sqrt() * ROOT_LEVELS / LEVELS
    return {"shape": list(weights.shape), "roots": pack_levels(levels), "scale": scale}


def pack_weights(weights: Float[Tensor, "..."], *, exact: int = EXACT) -> PackedShares:
    """Pack weights for `regard serve`: exactly where there are at most `exact` of them, else to within 1/510.

    Where some are above 1, as where an operation does not normalize, it is 1/510 of the largest.
    """
    if weights.numel() <= exact:
        packed = pack(weights)
        return {"shape": packed["shape"], "float32": packed["float32"]}
    scale = max(float(weights.max()), 1.0)
    return {"shape": list(weights.shape), "bytes": pack_levels(weights / scale), "scale": scale}
