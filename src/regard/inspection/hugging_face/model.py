"""Hugging Face models: `regard` as an attention implementation of `transformers`, for as long as a recorder is open.

`record` and `intervene` put a `StandIn` instead of every attention module that asks `transformers` for its
attention function. Unless a weight is changed, the stand-in answers with the very function the model had, so that the
model's result stays that of the fused kernel, bit for bit; scores and weights are computed beside it.

Afterwards nothing is registered and the model is as before. Tested with transformers 4.57 and 5.22; before 5, BERT and
T5 do not ask for their attention function and cannot be recorded.
"""

import inspect
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention import Attended, Mask, Position, Score
from regard.attention.normalize import NormalizeFunction
from regard.attention.score import ScoreFunction
from regard.errors import ArgumentError
from regard.inspection.hugging_face.call import normalizer_of, translate_call
from regard.layers.attend import SOFTMAX, Attend

NAME = "regard"
"""What the implementation is called while it is registered."""

_REGISTRY, _HOME = "ALL_ATTENTION_FUNCTIONS", "transformers.modeling_utils"
_KEPT = ("eager", "sdpa")
"""Implementations that go on computing what the model gives; others are replaced by `sdpa` meanwhile."""
_TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3}
_LOCK = threading.Lock()


def asks_for_attention(module: nn.Module) -> bool:
    """Return whether a module asks the registry of `transformers` for its attention function."""
    return _asking(type(module)) is not None


def _asking(kind: type) -> FunctionType | None:
    """Find the method that asks. What names a method uses is part of its code, so nothing needs to be imported."""
    for parent in kind.__mro__[: kind.__mro__.index(nn.Module)]:
        for method in vars(parent).values():
            plain = inspect.unwrap(method) if callable(method) else method
            if not isinstance(plain, FunctionType) or plain.__module__ == _HOME:  # where models check the registry
                continue
            if _REGISTRY in plain.__code__.co_names:
                return plain
    return None


class _Turn(NamedTuple):
    """One call of a module, in both languages."""

    own: Callable[[], tuple[Tensor, Any]]
    """What the model would do."""
    arguments: dict[str, Any]
    """The same as arguments of `Attend`."""
    normalize: NormalizeFunction | None
    dropout: float


class StandIn(Attend):
    """Stands for an attention module of `transformers` where one of ours has its `Attend`.

    Hooks see the arguments of the operator. As long as they leave them alone, the answer is the model's own.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self._checked = False
        self._turn: _Turn | None = None
        self._output: tuple[Tensor, Any] | None = None

    def answer(self, turn: _Turn) -> tuple[Tensor, Any]:
        """Give what the module's attention function should: context (batch, query, heads, size), and its weights."""
        if not (self._forward_hooks or self._forward_pre_hooks):
            return turn.own()
        self._turn, self._output = turn, None
        self.normalize, self.dropout = turn.normalize or SOFTMAX, turn.dropout
        try:
            context = self(**turn.arguments)
            return (context.transpose(1, 2).contiguous(), None) if self._output is None else self._output
        finally:
            self._turn, self._output = None, None

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor | None = None,
        *,
        score: Score | ScoreFunction,
        mask: Mask | Tensor | None = None,
        bias: Tensor | None = None,
        position: Position | None = None,
        grouped: bool = False,
        return_weights: bool = False,
    ) -> Tensor | Attended:
        """Give the model's own context, unless somebody has changed the mask or would change the weights."""
        turn = self._turn
        assert turn is not None
        attend = partial(super().forward, query, key, value, score=score, bias=bias, grouped=grouped)
        if not self._checked and not turn.dropout:
            self._check(turn.own()[0].transpose(1, 2), attend(mask=turn.arguments["mask"]), turn.arguments["mask"])
            self._checked = True
        if position is not None or mask is not turn.arguments["mask"]:
            return attend(mask=mask, position=position, return_weights=return_weights)
        self._output = turn.own()
        return self._output[0].transpose(1, 2)

    @torch.no_grad()
    def _check(self, own: Tensor, ours: Any, mask: Tensor | None) -> None:
        """Raise unless what is recorded explains what the model computes; it may have a mechanism of its own."""
        if mask is not None:  # rows with nothing to attend to are zero for us, and anything for others
            ours = ours.where(mask.any(-1, keepdim=True), own)
        difference = float((own - ours).nan_to_num().abs().max()) if own.numel() else 0.0
        if difference > _TOLERANCE.get(own.dtype, 0.05) * max(1.0, float(ours.nan_to_num().abs().max())):
            raise ArgumentError(
                f"`model` must attend by softmax over scaled dot products for its weights to be recorded; received "
                f'"{self.name}", whose context differs from that by {difference:.2g}. Leave it out: record(model, '
                "layers=[…])."
            )


