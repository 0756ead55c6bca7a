"""Compare: two maps, or two traces, of the same tokens."""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import ArgumentError
from regard.inspection.drawing.map import Map, weights_of
from regard.inspection.readings.rank import kendall_tau
from regard.inspection.trace.trace import Trace

CAVEAT = "Two models with other weights may predict the same, and two with like weights may not."


def divergence(first: Float[Tensor, "*rows key"], second: Float[Tensor, "*rows key"]) -> Float[Tensor, "*rows"]:
    r"""Give the Jensen-Shannon divergence of distributions, in nats: from 0, alike, to $\log 2$, nothing in common.

    $$\mathrm{JSD}(\alpha, \alpha') = \tfrac12 \mathrm{KL}(\alpha \,\|\, m) + \tfrac12 \mathrm{KL}(\alpha' \,\|\, m),
    \qquad m = \tfrac12 (\alpha + \alpha')$$

    Reference: Lin (1991); Jain and Wallace (2019), arXiv:1902.10186.

    >>> divergence(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    middle = _log((first + second) / 2)
    halves = [(item * (_log(item) - middle)).sum(-1) / 2 for item in (first, second)]
    return (halves[0] + halves[1]).clamp_min(0.0)


def _log(shares: Tensor) -> Tensor:
    """Give a logarithm that is finite at zero, and so has a gradient there; zero times it is zero."""
    return shares.clamp_min(torch.finfo(shares.dtype).tiny).log()


def difference(first: Map, second: Map) -> Map:
    """Subtract one map from another of the same tokens."""
    _check(first, second)
    values = second.values.to(first.values.dtype) - first.values
    largest = float(values.nan_to_num().abs().max()) if values.numel() else 0.0
    ends = max(1.0, largest)
    name = f"{second.name} − {first.name}"
    return replace(first, name=name, values=values, caveat=CAVEAT, mask=_both(first, second), limits=(-ends, ends))


def divergences(first: Map, second: Map) -> Map:
    """Give for every query the Jensen-Shannon divergence of its two rows, made to sum to one; NaN for an empty row."""
    _check(first, second)
    rows = [_shares(map.values) for map in (first, second)]
    values = divergence(*rows).masked_fill((rows[0].sum(-1) == 0) | (rows[1].sum(-1) == 0), math.nan)
    return _per_query(f"divergence of {first.name} and {second.name}", first, values, (0.0, math.log(2)))


def rank_correlations(first: Map, second: Map) -> Map:
    """Give for every query Kendall's tau between its two rows, over the keys it may attend to in both."""
    _check(first, second)
    allowed = _both(first, second)
    rows = range(first.values.size(0))
    open_keys = [slice(None) if allowed is None else allowed[row] for row in rows]
    values = torch.tensor(
        [kendall_tau(first.values[r][k], second.values[r][k]) for r, k in zip(rows, open_keys, strict=True)]
    )
    return _per_query(f"rank correlation of {first.name} and {second.name}", first, values, (-1.0, 1.0))


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How one head of one call differs between two traces, over the rows of one example."""

    layer: str
    step: int
    head: int
    largest: float
    """The largest difference of two weights."""
    divergence: float
    """Mean Jensen-Shannon divergence of the rows, in nats."""
    rank_correlation: float
    """Mean of Kendall's tau over the rows that have one; NaN where none has."""


def compare(first: Trace, second: Trace, *, example: int = 0) -> list[Difference]:
    """Compare two traces call by call and head by head: the same model before and after, or two models of one shape.

    The calls must be as many and of the same shapes; names of layers may differ, and are those of `first`.
    """
    shapes = [[tuple(call.weights.shape[1:]) for call in trace] for trace in (first, second)]
    if shapes[0] != shapes[1]:
        index = next((n for n, (a, b) in enumerate(zip(*shapes, strict=False)) if a != b), min(map(len, shapes)))
        raise ArgumentError(
            f"`first` and `second` must have calls of the same shapes; received {len(first)} and {len(second)} calls, "
            f"which part at call {index}. Compare maps of chosen calls: difference(weights_of(…), weights_of(…))."
        )
    result = []
    for call_of_first, call_of_second in zip(first, second, strict=True):
        for head in range(call_of_first.weights.size(1)):
            maps = [weights_of(call, head=head, example=example) for call in (call_of_first, call_of_second)]
            result.append(
                Difference(
                    layer=call_of_first.layer,
                    step=call_of_first.step,
                    head=head,
                    largest=float((maps[0].values - maps[1].values).abs().max()) if maps[0].values.numel() else 0.0,
                    divergence=float(divergences(*maps).values.nanmean()),
                    rank_correlation=float(rank_correlations(*maps).values.nanmean()),
                )
            )
    return result


def _per_query(name: str, first: Map, values: Tensor, limits: tuple[float, float]) -> Map:
    return Map(name=name, values=values, axes=("query",), labels=first.labels[:1], caveat=CAVEAT, limits=limits)


def _shares(values: Tensor) -> Tensor:
    values = values.double()
    total = values.sum(-1, keepdim=True)
    return torch.where(total > 0, values / total.masked_fill(total <= 0, 1.0), 0.0)


def _both(first: Map, second: Map) -> Tensor | None:
    if first.mask is None or second.mask is None:
        return second.mask if first.mask is None else first.mask
    return first.mask & second.mask


def _check(first: Map, second: Map) -> None:
    if first.axes != second.axes or first.values.shape != second.values.shape or len(first.axes) != 2:
        raise ArgumentError(
            f"`first` and `second` must be maps of the same queries and keys; received {tuple(first.values.shape)} and "
            f"{tuple(second.values.shape)}."
        )
