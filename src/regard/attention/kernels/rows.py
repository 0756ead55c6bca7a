"""A few query rows at a time: what is known of the weights of a call without ever holding all of them."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from regard.attention.bias import Alibi, RelativeBias, RelativeBuckets
from regard.attention.inputs import Inputs
from regard.attention.kernels.chunked import CHUNK_SIZE
from regard.attention.kernels.reference import (
    Operands,
    biased_scores,
    log_normalizer,
    mask_with_bias,
    ungroup,
    weigh,
)
from regard.attention.position import Position, Shaw
from regard.attention.score import Score

Part = Callable[[Inputs, Operands], tuple[Tensor, ...]]

#: Positions that add to the scores of a query by where it stands, so that a few queries can be told where they stand.
BY_DISTANCE = (Alibi, RelativeBias, RelativeBuckets, Shaw)


def log_normalizers(inputs: Inputs, ready: Operands) -> Float[Tensor, "..."]:
    """Give the log of the sum of exponentials of each row's scores, −∞ where it may attend to nothing."""
    return torch.cat([log for (log,) in _by_rows(_log_of_rows, inputs, ready)], dim=-1)


def summarize(
    inputs: Inputs, ready: Operands
) -> tuple[Float[Tensor, "*batch key"], Float[Tensor, "*batch query"], Float[Tensor, "*batch query"]]:
    """Give the weights summed over the queries, each row's largest, and its log normalizer, NaN but for Softmax."""
    sums, largest, logs = zip(*_by_rows(_summary_of_rows, inputs, ready), strict=True)
    return reduce(torch.add, sums), torch.cat(largest, dim=-1), torch.cat(logs, dim=-1)


def _log_of_rows(inputs: Inputs, ready: Operands) -> tuple[Tensor]:
    scores = biased_scores(inputs, ready.query, ready.key, chunked=False, added=ready.offset)
    return (log_normalizer(scores, mask_with_bias(inputs, ready.mask)),)


def _summary_of_rows(inputs: Inputs, ready: Operands) -> tuple[Tensor, Tensor, Tensor]:
    weights, log = weigh(inputs, ready, chunked=False)
    largest = weights.amax(-1) if weights.size(-1) else weights.new_zeros(weights.shape[:-1])
    return weights.sum(-2), largest, torch.full_like(largest, torch.nan) if log is None else log


def _by_rows(part: Part, inputs: Inputs, ready: Operands) -> list[tuple[Tensor, ...]]:
    """Compute a part of the queries at a time, and again in the backward pass."""
    query, key, value, mask, _ = ready
    if inputs.grouped:
        key, inputs = ungroup(key, query.size(-3)), replace(inputs, grouped=False)
    whole = Operands(query, key, value, mask, ready.offset)
    limit = CHUNK_SIZE["cpu" if query.device.type == "cpu" else "other"]
    per_row = math.prod(inputs.shape[:-2]) * inputs.shape[-1]
    count = max(1, limit // max(per_row * _numbers_per_pair(inputs), 1))
    if torch.compiler.is_compiling() or count >= query.size(-2) or not _can_be_cut(inputs):
        return [part(inputs, whole)]
    parts = []
    for first in range(0, query.size(-2), count):
        size = min(count, query.size(-2) - first)
        rows = Operands(query.narrow(-2, first, size), key, value, _narrow(mask, first, size))
        result: tuple[Tensor, ...] = checkpoint(
            part, _of_rows(inputs, first, size), rows, use_reentrant=False, preserve_rng_state=False
        )
        parts.append(result)
    return parts


def _numbers_per_pair(inputs: Inputs) -> int:
    return inputs.score.hidden_size(inputs.query, inputs.key) if isinstance(inputs.score, Score) else 1


def _can_be_cut(inputs: Inputs) -> bool:
    """Return whether some query rows can be computed alone: a plain function may use where its queries stand."""
    position = inputs.position
    if position is not None and (position.adds_bias or position.needs_weights) and type(position) not in BY_DISTANCE:
        return False
    return isinstance(inputs.score, Score)


def _of_rows(inputs: Inputs, first: int, size: int) -> Inputs:
    """Give the call for some of its query rows; they have been turned already."""
    assert isinstance(inputs.score, Score)
    position = inputs.position
    if position is not None:
        position = _position_of_rows(position, inputs, first, size)
    return replace(
        inputs,
        score=inputs.score.of_rows(first, size),
        mask=None,
        position=position,
        bias=_narrow(inputs.bias, first, size),
        shape=(*inputs.shape[:-2], size, inputs.shape[-1]),
    )


def _position_of_rows(position: Position, inputs: Inputs, first: int, size: int) -> Position | None:
    if type(position) not in BY_DISTANCE:
        return None  # it has turned query and key, or narrowed the mask, and does no more
    located = position.locate_queries(inputs.shape, inputs.query.device).narrow(-1, first, size)
    return replace(position, query_positions=located if located.ndim == 1 else located.flatten(1))


def _narrow(tensor: Tensor | None, first: int, size: int) -> Tensor | None:
    """Take some rows of what broadcasts to the scores."""
    return tensor if tensor is None or tensor.size(-2) == 1 else tensor.narrow(-2, first, size)
