"""Checks that layers share: sizes, choices and widths, with messages in the house form."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass

from jaxtyping import Shaped
from torch import Tensor

from regard.attention.checks import check_count
from regard.errors import ArgumentError, nearest


def check_size(name: str, size: int) -> None:
    """Raise unless `size` counts something.

    >>> check_size("hidden_size", 0)
    Traceback (most recent call last):
    regard.errors.ArgumentError: `hidden_size` must be at least 1; received 0.
    """
    check_count(name, size)
    if size < 1:
        raise ArgumentError(f"`{name}` must be at least 1; received {size}.")


def check_choice(name: str, choice: str, choices: Iterable[str]) -> None:
    """Raise unless `choice` is one of `choices`, naming the one that was probably meant.

    >>> check_choice("score", "dott", ["dot", "general"])
    Traceback (most recent call last):
    regard.errors.ArgumentError: `score` must be one of dot, general; received "dott". Did you mean dot?
    """
    known = list(choices)
    if choice not in known:
        raise ArgumentError(
            f'`{name}` must be one of {", ".join(known)}; received "{choice}". {nearest(choice, known)}'
        )


def check_width(name: str, tensor: Shaped[Tensor, "..."], width: int) -> None:
    """Raise unless `tensor` is (batch, length, width)."""
    if tensor.ndim == 3 and tensor.size(-1) == width:
        return
    hint = f" One vector per batch element is a sequence of one: {name}[:, None]." if tensor.ndim == 2 else ""
    raise ArgumentError(f"`{name}` must have shape (batch, length, {width}); received {tuple(tensor.shape)}.{hint}")


def check_positive(name: str, number: float) -> None:
    """Raise unless `number` is above zero."""
    if not number > 0:
        raise ArgumentError(f"`{name}` must be positive; received {number}.")


def check_holds_no_parameters(name: str, value: object, module: str) -> None:
    """Raise if a plain value holds a tensor that is to be learned: no layer would train, save or move it."""
    if not is_dataclass(value) or isinstance(value, type):
        return
    for field in fields(value):
        held = getattr(value, field.name)
        if isinstance(held, Tensor) and held.requires_grad:
            raise ArgumentError(
                f"`{name}` must hold no tensor that is learned, since a plain value is neither trained nor saved with "
                f"the layer; received {type(value).__name__} with `{field.name}` requiring a gradient. Give a module "
                f"that owns it, such as {module}."
            )
