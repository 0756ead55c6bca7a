"""Joined: the calls that a layer got while a sentence grew word by word, as the one call they amount to."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from regard.errors import ArgumentError
from regard.inspection.trace.trace import Call, Labels, Trace


def joined(trace: Trace) -> Trace:
    """Put the rows of all calls of each layer under one another: a trace of one call per layer.

    Decoding calls a layer once per step, with one query and all keys so far; reading the whole sentence calls it once.
    Joined, both give the same. Keys that a step did not have yet count as masked.
    """
    return Trace([_join([call for call in trace if call.layer == name]) for name in trace.layers])


def _join(calls: list[Call]) -> Call:
    if len(calls) == 1:
        return calls[0]
    shapes = {tuple(call.weights.shape[:2]) for call in calls}
    if len(shapes) > 1:
        raise ArgumentError(
            f"`trace` must have calls of one number of examples and heads to be joined; received {sorted(shapes)} in "
            f"{calls[0].layer}. Record one search at a time, with a beam of one."
        )
    longest = max(calls, key=lambda call: call.weights.size(-1))
    length = longest.weights.size(-1)
    masks = [_widen(_mask(call), length, fill=False) for call in calls]
    mask = torch.cat(masks, dim=2)
    return Call(
        layer=longest.layer,
        step=0,
        scores=torch.cat([_widen(call.scores, length, fill=-torch.inf) for call in calls], dim=2),
        weights=torch.cat([_widen(call.weights, length, fill=0.0) for call in calls], dim=2),
        value_norms=longest.value_norms,
        mask=None if bool(mask.all()) else mask,
        query_labels=_all_labels([call.query_labels for call in calls]),
        key_labels=longest.key_labels,
    )


def _mask(call: Call) -> Tensor:
    return torch.ones_like(call.weights, dtype=torch.bool) if call.mask is None else call.mask


def _widen(tensor: Tensor, length: int, *, fill: float | bool) -> Tensor:
    return pad(tensor, (0, length - tensor.size(-1)), value=fill)


def _all_labels(parts: list[Labels | None]) -> Labels | None:
    """Put the words of all steps in a row, where every step has words of its own."""
    words: list[str] = []
    for part in parts:
        if part is None or not all(isinstance(word, str) for word in part):
            return None
        words += [str(word) for word in part]
    return words
