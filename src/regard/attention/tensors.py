"""Precision and shape of tensors: what the parts of the operator ask about them, and the errors they share."""

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.errors import ArgumentError, ArgumentTypeError


def autocasts(device: torch.device) -> bool:
    """Tell whether autocast is on for the device; tensors without data have none."""
    return device.type != "meta" and torch.is_autocast_enabled(device.type)


def widened(tensor: Tensor) -> Tensor:
    """Give half precision as float32."""
    return tensor.float() if tensor.dtype.itemsize < 4 else tensor


def kernel_dtype(tensor: Tensor) -> torch.dtype:
    """Give the precision a fused kernel computes in: the tensor's own, or that of autocast."""
    if autocasts(tensor.device) and tensor.dtype != torch.float64:
        return torch.get_autocast_dtype(tensor.device.type)
    return tensor.dtype


def broadcasts(found: Sequence[int], shape: Sequence[int]) -> bool:
    """Tell whether a tensor of shape `found` can be expanded to `shape`."""
    pairs = zip(reversed(found), reversed(shape), strict=False)
    return len(found) <= len(shape) and all(size == 1 or size == wanted for size, wanted in pairs)


def check_tensor(name: str, value: object) -> None:
    """Raise unless `value` is a tensor."""
    if not isinstance(value, Tensor):
        raise ArgumentTypeError(f"`{name}` must be a tensor; received {type(value).__name__}.")


def check_heads(name: str, heads: int, shape: Sequence[int]) -> None:
    """Raise unless axis −3 of the scores holds as many heads as the parameter."""
    found = shape[-3] if len(shape) > 2 else None
    if found != heads:
        was = "no such axis" if found is None else str(found)
        raise ArgumentError(
            f"`{name}` speaks of {heads} heads, so the third axis from the end of query and key must be {heads}; "
            f"received {was}. Shapes are (batch, heads, length, width)."
        )


def check_parameter(
    name: str, parameter: Tensor, expected: tuple[int, ...], meaning: str, shape: Sequence[int]
) -> None:
    """Raise unless `parameter` has the shape `expected`, or that with an axis for the scores' heads before it."""
    check_tensor(name, parameter)
    found = tuple(parameter.shape)
    if found[-len(expected) :] != expected or len(found) > len(expected) + 1:
        raise ArgumentError(
            f"`{name}` must have shape {meaning} = {expected}, or (heads, …) before it; received {found}."
        )
    if len(found) > len(expected):
        check_heads(name, found[0], shape)


def check_factor(name: str, factor: float | Tensor | None, shape: Sequence[int]) -> None:
    """Raise unless `factor` is a number, or a tensor that does not vary along the keys."""
    if not isinstance(factor, Tensor):
        return
    rows = (*shape[:-1], 1)
    if not broadcasts(factor.shape, rows):
        raise ArgumentError(
            f"`{name}` must be a number or broadcast to (*batch, query, 1) = {rows}; received {tuple(factor.shape)}. "
            f"For a number per head write {name}.view(-1, 1, 1)."
        )


def check_positive(name: str, value: float | Tensor) -> None:
    """Raise if `value` is a number that is not positive."""
    if not isinstance(value, Tensor) and not value > 0:
        raise ArgumentError(f"`{name}` must be positive; received {value}.")
