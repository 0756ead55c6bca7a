"""The attention layers of a model, where hooks see each call, and how to put something between weights and context."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from regard.attention import Position
from regard.errors import ArgumentError
from regard.inspection.hugging_face.model import asks_for_attention, stand_ins
from regard.layers.attend import Attend

Change = Callable[[Tensor], Tensor]


def attention_layers(model: nn.Module) -> dict[str, nn.Module]:
    """Find every attention layer of a model by its dotted path, where recording and intervening act.

    It is an `Attend`, or an attention module of a Hugging Face model. A model that is itself a layer goes by the name
    of its class.

    >>> from regard.layers import MultiHeadAttention
    >>> list(attention_layers(nn.ModuleDict({"encoder": MultiHeadAttention(4, 2)})))
    ['encoder']
    >>> list(attention_layers(MultiHeadAttention(4, 2)))
    ['MultiHeadAttention']
    """
    result = _find_layers(model)
    if not result:
        raise ArgumentError(
            f"`model` must hold a layer that attends through regard.layers.Attend; received "
            f"{type(unwrapped(model)).__name__}, which holds none."
        )
    return result


def layers_with(model: nn.Module, part: str = "") -> list[str]:
    """Name the attention layers of a model whose name holds `part`: none for a model that does not attend.

    >>> layers_with(nn.Linear(2, 2))
    []
    """
    return [name for name in _find_layers(model) if part in name]


def _find_layers(model: nn.Module) -> dict[str, nn.Module]:
    model = unwrapped(model)
    result = {}
    for path, module in model.named_modules():
        if isinstance(module, Attend) or asks_for_attention(module):
            parts = [part for part in path.split(".") if part and part != "_orig_mod"]
            if parts and parts[-1] == "attend":
                parts.pop()
            result[".".join(parts) or type(model).__name__] = module
    if not result and _is_hugging_face(model):
        raise ArgumentError(
            "`model` must ask transformers for its attention function; received "
            f"{type(model).__name__}, which has one of its own. Update transformers, or see its weights by "
            'attn_implementation="eager" and output_attentions=True.'
        )
    return result


@contextmanager
def open_layers(model: nn.Module, *, required: bool = True) -> Iterator[dict[str, Attend]]:
    """Give for every attention layer the `Attend` whose hooks see its calls, while the context lasts.

    A model must have one, unless they are not `required`.
    """
    result = attention_layers(model) if required else _find_layers(model)
    ours = {name: layer for name, layer in result.items() if isinstance(layer, Attend)}
    others = {name: layer for name, layer in result.items() if name not in ours}
    if not others:
        yield ours
        return
    with stand_ins(unwrapped(model), others) as standing:
        yield {name: ours[name] if name in ours else standing[name] for name in result}


def _is_hugging_face(model: nn.Module) -> bool:
    library = sys.modules.get("transformers")
    return library is not None and isinstance(model, library.PreTrainedModel)


def unwrapped(model: nn.Module) -> nn.Module:
    """Take off what torch.compile and distributed training wrap around a model."""
    inner = model._modules.get("_orig_mod")
    if isinstance(model, nn.parallel.DistributedDataParallel):
        inner = model.module
    return model if inner is None else unwrapped(inner)


def four_axes(tensor: Tensor) -> Tensor:
    """Shape (*batch, query, key) as (batch, heads, query, key)."""
    if tensor.ndim > 3:
        return tensor.flatten(0, -4)
    return tensor.unsqueeze(1) if tensor.ndim == 3 else tensor[None, None]


@dataclass(frozen=True, eq=False)
class Wrapped(Position):
    """A call's own position, or none, and a change to the weights after it. The operator then gives up fused kernels.

    The position is where the operator lets one act on weights: what is put there also reaches whoever records.
    """

    inner: Position | None = field(kw_only=True)
    change: Change = field(kw_only=True)
    watches: bool = field(default=False, kw_only=True)

    def check(self, score: object, query: Tensor, key: Tensor, value: Tensor, shape: Sequence[int]) -> None:
        """As the call's own."""
        if self.inner is not None:
            self.inner.check(score, query, key, value, shape)

    def rotate(self, query: Tensor, key: Tensor, shape: Sequence[int]) -> tuple[Tensor, Tensor]:
        """As the call's own."""
        return (query, key) if self.inner is None else self.inner.rotate(query, key, shape)

    def bias(self, score: object, query: Tensor, key: Tensor, shape: Sequence[int]) -> Tensor | None:
        """As the call's own."""
        return None if self.inner is None else self.inner.bias(score, query, key, shape)

    def mask(self, shape: Sequence[int], device: torch.device) -> Tensor | None:
        """As the call's own."""
        return None if self.inner is None else self.inner.mask(shape, device)

    def reweight(self, weights: Tensor) -> Tensor:
        """Change the weights after the call's own position has."""
        weights = weights if self.inner is None else self.inner.reweight(weights)
        return self.change(weights)

    def context(self, weights: Tensor) -> Tensor | None:
        """As the call's own."""
        return None if self.inner is None else self.inner.context(weights)


def wrap(position: Position | None, change: Change, *, watches: bool = False) -> Wrapped:
    """Put a change after a position. One that only watches stays outermost, to see what is used in the end."""
    if isinstance(position, Wrapped) and position.watches and not watches:
        return replace(position, inner=wrap(position.inner, change))
    return Wrapped(inner=position, change=change, watches=watches)
