"""Intervene: what would the model do with other weights?"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from regard.attention import Mask, Position
from regard.attention.mask import as_mask
from regard.errors import ArgumentError
from regard.inspection.trace.attention_layers import Change, four_axes, open_layers, wrap
from regard.inspection.trace.distribution import uniform_weights
from regard.inspection.trace.trace import matching
from regard.layers.attend import Attend
from regard.layers.process_switches import eager

Forced = Float[Tensor, "..."] | Callable[[Tensor], Tensor] | Literal["uniform"]


@contextmanager
def intervene(
    model: nn.Module,
    *,
    weights: Mapping[str, Forced] | None = None,
    mask: Mapping[str, Mask | Tensor] | None = None,
) -> Iterator[None]:
    """Force the weights of some layers, or hide keys from them, while the context lasts.

    - `weights`: by layer name or pattern, a tensor that broadcasts to (batch, heads, query, key), or a function from
      the layer's own weights, of that shape, to others. The context is computed from what it gives. A key that is
      masked stays so, whatever the weight forced on it. "uniform" gives the keys that are not masked one weight each,
      and every row the sum it had.
    - `mask`: by layer name or pattern, a mask or boolean tensor to join with the layer's own: True = may attend. The
      weights left share what the others had.

    Recording meanwhile shows the weights as they were forced. Compiled models run uncompiled.

    >>> import torch
    >>> from regard.layers import SelfAttention
    >>> layer, x = SelfAttention(), torch.eye(2)[None]
    >>> with intervene(layer, weights={"SelfAttention": lambda weights: weights.flip(-1)}):
    ...     layer(x)
    tensor([[[0.2689, 0.7311], [0.7311, 0.2689]]])
    >>> with intervene(layer, mask={"*": torch.tensor([[True, False]])}):
    ...     layer(x)
    tensor([[[1., 0.], [1., 0.]]])
    """
    for forced in (weights or {}).values():
        if isinstance(forced, str) and forced != "uniform":
            raise ArgumentError(f'`weights` must be tensors, functions or "uniform"; received "{forced}".')
    with ExitStack() as stack:
        result = stack.enter_context(open_layers(model))
        stack.enter_context(eager)
        for pattern, hidden in (mask or {}).items():
            for name in matching(pattern, result):
                stack.callback(_hide(result[name], hidden).remove)
        for pattern, forced in (weights or {}).items():
            for name in matching(pattern, result):
                stack.callback(_force(result[name], forced).remove)
        yield


def _hide(attend: Attend, hidden: Mask | Tensor) -> RemovableHandle:
    """Join a mask with that of every call of one layer."""

    def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        query: Tensor = args[0] if args else kwargs["query"]
        headless = isinstance(hidden, Tensor) and hidden.ndim == 4 and query.ndim == 3
        new = as_mask(hidden.squeeze(1) if headless and isinstance(hidden, Tensor) else hidden)
        own = kwargs.get("mask")
        return args, {**kwargs, "mask": new if own is None else as_mask(own) & new}

    return attend.register_forward_pre_hook(before, with_kwargs=True)


def _force(attend: Attend, forced: Forced) -> RemovableHandle:
    """Change the weights of every call of one layer."""

    def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        mask, position = kwargs.get("mask"), kwargs.get("position")
        change = _changing(forced, None if mask is None else as_mask(mask), position)
        return args, {**kwargs, "position": wrap(position, change)}

    return attend.register_forward_pre_hook(before, with_kwargs=True)


def _changing(forced: Forced, mask: Mask | None, position: Position | None) -> Change:
    """Make a function of one call's weights, which leaves masked keys at zero; a recorder gets the same."""
    answer: list[Tensor] = []

    def change(weights: Tensor) -> Tensor:
        if not answer:
            allowed = _allowed(weights, mask, position)
            if isinstance(forced, str):
                new = uniform_weights(weights, allowed)
            else:
                new = _fitting(forced if isinstance(forced, Tensor) else forced(four_axes(weights)), weights)
            answer.append(new if allowed is None else new.masked_fill(~allowed, 0.0))
        return answer[0]

    return change


def _allowed(weights: Tensor, mask: Mask | None, position: Position | None) -> Tensor | None:
    """Give where a call may attend, by its mask and by the window of its position."""
    allowed = None if mask is None else mask.dense(weights.shape, weights.device)
    window = None if position is None else position.mask(weights.shape, weights.device)
    if allowed is not None and window is not None:
        allowed = allowed & window
    both = window if allowed is None else allowed
    return None if both is None else both.expand(weights.shape)


def _fitting(new: Tensor, weights: Tensor) -> Tensor:
    """Shape forced weights, (batch, heads, query, key), as the layer has them."""
    expected = four_axes(weights).shape
    try:
        return new.to(weights).expand(expected).reshape(weights.shape)
    except RuntimeError:
        raise ArgumentError(
            f"forced weights must broadcast to (batch, heads, query, key) = {tuple(expected)}; "
            f"received {tuple(new.shape)}."
        ) from None
