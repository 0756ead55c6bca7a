"""Values as a learner reads them, and whether two are the same."""

import math
import numbers
from typing import Any

import torch
from torch import Tensor

MOST = 60
"""Numbers of a tensor that are written out."""
SAME_FORM = "The values differ."
"""What is written where form and type are right."""


def write(value: Any) -> str:
    """Write a value in a few lines.

    >>> write(torch.tensor([[0.5, 1.0], [2.0, -3.25]]))
    'tensor([[0.5, 1], [2, -3.25]])'
    >>> write({"a": (1, None)}), write(torch.zeros(100, 3).bool())
    ("{'a': (1, None)}", 'a tensor of shape (100, 3) of bool')
    """
    if not isinstance(value, Tensor):
        return f"{value:.6g}" if isinstance(value, float) else _shorten(_write_plain(value))
    if value.numel() > MOST:
        return f"a tensor of shape {tuple(value.shape)} of {str(value.dtype).removeprefix('torch.')}"
    return f"tensor({_write_list(value.detach().cpu().tolist())})"


def _write_plain(value: Any) -> str:
    match value:
        case Tensor():
            return write(value)
        case list():
            return f"[{', '.join(map(_write_plain, value))}]"
        case tuple():
            return f"({', '.join(map(_write_plain, value))}{',' if len(value) == 1 else ''})"
        case dict():
            return f"{{{', '.join(f'{key!r}: {_write_plain(item)}' for key, item in value.items())}}}"
        case float():
            return f"{value:.6g}"
        case _:
            return repr(value)


def _write_list(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_write_list, value))}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _shorten(text: str, letters: int = 600) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"


def difference(expected: Any, received: Any, *, tolerance: float) -> str | None:
    """Give in what a value differs from the expected one; None where it does not.

    >>> difference(torch.ones(2, 1), torch.ones(1, 2), tolerance=1e-4)
    'The shape must be (2, 1); it is (1, 2).'
    >>> difference(0.5, torch.tensor(0.5), tolerance=1e-4), difference({1, 2}, {1}, tolerance=0.0)
    (None, 'The values differ.')
    """
    if received is None and expected is not None:
        return "The function gives None: is the `return` missing?"
    if isinstance(expected, Tensor):
        return _tensor_difference(expected, received, tolerance)
    if isinstance(received, Tensor) and received.numel() == 1:
        received = received.item()
    match expected:
        case bool() | str() | None:
            return None if received == expected and type(received) is type(expected) else SAME_FORM
        case int() | float():
            return _number_difference(float(expected), received, tolerance)
        case list() | tuple() if isinstance(received, list | tuple):
            if len(received) != len(expected):
                return f"There must be {len(expected)} items; there are {len(received)}."
            pairs = zip(expected, received, strict=True)
            return next((text for one, other in pairs if (text := difference(one, other, tolerance=tolerance))), None)
        case dict() if isinstance(received, dict) and received.keys() == expected.keys():
            items = ((expected[key], received[key]) for key in expected)
            return next((text for one, other in items if (text := difference(one, other, tolerance=tolerance))), None)
    if type(received) is not type(expected):
        return f"The result must be of type {type(expected).__name__}; it is of type {type(received).__name__}."
    return None if received == expected else SAME_FORM


def _number_difference(expected: float, received: Any, tolerance: float) -> str | None:
    if isinstance(received, bool) or not isinstance(received, numbers.Real):
        return f"The result must be a number; it is of type {type(received).__name__}."
    if math.isnan(float(received)) or math.isnan(expected):
        return None if math.isnan(float(received)) and math.isnan(expected) else "The result is not a number (NaN)."
    return None if math.isclose(expected, received, rel_tol=tolerance, abs_tol=tolerance) else SAME_FORM


def _tensor_difference(expected: Tensor, received: Any, tolerance: float) -> str | None:
    if not isinstance(received, Tensor):
        if not isinstance(received, int | float | list | tuple):
            return f"The result must be a tensor; it is of type {type(received).__name__}."
        try:
            received = torch.tensor(received)
        except (TypeError, ValueError, RuntimeError):
            return f"The result must be a tensor; it is of type {type(received).__name__}."
    if received.shape != expected.shape:
        return f"The shape must be {tuple(expected.shape)}; it is {tuple(received.shape)}."
    if (expected.dtype == torch.bool) != (received.dtype == torch.bool):
        return f"The result must be of {expected.dtype}; it is of {received.dtype}."
    one, other = expected.detach().double(), received.detach().double()
    if other.isnan().any() and not one.isnan().any():
        return "The result holds NaN."
    return None if torch.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True) else SAME_FORM
