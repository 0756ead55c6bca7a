"""Step by step: every number between one query and its context, as one call of the operator makes it."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Attended, Normalizer, Position, Score
from regard.attention.inputs import Inputs, read_inputs
from regard.attention.kernels.reference import biased_scores, compare, mask_with_bias, offset, operands, ungroup
from regard.attention.normalize import NormalizeFunction, normalize
from regard.attention.score import ScoreFunction
from regard.attention.tensors import widened
from regard.errors import ArgumentError
from regard.inspection.drawing.map import check_index, numbered
from regard.inspection.trace.attention_layers import Wrapped, open_layers
from regard.inspection.trace.query import QueryIndex
from regard.inspection.trace.trace import matching
from regard.layers.attend import Attend
from regard.layers.process_switches import eager


@dataclass(frozen=True, kw_only=True, eq=False)
class Computation:
    r"""What each part of the operator made of one query of one head.

    $$e_j = \text{score}(q, k_j) + b_j + d_j, \qquad \alpha = \text{normalize}(e) \cdot f, \qquad
    c = \sum_j \alpha_j v_j + x$$

    where $b$ is a bias, and a position adds $d$, multiplies by $f$ and adds $x$; most have only some of these.
    """

    layer: str
    query_label: str
    key_labels: tuple[str, ...]
    score: Score | ScoreFunction
    """With the parameters of this head."""
    normalizer: Normalizer | NormalizeFunction
    position: Position | None
    query: Float[Tensor, " query_size"]
    """As the score compares it: turned, where the position turns."""
    keys: Float[Tensor, "key key_size"]
    values: Float[Tensor, "key value_size"]
    unturned: tuple[Float[Tensor, " query_size"], Float[Tensor, "key key_size"]] | None
    """Query and keys before the position turned them."""
    compared: Float[Tensor, " key"]
    """The score alone."""
    bias: Float[Tensor, " key"] | None
    added: Float[Tensor, " key"] | None
    """What the position adds to each score."""
    scores: Float[Tensor, " key"]
    """All of it, before masking."""
    mask: Bool[Tensor, " key"] | None
    normalized: Float[Tensor, " key"]
    """Weights as the normalizer gives them."""
    factors: Float[Tensor, " key"] | None
    """What the position multiplies each weight by."""
    weights: Float[Tensor, " key"]
    """As they are used: those of `intervene`, where it forces them."""
    extra: Float[Tensor, " value_size"] | None
    """What the position adds to the context."""
    context: Float[Tensor, " value_size"]
    output: Float[Tensor, " value_size"]
    """What the layer really gave, before any output matrix, perhaps by a fused kernel."""

    @property
    def weighted_values(self) -> Float[Tensor, "key value_size"]:
        """Each value times its weight: what is added up."""
        return self.weights.unsqueeze(-1) * self.values

    @property
    def error(self) -> float:
        """How far the context made here is from the layer's own: rounding, or dropout, or something is wrong."""
        return float((self.context - self.output).abs().max()) if self.context.numel() else 0.0


