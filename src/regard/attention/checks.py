"""What the parts of the operator ask of their arguments, and the errors they share.

No check reads the numbers in a tensor, so all of them hold under `torch.compile`.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from regard.attention.tensors import broadcasts
from regard.errors import ArgumentError, ArgumentTypeError

#: The precisions attention is computed in.
PRECISIONS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)


def check_tensor(name: str, value: object) -> None:
    """Raise unless `value` is a tensor."""
    if not isinstance(value, Tensor):
        raise ArgumentTypeError(f"`{name}` must be a tensor; received {type(value).__name__}.")


def check_numbers(name: str, tensor: Tensor) -> None:
    """Raise unless the tensor is dense and holds real numbers of a precision attention is computed in."""
    if tensor.dtype not in PRECISIONS:
        if not tensor.dtype.is_floating_point:
            raise ArgumentTypeError(f"`{name}` must hold floating-point numbers; received {tensor.dtype}.")
        raise ArgumentTypeError(
            f"`{name}` must be float32, bfloat16, float16 or float64; received {tensor.dtype}. Convert it first: "
            f"{name}.to(torch.bfloat16)."
        )
    if tensor.is_nested:
        raise ArgumentTypeError(
            f"`{name}` must be a dense tensor; received a nested one. Pack its rows: {name}.values()[None] with "
            "mask=Documents.of_lengths(lengths), or pad them and write mask=Padding(lengths)."
        )
    if tensor.layout is not torch.strided:
        raise ArgumentTypeError(
            f"`{name}` must be a dense tensor; received one of layout {tensor.layout}. Write {name}.to_dense()."
        )


def check_device(name: str, tensor: Tensor, device: torch.device) -> None:
    """Raise unless the tensor is where the query is; another device's memory would be read as if it were there."""
    if tensor.device != device:
        raise ArgumentError(
            f"`{name}` must be on the device of `query`, {device}; received {tensor.device}. Write "
            f"{name}.to(query.device)."
        )


def check_flag(name: str, value: object) -> None:
    """Raise unless `value` is True or False."""
    if value is not True and value is not False:
        raise ArgumentTypeError(f"`{name}` must be True or False; received {value!r}.")


def check_count(name: str, value: object) -> None:
    """Raise unless `value` is a whole number, which True is not."""
    if isinstance(value, bool) or not isinstance(value, (int, torch.SymInt)):
        raise ArgumentTypeError(f"`{name}` must be a whole number; received {value!r}.")


def check_number(name: str, value: object, *, positive: bool = False) -> None:
    """Raise unless `value` is a finite number, above zero if so asked."""
    if isinstance(value, bool) or not isinstance(value, (int, float, torch.SymFloat)):
        raise ArgumentTypeError(f"`{name}` must be a number; received {value!r}.")
    if isinstance(value, torch.SymFloat):
        return
    if positive and not value > 0:
        raise ArgumentError(f"`{name}` must be positive; received {value}.")
    if not math.isfinite(value):
        raise ArgumentError(f"`{name}` must be a finite number; received {value}.")


def undefined(thing: object, method: str) -> ArgumentTypeError:
    """Report that a class of yours lacks what every one of its kind must have.

    Base classes say so themselves instead of being abstract: Python's check of an abstract class takes ten times as
    long as that of a plain one, and a small call makes twenty.
    """
    return ArgumentTypeError(f"{type(thing).__name__} must define `{method}`; received a class that does not.")


def check_callable(name: str, value: object, expected: str) -> None:
    """Raise unless `value` can be called."""
    if not callable(value):
        raise ArgumentTypeError(f"`{name}` must be {expected}; received {type(value).__name__}.")


def check_heads(name: str, heads: int, shape: Sequence[int]) -> None:
    """Raise unless axis −3 of the scores holds as many heads as the parameter."""
    result = shape[-3] if len(shape) > 2 else None
    if result != heads:
        was = "no such axis" if result is None else str(result)
        raise ArgumentError(
            f"`{name}` speaks of {heads} heads, so the third axis from the end of query and key must be {heads}; "
            f"received {was}. Shapes are (batch, heads, length, width)."
        )


def check_parameter(
    name: str, parameter: Tensor, expected: tuple[int, ...], meaning: str, shape: Sequence[int], device: torch.device
) -> None:
    """Raise unless `parameter` has the shape `expected`, or that with an axis for the scores' heads before it."""
    check_tensor(name, parameter)
    check_numbers(name, parameter)
    check_device(name, parameter, device)
    result = tuple(parameter.shape)
    if result[-len(expected) :] != expected or len(result) > len(expected) + 1:
        raise ArgumentError(
            f"`{name}` must have shape {meaning} = {expected}, or (heads, …) before it; received {result}."
        )
    if len(result) > len(expected):
        check_heads(name, result[0], shape)


def check_factor(name: str, factor: float | Tensor | None, shape: Sequence[int], device: torch.device) -> None:
    """Raise unless `factor` is a number, or a tensor that does not vary along the keys."""
    if not isinstance(factor, Tensor):
        return
    check_numbers(name, factor)
    check_device(name, factor, device)
    rows = (*shape[:-1], 1)
    if not broadcasts(factor.shape, rows):
        raise ArgumentError(
            f"`{name}` must be a number or broadcast to (*batch, query, 1) = {rows}; received {tuple(factor.shape)}. "
            f"For a number per head write {name}.view(-1, 1, 1)."
        )
