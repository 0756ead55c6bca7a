"""Attention as a textbook writes it in torch, in the precision it is given: the measure of what that allows."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from reference import oracle
from reference.oracle import Place

#: Below any score, and inside the range of float16.
FORBIDDEN = -3e4


class Grids(NamedTuple):
    """What masks and positions say of every pair, worked out pair by pair in float64."""

    allowed: Tensor
    bias: Tensor
    factor: Tensor
    key_shift: Tensor | None
    value_shift: Tensor | None
    turn_query: Tensor
    turn_key: Tensor


def grids(
    shape: tuple[int, ...],
    widths: tuple[int, int, int],
    allowed: Callable[[Place], bool],
    rules: oracle.Position,
    bias: Tensor | None,
) -> Grids:
    """Ask the rules about every pair."""
    *lead, queries, keys = shape
    may = np.zeros(shape, dtype=bool)
    added, factor = np.zeros(shape), np.ones(shape)
    shifts: list[np.ndarray | None] = [None, None]
    turn_query = np.zeros((*lead, queries, widths[0], widths[0]))
    turn_key = np.zeros((*lead, keys, widths[1], widths[1]))
    for index in np.ndindex(*shape):
        *front, i, j = index
        where = tuple(front)
        query_place = rules.query_place(where, i) if rules.query_place else i + keys - queries
        key_place = rules.key_place(where, j) if rules.key_place else j
        place = Place(where, i, j, query_place, key_place)
        may[index] = allowed(place) and rules.inside(place)
        added[index], factor[index] = rules.bias(place), rules.factor(place)
        for side, shift in enumerate((rules.key_shift(place), rules.value_shift(place))):
            if shift is not None:
                if shifts[side] is None:
                    shifts[side] = np.zeros((*shape, widths[side + 1]))
                shifts[side][index] = shift
        if j == 0:
            turn_query[(*where, i)] = [rules.turn(row, query_place) for row in np.eye(widths[0]).tolist()]
        if i == 0:
            turn_key[(*where, j)] = [rules.turn(row, key_place) for row in np.eye(widths[1]).tolist()]
    mask = torch.from_numpy(may)
    if bias is not None:
        mask = mask & (bias.cpu() != -torch.inf)
    return Grids(
        mask,
        torch.from_numpy(added),
        torch.from_numpy(factor),
        *(None if shift is None else torch.from_numpy(shift) for shift in shifts),
        torch.from_numpy(turn_query),
        torch.from_numpy(turn_key),
    )


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    score: Callable[[Tensor, Tensor], Tensor],
    normalize: Callable[[Tensor], Tensor],
    grid: Grids,
    bias: Tensor | None,
    grouped: bool,
) -> tuple[Tensor, Tensor]:
    """Give context and weights, every step in the precision of the query."""
    if grouped:
        key = key.repeat_interleave(query.size(-3) // key.size(-3), dim=-3)
        value = value.repeat_interleave(query.size(-3) // value.size(-3), dim=-3)
    query = _turned(query, grid.turn_query)
    key = _turned(key, grid.turn_key)
    scores = score(query, key)
    if grid.key_shift is not None:
        scores = scores + _shift_scores(score, query, grid.key_shift.to(query))
    scores = scores + grid.bias.to(query)
    if bias is not None:
        scores = scores + bias.masked_fill(bias == -torch.inf, 0.0)
    allowed = grid.allowed.to(query.device)
    weights = normalize(scores.masked_fill(~allowed, FORBIDDEN)).masked_fill(~allowed, 0.0) * grid.factor.to(query)
    context = weights @ value
    if grid.value_shift is not None:
        context = context + torch.einsum("...ts,...tsd->...td", weights, grid.value_shift.to(query))
    return context, weights


def _turned(vectors: Tensor, turn: Tensor) -> Tensor:
    if torch.equal(turn, torch.eye(turn.size(-1), dtype=turn.dtype).expand_as(turn)):
        return vectors
    return (vectors.unsqueeze(-2) @ turn.to(vectors)).squeeze(-2)


def _shift_scores(score: Callable[[Tensor, Tensor], Tensor], query: Tensor, shift: Tensor) -> Tensor:
    """Compare each query with the vectors added to its own keys: all of them, then the diagonal."""
    queries, keys = shift.shape[-3:-1]
    every = score(query, shift.flatten(-3, -2)).unflatten(-1, (queries, keys))
    return every.diagonal(dim1=-3, dim2=-2).mT
