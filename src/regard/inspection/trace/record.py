"""Record: gather the weights of every attention layer, without changing what it gives."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from regard.attention import Mask, Normalizer, Position, Score, attention
from regard.attention.normalize import NormalizeFunction
from regard.attention.observe import unobserved
from regard.attention.score import ScoreFunction
from regard.errors import ArgumentError
from regard.inspection.trace.attention_layers import four_axes, open_layers, wrap
from regard.inspection.trace.functional import callers, functional_calls
from regard.inspection.trace.trace import Call, Labels, Trace, matching
from regard.layers.attend import Attend
from regard.layers.mechanisms.sink import LearnedSink
from regard.layers.process_switches import eager


@contextmanager
def record(
    model: nn.Module,
    *,
    layers: str | Sequence[str] = "*",
    query_labels: Labels | None = None,
    key_labels: Labels | None = None,
    keep_gradients: bool = False,
) -> Iterator[Trace]:
    """Gather every call of the model's attention layers while the context lasts.

    So are calls of `regard.attention` in the `forward` of the model's own modules, under the module's name. What no
    `forward` makes is not seen: a method that is called from outside, a call in another thread.

    The model gives bit for bit what it would give unwatched: scores and weights are computed beside it, once more, by
    the reference, from the arguments of each call; the trace holds copies, cut from the graph. Compiled models run
    uncompiled meanwhile, so that their numbers may differ by rounding.

    - `layers`: names or patterns of the layers wanted, or of modules that call `regard.attention`.
    - `query_labels`, `key_labels`: the words of the two sides, if they are those of every call; else
      `trace["name"].label(…)` afterwards.
    - `keep_gradients`: the trace holds the very weights the context is made of, so that after `backward()`
      `call.weights.grad` is there, for attention × gradient. The reference then takes the place of fused kernels, and
      results may differ by rounding.

    >>> from regard.layers import SelfAttention
    >>> layer = SelfAttention()
    >>> with record(layer, query_labels=["the", "cat"], key_labels=["the", "cat"]) as trace:
    ...     _ = layer(torch.eye(2)[None])
    >>> trace
    Trace of 1 call
      SelfAttention  1 call: 1 head, 2 queries × 2 keys
    >>> trace[0].weights
    tensor([[[[0.7311, 0.2689], [0.2689, 0.7311]]]])
    """
    patterns = [layers] if isinstance(layers, str) else layers
    trace = Trace()
    recorders = _Recorders(trace, query_labels, key_labels)
    with ExitStack() as stack:
        result = stack.enter_context(open_layers(model, required=not callers(model)))
        wanted = dict.fromkeys(name for item in patterns for name in matching(item, [*result, *callers(model)]))
        stack.enter_context(eager)
        for name in [name for name in wanted if name in result]:
            recorder = recorders[name]
            for handle in _watch_kept(result[name], recorder) if keep_gradients else _watch(result[name], recorder):
                stack.callback(handle.remove)
        stack.enter_context(functional_calls(model, partial(_record_functional, recorders, wanted, keep_gradients)))
        yield trace
    _check_recorded(model, patterns, [*result, *trace.layers])


def _record_functional(
    recorders: "_Recorders",
    wanted: Collection[str],
    keep_gradients: bool,
    name: str,
    query: Tensor,
    key: Tensor,
    value: Tensor | None,
    options: dict[str, Any],
) -> Position | None:
    """Record a call that a module makes itself, and give the position to call with."""
    position: Position | None = options["position"]
    if name not in wanted:
        return position
    call = see(options.pop("normalize"), query, key, value, **options)
    if not keep_gradients:
        recorders[name].add(call)
        return position

    def keep(weights: Tensor) -> Tensor:
        kept = _retained(weights)
        recorders[name].add(call, kept)
        return kept.reshape(weights.shape)

    return wrap(position, keep, watches=True)


def _check_recorded(model: nn.Module, patterns: Sequence[str], names: Sequence[str]) -> None:
    """Raise where a pattern named neither a layer nor a module that called the operator."""
    if not names:
        raise ArgumentError(
            "`model` must hold a layer that attends through regard.layers.Attend, or call regard.attention in the "
            f"forward of a module while it is recorded; received {type(model).__name__}, which did neither."
        )
    for pattern in patterns:
        matching(pattern, names)


class _Recorders(dict[str, "_Recorder"]):
    """One recorder for each name, made when it is first asked for."""

    def __init__(self, trace: Trace, query_labels: Labels | None, key_labels: Labels | None) -> None:
        super().__init__()
        self._make = partial(_Recorder, trace=trace, query_labels=query_labels, key_labels=key_labels)

    def __missing__(self, name: str) -> "_Recorder":
        return self.setdefault(name, self._make(name))


class _Recorder:
    """Adds the calls of one layer to a trace."""

    def __init__(self, name: str, trace: Trace, query_labels: Labels | None, key_labels: Labels | None) -> None:
        self.name, self.trace, self.step = name, trace, 0
        self.query_labels, self.key_labels = query_labels, key_labels

    def add(self, computed: "Computed", kept: Tensor | None = None) -> None:
        """Add a call, with the weights kept on their way to the context, or else a copy."""
        call = Call(
            layer=self.name,
            step=self.step,
            scores=four_axes(computed.scores),
            weights=four_axes(computed.weights) if kept is None else kept,
            value_norms=computed.value_norms,
            mask=None if computed.mask is None else four_axes(computed.mask),
        )
        call.label(query=self.query_labels, key=self.key_labels)
        self.step += 1
        self.trace.calls.append(call)


def _watch(attend: Attend, recorder: _Recorder) -> list[RemovableHandle]:
    """Record after each call."""

    def keep(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        recorder.add(see(attend.normalize, *args, **kwargs))

    return [attend.register_forward_hook(keep, with_kwargs=True)]


def _watch_kept(attend: Attend, recorder: _Recorder) -> list[RemovableHandle]:
    """Catch the weights on their way to the context."""
    caught: list[Tensor] = []

    def keep(weights: Tensor) -> Tensor:
        kept = _retained(weights)
        caught.append(kept)
        return kept.reshape(weights.shape)

    def before(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        caught.clear()
        return args, {**kwargs, "position": wrap(kwargs.get("position"), keep, watches=True)}

    def after(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        kept = caught[0]
        recorder.add(see(attend.normalize, *args, **kwargs), kept)

    return [
        attend.register_forward_pre_hook(before, with_kwargs=True),
        attend.register_forward_hook(after, with_kwargs=True),
    ]


def _retained(weights: Tensor) -> Tensor:
    kept = four_axes(weights)
    if kept.requires_grad:
        kept.retain_grad()
    return kept


class Computed(NamedTuple):
    """What one call computed, with the axes it was given in."""

    scores: Tensor
    weights: Tensor
    value_norms: Tensor
    mask: Tensor | None


@torch.no_grad()
def see(
    normalize: Normalizer | NormalizeFunction | LearnedSink,
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
) -> Computed:
    """Compute a call once more, without dropout, through a normalizer that shows what it was given."""
    shown: list[tuple[Tensor, Tensor | None]] = []

    def show(scores: Tensor, allowed: Tensor | None) -> Tensor:
        shown.append((scores, allowed))
        return normalize(scores, allowed)

    with unobserved():
        weights = attention(
            query,
            key,
            value,
            score=score,
            mask=mask,
            bias=bias,
            position=position,
            normalize=show,
            grouped=grouped,
            return_weights=True,
        ).weights
    scores, allowed = shown[0] if shown else (weights, None)  # without a key there is nothing to normalize
    if allowed is not None:
        allowed = allowed.expand(scores.shape).clone()
        scores = scores.masked_fill(~allowed, -torch.inf)
    return Computed(scores.clone(), weights.clone(), _norms(key if value is None else value, weights, allowed), allowed)


def _norms(value: Tensor, weights: Tensor, allowed: Tensor | None) -> Tensor:
    """Measure each value, for every head that uses it: (batch, heads, key). Keys that are masked count zero."""
    norms = torch.linalg.vector_norm(value, dim=-1, dtype=weights.dtype).unsqueeze(-2)  # *batch 1 key
    if norms.ndim > 3 and norms.size(-3) not in (1, weights.size(-3)):
        norms = norms.repeat_interleave(weights.size(-3) // norms.size(-3), dim=-3)
    if allowed is not None:
        norms = norms.masked_fill(~allowed.any(-2, keepdim=True), 0.0)
    return four_axes(norms.expand(*weights.shape[:-2], 1, -1).clone()).squeeze(-2)