@torch.no_grad()
def computation(
    model: nn.Module,
    run: Callable[[], Any],
    *,
    layer: str,
    query: int,
    head: int = 0,
    step: int | None = None,
    example: int = 0,
    query_labels: Sequence[str] | None = None,
    key_labels: Sequence[str] | None = None,
) -> Computation:
    """Take one query of one head of a layer apart, while `run` calls the model.

    Where `run` calls the layer several times, as one sentence does that grows word by word, greedily, queries are
    counted over all calls; or `step` says which call is meant, from 0. It must where later calls bring several queries,
    or other examples: they may be hypotheses of a beam. Everything is computed when the call is made, from the
    arguments that reached the operator: they may change afterwards, as a memory does that is written to.

    >>> from regard.layers import SelfAttention
    >>> layer, x = SelfAttention(), torch.eye(2)[None]
    >>> steps = computation(layer, lambda: layer(x), layer="SelfAttention", query=0)
    >>> steps.scores, steps.weights, steps.context
    (tensor([1., 0.]), tensor([0.7311, 0.2689]), tensor([0.7311, 0.2689]))
    >>> steps.score, steps.normalizer, steps.error
    (Dot(), Softmax(), 0.0)
    """
    shapes: list[torch.Size] = []  # (*batch, query) of each call
    result: list[Computation] = []

    def take_apart(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        assert isinstance(module, Attend)
        context = output.context if isinstance(output, Attended) else output
        row = query - sum(shape[-1] for shape in shapes) if step is None else query
        covers_row = 0 <= row < context.size(-2) if step is None else step == len(shapes)
        shapes.append(context.shape[:-1])
        if covers_row:
            inputs = _read(module, dict(zip(("query", "key", "value"), args, strict=False)) | kwargs)
            result.append(_take_apart(inputs, context, QueryIndex(inputs.shape, example, head, row), names[0]))

    with ExitStack() as stack:
        stack.enter_context(eager)
        layers = stack.enter_context(open_layers(model))
        names = matching(layer, layers)
        if len(names) != 1:
            raise ArgumentError(f"`layer` must match one layer; received {layer}, which matches {', '.join(names)}.")
        stack.callback(layers[names[0]].register_forward_hook(take_apart, with_kwargs=True).remove)
        run()
    if not shapes:
        raise ArgumentError(f"`run` must call {names[0]}; received one that does not.")
    counts = [shape[-1] for shape in shapes]
    if step is not None:
        check_index("step", step, len(counts))
    else:
        if query >= counts[0]:
            _check_growing(names[0], shapes)
        check_index("query", query, sum(counts))
    words = numbered(query_labels, sum(counts) if step is None else counts[step], name="query_labels")
    keys = len(result[0].weights)
    named = numbered(key_labels, keys, name="key_labels")
    return replace(
        result[0],
        query_label=words[query] if query < len(words) else str(query),
        key_labels=named + ("",) * (keys - len(named)),  # padding has no name
    )


def _check_growing(layer: str, shapes: Sequence[torch.Size]) -> None:
    """Refuse to count queries over calls that may be more than one sentence growing word by word."""
    expected = (*shapes[0][:-1], 1)
    for call, shape in enumerate(shapes[1:], start=1):
        if shape != expected:
            raise ArgumentError(
                f"`step` must say which call of {layer} is meant, from 0 to {len(shapes) - 1}; received None, but call "
                f"{call} has queries of shape {tuple(shape)}, not {expected}: hypotheses of a beam, or another text. "
                "Pass `step`, or search greedily, one sentence at a time."
            )


def _read(attend: Attend, output: dict[str, Any]) -> Inputs:
    """Read the arguments of a call as the operator reads them, without dropout."""
    own = {"value": None, "mask": None, "bias": None, "position": None, "grouped": False} | output
    own.pop("return_weights", None)
    return read_inputs(**own, normalize=attend.normalize, dropout=0.0, generator=None)


@torch.inference_mode(False)  # so that the numbers may take part in training, wherever the call was made
@torch.no_grad()
def _take_apart(inputs: Inputs, output: Tensor, at: QueryIndex, layer: str) -> Computation:
    """Compute one call part by part, as the specification does, and take one row of each."""
    position, shape, mask = _own_position(inputs.position), inputs.shape, inputs.dense_mask()
    finite = all(bool(item.isfinite().all()) for item in (inputs.query, inputs.key, inputs.value))
    turned = operands(inputs, mask=None if finite else mask)  # else places that nobody may see are blanked
    key, value, own_key = (
        ungroup(item, shape[-3]) if inputs.grouped else item for item in (turned.key, turned.value, inputs.key)
    )
    compared = compare(inputs, turned.query, key, chunked=False).expand(shape)
    added = offset(inputs, turned.query, key)
    scores = biased_scores(inputs, turned.query, key, chunked=False)
    mask = mask_with_bias(inputs, mask)
    normalized = normalize(scores, mask, inputs.normalize)
    weights = normalized if inputs.position is None else inputs.position.reweight(normalized)
    extra = None if position is None else position.context(weights)
    mixed = at.row(weights) @ at.table(widened(value))
    return Computation(
        layer=layer,
        query_label="",
        key_labels=(),
        score=at.score(inputs.score),
        normalizer=inputs.normalize,
        position=position,
        query=at.row(turned.query),
        keys=at.table(key),
        values=at.table(value),
        unturned=(at.row(inputs.query), at.table(own_key)) if _turns(position) else None,
        compared=at.row(compared),
        bias=None if inputs.bias is None else at.row(inputs.bias.expand(shape)),
        added=None if added is None else at.row(added.expand(shape)),
        scores=at.row(scores),
        mask=None if mask is None else at.row(mask.expand(shape)),
        normalized=at.row(normalized),
        factors=_factors(position, at, normalized, mask),
        weights=at.row(weights),
        extra=None if extra is None else at.row(extra),
        context=mixed if extra is None else mixed + at.row(extra),
        output=at.row(output),
    )


def _own_position(position: Position | None) -> Position | None:
    """Give the call's own position, without the changes that somebody put around it."""
    return _own_position(position.inner) if isinstance(position, Wrapped) else position


def _turns(position: Position | None) -> bool:
    return position is not None and type(position).rotate is not Position.rotate


def _factors(position: Position | None, at: QueryIndex, like: Tensor, mask: Tensor | None) -> Tensor | None:
    """Ask the position what it makes of weights of one; what is masked counts zero."""
    if position is None or type(position).reweight is Position.reweight:
        return None
    changed = position.reweight(torch.ones_like(like))
    return at.row(changed if mask is None else changed.masked_fill(~mask, 0.0))