@contextmanager
def stand_ins(model: nn.Module, layers: Mapping[str, nn.Module]) -> Iterator[dict[str, StandIn]]:
    """Route the attention of some modules of `model` through stand-ins, and back when the context ends.

    Contexts may be nested, also around parts of a model: who comes second gets the stand-ins of the first.
    """
    from transformers.masking_utils import AttentionMaskInterface
    from transformers.modeling_utils import AttentionInterface

    for name, module in layers.items():
        _check_names(name, module)
    configs = {id(own): own for part in model.modules() if _has_choice(own := getattr(part, "config", None))}
    functions, masks = AttentionInterface._global_mapping, AttentionMaskInterface._global_mapping
    with _LOCK:
        route = functions[NAME].__self__ if NAME in functions else _Route()
        AttentionInterface.register(NAME, route.attend)
        AttentionMaskInterface.register(NAME, route.mask)
        result = route.enter(layers, configs)
    try:
        yield result
    finally:
        with _LOCK:
            route.leave(layers, configs)
            if not route.users:
                del functions[NAME], masks[NAME]


def _has_choice(config: Any) -> bool:
    return hasattr(config, "_attn_implementation")


def _check_names(name: str, module: nn.Module) -> None:
    """Raise where a module would do other things under an implementation that has another name."""
    asking = _asking(type(module))
    constants = () if asking is None else asking.__code__.co_consts
    if any("sdpa" in item if isinstance(item, tuple) else item == "sdpa" for item in constants):
        raise ArgumentError(
            "`model` must leave the choice of its attention function to transformers; received "
            f'{type(module).__name__} at "{name}", which asks for one by name. '
            'See its weights by attn_implementation="eager" and output_attentions=True.'
        )


class _Route:
    """What `transformers` calls instead of its own functions."""

    def __init__(self) -> None:
        self.users: Counter[int] = Counter()
        self.modules: dict[nn.Module, StandIn] = {}
        self.before: dict[int, str | None] = {}

    def enter(self, layers: Mapping[str, nn.Module], configs: Mapping[int, Any]) -> dict[str, StandIn]:
        """Let somebody in: a stand-in for each module, and a change of every config it may ask."""
        for name, module in layers.items():
            self.modules.setdefault(module, StandIn(name))
        for number, config in configs.items():
            if number not in self.before:
                self.before[number] = config._attn_implementation
                config._attn_implementation_internal = NAME
        self.users.update([*map(id, layers.values()), *configs])
        return {name: self.modules[module] for name, module in layers.items()}

    def leave(self, layers: Mapping[str, nn.Module], configs: Mapping[int, Any]) -> None:
        """Let somebody out, and put back what nobody else needs."""
        self.users -= Counter([*map(id, layers.values()), *configs])  # what comes to zero is dropped
        for module in layers.values():
            if id(module) not in self.users:
                del self.modules[module]
        for number, config in configs.items():
            if number not in self.users:
                config._attn_implementation_internal = self.before.pop(number)

    def attend(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None = None,
        **settings: Any,  # the form `transformers` has for such functions
    ) -> tuple[Tensor, Any]:
        """Be the attention function of a module."""
        chosen = self._chosen(module.config)
        own = partial(_own_function(module, chosen), module, query, key, value, attention_mask, **settings)
        stand_in = self.modules.get(module)
        if stand_in is None:  # another part of the model, with the same config
            return own()
        call = translate_call(module, query, key, value, attention_mask, settings, causal=chosen != "eager")
        return stand_in.answer(_Turn(own, call, normalizer_of(settings), float(settings.get("dropout") or 0.0)))

    def mask(self, *args: Any, **settings: Any) -> Any:
        """Make masks as the model's own implementation would."""
        from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

        return ALL_MASK_ATTENTION_FUNCTIONS[self._chosen(settings.get("config"))](*args, **settings)

    def _chosen(self, config: Any) -> str:
        before = self.before.get(id(config))
        return before if before in _KEPT else "sdpa"


def _own_function(module: nn.Module, name: str) -> Callable[..., tuple[Tensor, Any]]:
    """Find the function that the module would have been given; the eager one stands in the module's own file."""
    asking = _asking(type(module))
    assert asking is not None
    module_globals = asking.__globals__
    own: Callable[..., tuple[Tensor, Any]] = (
        module_globals["eager_attention_forward"] if name == "eager" else module_globals[_REGISTRY][name]
    )
    return own
