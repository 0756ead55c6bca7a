"""Stages: every number between one query and its context, as the arguments that reached the seam make it.

`computation` gives the ends of each stage; here each part of the operator is seen by itself: what the score compares,
what a position turns, adds and multiplies by, what is masked.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Attended, Normalizer, Position, Score
from regard.attention.inputs import Inputs, read_inputs
from regard.attention.kernels.chunked import whole_scores
from regard.attention.kernels.reference import operands, ungroup
from regard.attention.normalize import NormalizeFunction, normalize
from regard.attention.score import ScoreFunction
from regard.attention.tensors import widened
from regard.errors import ArgumentError
from regard.inspection.map import check_place
from regard.inspection.seam import four_axes, open_layers
from regard.inspection.trace import matching
from regard.layers.attend import Attend

#: Axes that a score's parameter has for one head.
_AXES = {"matrix": 2, "vector": 1}


@dataclass(frozen=True, kw_only=True, eq=False)
class Stages:
    r"""What each part of the operator made of one query of one head.

    $$e_j = \text{score}(q, k_j) + b_j + d_j, \qquad \alpha = \text{normalize}(e) \cdot f, \qquad
    c = \sum_j \alpha_j v_j + x$$

    where $b$ is a bias, and a position adds $d$, multiplies by $f$ and adds $x$; most have only some of these.
    """

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
    extra: Float[Tensor, " value_size"] | None
    """What the position adds to the context."""
    context: Float[Tensor, " value_size"]
    given: Float[Tensor, " value_size"]
    """What the layer really gave, perhaps by a fused kernel."""

    @property
    def error(self) -> float:
        """How far the context made here is from the layer's own: rounding, or something is wrong."""
        return float((self.context - self.given).abs().max()) if self.context.numel() else 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class SeamCall:
    """What one call of an attention layer was given, and what it gave."""

    attend: Attend
    given: dict[str, Any] = field(repr=False)
    context: Tensor = field(repr=False)

    @property
    def inputs(self) -> Inputs:
        """The arguments, read as the operator reads them, without dropout."""
        given = {"value": None, "mask": None, "bias": None, "position": None, "grouped": False} | self.given
        return read_inputs(**given, normalize=self.attend.normalize, dropout=0.0, generator=None)


