"""Calls of `regard.attention` that the modules of a model make themselves, not through an attention layer."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from regard.attention import Position
from regard.attention.observe import observing
from regard.inspection.hugging_face.model import asks_for_attention
from regard.inspection.trace.attention_layers import unwrapped
from regard.layers.attend import Attend

#: Given the module's name, query, key, value and the keyword arguments; gives the position to call with.
Tell: TypeAlias = Callable[[str, Tensor, Tensor, Tensor | None, dict[str, Any]], Position | None]


def callers(model: nn.Module) -> dict[str, nn.Module]:
    """Find by their dotted paths the modules whose `forward` may call the operator: all but torch's own.

    The model itself goes by the name of its class.

    >>> class Own(nn.Module): ...
    >>> list(callers(nn.Sequential(Own(), nn.Linear(2, 2))))
    ['0']
    """
    model = unwrapped(model)
    return {
        ".".join(part for part in path.split(".") if part and part != "_orig_mod") or type(model).__name__: module
        for path, module in model.named_modules()
        if not type(module).__module__.startswith("torch.") and not isinstance(module, torch.jit.ScriptModule)
    }


@contextmanager
def functional_calls(model: nn.Module, tell: Tell) -> Iterator[None]:
    """Report each call of the operator in the `forward` of a module of the model, while the context lasts.

    Calls through an attention layer are left out: its hooks see them. So are those that no `forward` makes, such as a
    method that is called from outside, and those of other threads.
    """
    running = _Running()

    def observe(query: Tensor, key: Tensor, value: Tensor | None, options: dict[str, Any]) -> Position | None:
        name = running.names[-1] if running.names else None
        position: Position | None = options["position"]
        return position if name is None else tell(name, query, key, value, options)

    with ExitStack() as stack:
        for name, module in callers(model).items():
            recorded_by_hooks = isinstance(module, Attend) or asks_for_attention(module)
            for handle in _follow(module, None if recorded_by_hooks else name, running):
                stack.callback(handle.remove)
        stack.enter_context(observing(observe))
        yield


class _Running(threading.local):
    """The modules whose `forward` runs in this thread, the innermost last; None for an attention layer."""

    def __init__(self) -> None:
        self.names: list[str | None] = []


def _follow(module: nn.Module, name: str | None, running: _Running) -> list[Any]:
    """Note when a module begins and ends, also by an exception."""

    def begin(module: nn.Module, args: tuple[Any, ...]) -> None:
        running.names.append(name)

    def end(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if running.names:  # none where another thread was within the module before anybody watched
            running.names.pop()

    return [module.register_forward_pre_hook(begin), module.register_forward_hook(end, always_call=True)]
