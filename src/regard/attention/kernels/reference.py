"""The specification: compare, mask, normalize, aggregate, each written out.

Half-precision input is computed in float32 and rounded once, at the end.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention.aggregate import aggregate
from regard.attention.inputs import Inputs
from regard.attention.kernels.blank import blank, known_finite
from regard.attention.kernels.chunked import chunked_scores, whole_scores
from regard.attention.mask import Harmless
from regard.attention.normalize import Softmax, normalize, softmax_and_log
from regard.attention.score import Score
from regard.attention.score_function import ChangedScore
from regard.attention.tensors import Keys, Queries, Scores, broadcasts, widened
from regard.errors import ArgumentError


class Attended(NamedTuple):
    """What attention gives when asked for its weights."""

    context: Tensor
    """The weighted sum of the values, (*batch, query, value width)."""
    weights: Tensor
    """The weights before dropout, (*batch, query, key); float32 where the input is half precision."""
    log_normalizer: Tensor | None
    """The log of the sum of exponentials of each row's scores, −∞ for an empty row; None but for Softmax."""


#: Which queries may attend to anything, (…, query), and which keys anyone may attend to, (…, key).
Active = tuple[Tensor, Tensor]


class Operands(NamedTuple):
    """Query, key and value ready for a kernel, and the mask that goes with them."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    offset: Tensor | None = None
    """What the position adds to the scores, where it was computed for several to use."""


def with_offset(inputs: Inputs, ready: Operands) -> Operands:
    """Compute what the position adds to the scores, for the kernel and for the weights beside it."""
    if inputs.position is None or not inputs.position.adds_bias:
        return ready
    key = ungroup(ready.key, ready.query.size(-3)) if inputs.grouped else ready.key
    return ready._replace(offset=offset(inputs, ready.query, key))


def operands(inputs: Inputs, *, mask: Bool[Tensor, "..."] | None, active: Active | None = None) -> Operands:
    """Zero what no one may attend to, so that NaN or infinity in it can reach neither output nor gradient; rotate.

    What is attended to is read off the mask and the bias, where −∞ forbids, unless `seen` says it.
    """
    query, key, value = inputs.query, inputs.key, inputs.value
    # A position or a bias may forbid more.
    harmless = isinstance(inputs.mask, Harmless) and inputs.position is None and inputs.bias is None
    forbids = mask is not None or inputs.bias is not None
    if forbids and not known_finite(*([query] if harmless else [query, key, value])):
        allowed = mask_with_bias(inputs, mask)
        assert allowed is not None
        active = allowed.any(-1), allowed.any(-2)
    if active is not None:
        attending, attended = active
        query = blank(query, _reduce(attending, query.shape[:-2], False))
        if not harmless:
            key = blank(key, _reduce(attended, key.shape[:-2], inputs.grouped))
            value = blank(value, _reduce(attended, value.shape[:-2], inputs.grouped))
    if inputs.position is not None:
        query, key = inputs.position.rotate(query, key, inputs.shape)
    return Operands(query, key, value, mask)


def _reduce(flags: Tensor, lead: Sequence[int], grouped: bool) -> Tensor:
    """Give for each row of a tensor with leading axes `lead` whether any of the rows that share it is set."""
    if grouped and flags.ndim > 1 and flags.size(-2) != 1 and flags.size(-2) != lead[-1]:
        flags = flags.unflatten(-2, (lead[-1], -1)).any(-2)
    while flags.ndim - 1 > len(lead):
        flags = flags.any(0)
    for axis in range(-2, -flags.ndim - 1, -1):
        if lead[axis + 1] == 1 and flags.size(axis) != 1:
            flags = flags.any(axis, keepdim=True)
    return flags


def ungroup(tensor: Float[Tensor, "*batch shared row size"], heads: int) -> Float[Tensor, "*batch {heads} row size"]:
    """Repeat each key-value head for its group: query head h uses key-value head h // group."""
    return tensor.repeat_interleave(heads // tensor.size(-3), dim=-3)


def compare(inputs: Inputs, query: Queries, key: Keys, *, chunked: bool) -> Scores:
    """Give the scores alone. A function is given the precision of the call."""
    score = inputs.score
    if isinstance(score, Score) and score.widens:
        query, key = widened(query), widened(key)
    if isinstance(score, ChangedScore):  # the change may differ over axes that only the values have
        query = query.expand(*inputs.shape[:-2], *query.shape[-2:])
    if chunked and isinstance(score, Score):
        scores = widened(chunked_scores(score, query, key))
    else:
        scores = widened(whole_scores(score, query, key))
    if not broadcasts(scores.shape, inputs.shape):
        raise ArgumentError(
            f"`score` must return scores of shape (*batch, query, key) = {inputs.shape}; "
            f"received {tuple(scores.shape)}."
        )
    return scores


def offset(inputs: Inputs, query: Queries, key: Keys) -> Float[Tensor, "..."] | None:
    """Give what the position adds to the scores, if anything."""
    if inputs.position is None:
        return None
    return inputs.position.bias(inputs.score, widened(query), widened(key), inputs.shape)


def biased_scores(
    inputs: Inputs, query: Queries, key: Keys, *, chunked: bool, added: Float[Tensor, "..."] | None = None
) -> Scores:
    """Give the scores with bias and position, before masking; `added` is the position's part where it is known."""
    scores = compare(inputs, query, key, chunked=chunked)
    if inputs.bias is not None:
        scores = scores + inputs.bias.to(scores.dtype)
    added = offset(inputs, query, key) if added is None else added
    if added is not None:
        scores = scores + added
    return scores.expand(inputs.shape)


def mask_with_bias(inputs: Inputs, mask: Bool[Tensor, "..."] | None) -> Bool[Tensor, "..."] | None:
    """Give the mask with what the bias forbids: a bias of −∞ does, as a mask does."""
    if inputs.bias is None:
        return mask
    allowed = inputs.bias != -torch.inf
    allowed = allowed[(None,) * (len(inputs.shape) - allowed.ndim)]
    return allowed if mask is None else mask & allowed


def weigh(
    inputs: Inputs, ready: Operands, *, chunked: bool, normalizer: bool = True
) -> tuple[Scores, Float[Tensor, "..."] | None]:
    """Give the weights and, for Softmax and if asked for, each row's log normalizer."""
    query, key, _, mask, added = ready
    if inputs.grouped:
        key = ungroup(key, query.size(-3))
    scores = biased_scores(inputs, query, key, chunked=chunked, added=added)
    mask = mask_with_bias(inputs, mask)
    if normalizer and type(inputs.normalize) is Softmax:
        weights, log = softmax_and_log(scores, mask)
        return (weights if inputs.position is None else inputs.position.reweight(weights)), log
    weights = normalize(scores, mask, inputs.normalize)
    if weights.shape != scores.shape:
        raise ArgumentError(
            f"`normalize` must return weights of the scores' shape {tuple(scores.shape)}; "
            f"received {tuple(weights.shape)}."
        )
    return (weights if inputs.position is None else inputs.position.reweight(weights)), None


def log_normalizer(scores: Scores, mask: Bool[Tensor, "..."] | None) -> Float[Tensor, "*scores query"]:
    """Give log Σ exp of the allowed scores: −∞, with no gradient, where none is."""
    if scores.size(-1) == 0:
        return scores.new_full(scores.shape[:-1], -torch.inf)
    if mask is None:
        return scores.logsumexp(-1)
    empty = ~mask.any(-1, keepdim=True)
    total = scores.masked_fill(~mask, -torch.inf).masked_fill(empty, 0.0).logsumexp(-1)
    return total.masked_fill(empty.squeeze(-1), -torch.inf)


def attend(inputs: Inputs, *, chunked: bool = False, normalizer: bool = True) -> Attended:
    """Compute one call by the specification; the log normalizer only if asked for."""
    ready = operands(inputs, mask=inputs.dense_mask())
    weights, total = weigh(inputs, ready, chunked=chunked, normalizer=normalizer)
    value = widened(ready.value)
    if inputs.grouped:
        value = ungroup(value, inputs.shape[-3])
    context = aggregate(weights, value, position=inputs.position, dropout=inputs.dropout, generator=inputs.generator)
    return Attended(context.to(inputs.dtype), weights, total)