@contextmanager
def seam_calls(model: nn.Module, *, layer: str) -> Iterator[list[SeamCall]]:
    """Gather the arguments of every call of one layer while the context lasts.

    >>> from regard.layers import SelfAttention
    >>> layer = SelfAttention()
    >>> with seam_calls(layer, layer="SelfAttention") as calls:
    ...     _ = layer(torch.eye(2)[None])
    >>> stages(calls[0], query=0).weights
    tensor([0.7311, 0.2689])
    """
    seen: list[SeamCall] = []

    def look(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        given = dict(zip(("query", "key", "value"), args, strict=False)) | kwargs
        given.pop("return_weights", None)
        context = output.context if isinstance(output, Attended) else output
        assert isinstance(module, Attend)
        seen.append(SeamCall(attend=module, given=given, context=context.detach()))

    with open_layers(model) as layers:
        names = matching(layer, layers)
        if len(names) != 1:
            raise ArgumentError(f"`layer` must match one layer; received {layer}, which matches {', '.join(names)}.")
        handle = layers[names[0]].register_forward_hook(look, with_kwargs=True)
        try:
            yield seen
        finally:
            handle.remove()


def row_of(calls: Sequence[SeamCall], query: int, *, rows: int) -> tuple[SeamCall, int]:
    """Find the call that holds a query among the last `rows` queries, and its place there.

    A sentence that grows word by word calls a layer once for each; one read as a whole calls it once. What was called
    before, such as a search, is left out.
    """
    check_place("query", query, rows)
    last, held = [], 0
    for call in reversed(calls):
        if held >= rows:
            break
        last.append(call)
        held += call.context.size(-2)
    for call in reversed(last):
        count = call.context.size(-2)
        if query < count:
            return call, query
        query -= count
    raise ArgumentError(f"`calls` must hold {rows} queries; received {held}.")


@torch.no_grad()
def stages(call: SeamCall, *, query: int, head: int = 0, example: int = 0) -> Stages:
    """Take one query of one head of a call apart."""
    inputs = call.inputs
    position, shape = inputs.position, inputs.shape
    mask = inputs.dense_mask()
    turned = operands(inputs, mask=mask)
    key, value, own_key = (_ungrouped(one, inputs) for one in (turned.key, turned.value, inputs.key))
    own = (widened(turned.query), widened(key)) if isinstance(inputs.score, Score) else (turned.query, key)
    compared = widened(whole_scores(inputs.score, *own)).expand(shape)
    added = None if position is None else position.bias(inputs.score, own[0], own[1], shape)
    scores = compared if inputs.bias is None else compared + inputs.bias.to(compared.dtype)
    scores = scores if added is None else scores + added
    if inputs.bias is not None:
        open_places = inputs.bias != -torch.inf
        mask = open_places if mask is None else mask & open_places
    normalized = normalize(scores, mask, inputs.normalize)
    weights = normalized if position is None else position.reweight(normalized)
    extra = None if position is None else position.context(weights)
    place = _Place(shape, example, head, query)
    mixed = place.row(weights) @ place.table(widened(value))
    found_extra = None if extra is None else place.row(extra)
    return Stages(
        score=place.score(inputs.score),
        normalizer=inputs.normalize,
        position=position,
        query=place.row(turned.query),
        keys=place.table(key),
        values=place.table(value),
        unturned=(place.row(inputs.query), place.table(own_key)) if _turns(position) else None,
        compared=place.row(compared),
        bias=None if inputs.bias is None else place.row(inputs.bias.expand(shape)),
        added=None if added is None else place.row(added.expand(shape)),
        scores=place.row(scores),
        mask=None if mask is None else place.row(mask.expand(shape)),
        normalized=place.row(normalized),
        factors=_factors(position, place, normalized, mask),
        weights=place.row(weights),
        extra=found_extra,
        context=mixed if found_extra is None else mixed + found_extra,
        given=place.row(call.context),
    )


def _ungrouped(tensor: Tensor, inputs: Inputs) -> Tensor:
    return ungroup(tensor, inputs.shape[-3]) if inputs.grouped else tensor


def _turns(position: Position | None) -> bool:
    return position is not None and type(position).rotate is not Position.rotate


def _factors(position: Position | None, place: "_Place", like: Tensor, mask: Tensor | None) -> Tensor | None:
    """Ask the position what it makes of weights of one; what is masked counts zero."""
    if position is None or type(position).reweight is Position.reweight:
        return None
    changed = position.reweight(torch.ones_like(like))
    return place.row(changed if mask is None else changed.masked_fill(~mask, 0.0))


class _Place:
    """One query of one head of one example, in tensors that may share heads or examples."""

    def __init__(self, shape: Sequence[int], example: int, head: int, query: int) -> None:
        self.shape, self.lead = tuple(shape), tuple(shape[:-2])
        counts = four_axes(torch.empty(self.shape, device="meta")).shape
        for name, number, count in zip(("example", "head", "query"), (example, head, query), counts, strict=False):
            check_place(name, number, count)
        self.example, self.head, self.query = example, head, query

    def row(self, tensor: Tensor) -> Tensor:
        """Take the query's row of (*batch, query, anything)."""
        return self.table(tensor)[self.query]

    def table(self, tensor: Tensor) -> Tensor:
        """Take what the head sees of (*batch, anything, anything)."""
        return four_axes(tensor.detach().expand(*self.lead, -1, -1))[self.example, self.head].cpu()

    def score(self, score: Score | ScoreFunction) -> Score | ScoreFunction:
        """Give the score with the parameters of this head alone."""
        if not isinstance(score, Score):
            return score
        changed: dict[str, Any] = {}
        for one in fields(score):  # type: ignore[arg-type]
            parameter = getattr(score, one.name)
            if not isinstance(parameter, Tensor):
                continue
            if one.name in _AXES:
                own = parameter[self.head] if parameter.ndim > _AXES[one.name] else parameter
                changed[one.name] = own.detach().cpu()
            else:  # a factor: a number, or one per row
                changed[one.name] = float(self.row(parameter.detach().expand(*self.shape[:-1], 1)))
        return replace(score, **changed) if changed else score  # type: ignore[type-var]
