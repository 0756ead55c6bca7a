"""Precision, shape and name: what the parts of the operator ask about a tensor or a thing."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

#: The tensors of a call as scores, normalizers and positions take them; leading axes broadcast.
Queries = Float[Tensor, "*queries query query_size"]
Keys = Float[Tensor, "*keys key key_size"]
Values = Float[Tensor, "*values key value_size"]
Scores = Float[Tensor, "*scores query key"]


def autocasts(device: torch.device) -> bool:
    """Return whether autocast is on for the device; tensors without data have none."""
    return device.type != "meta" and torch.is_autocast_enabled(device.type)


def widened(tensor: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Give half precision as float32."""
    return tensor.float() if tensor.dtype.itemsize < 4 else tensor


def kernel_dtype(tensor: Shaped[Tensor, "..."]) -> torch.dtype:
    """Give the precision a fused kernel computes in: the tensor's own, or that of autocast."""
    if autocasts(tensor.device) and tensor.dtype != torch.float64:
        return torch.get_autocast_dtype(tensor.device.type)
    return tensor.dtype


def broadcasts(received: Sequence[int], shape: Sequence[int]) -> bool:
    """Return whether a tensor of shape `received` can be expanded to `shape`."""
    pairs = zip(reversed(received), reversed(shape), strict=False)
    return len(received) <= len(shape) and all(size == 1 or size == expected for size, expected in pairs)


def name_of(thing: object) -> str:
    """Name a score, normalizer or function for a message."""
    return str(getattr(thing, "__name__", None) or type(thing).__name__)
