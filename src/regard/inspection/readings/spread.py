"""Spread: how widely each query attends, and how much each key is attended to."""

import math
from dataclasses import replace

import torch

from regard.inspection.drawing.map import Map, weights_of
from regard.inspection.trace.trace import Call

ENTROPY = "A low entropy says that a layer attended to few keys, not that it was sure, nor that these keys mattered."
COVERAGE = "Coverage adds up weights; a key that is never attended to can still act through its neighbors' states."


def entropy(call: Call, *, head: int | None = None, example: int = 0) -> Map:
    r"""Give the entropy of each query's weights, in nats: 0 where it attends to one key, $\log n$ where at n alike.

    $$H_i = - \sum_j \alpha_{ij} \log \alpha_{ij}$$

    Rows that do not sum to one are divided by their sum; an empty row has none, which reads NaN.

    >>> weights = torch.tensor([[[[0.5, 0.5], [1.0, 0.0]]]])
    >>> norms = torch.ones(1, 1, 2)
    >>> entropy(Call(layer="a", step=0, scores=weights, weights=weights, value_norms=norms, mask=None)).values
    tensor([0.6931, 0.0000])
    """
    map = weights_of(call, head=head, example=example)
    total = map.values.sum(-1, keepdim=True)
    shares = map.values / total.masked_fill(total <= 0, 1.0)
    result = -torch.special.xlogy(shares, shares).sum(-1) + 0.0
    return Map(
        name=f"{map.name}: entropy (nats)",
        values=result.masked_fill(total.squeeze(-1) <= 0, math.nan),
        axes=("query",),
        labels=map.labels[:1],
        caveat=ENTROPY,
        limits=(0.0, max(math.log(max(map.values.size(1), 1)), 1e-9)),
    )


def coverage(call: Call, *, head: int | None = None, example: int = 0) -> Map:
    r"""Give the sum of the weights that each key got from all queries.

    $$C_j = \sum_i \alpha_{ij}$$

    Reference: Tu et al. (2016), section 3, arXiv:1601.04811 (coverage, as a plain sum).

    >>> weights = torch.tensor([[[[0.5, 0.5], [1.0, 0.0]]]])
    >>> norms = torch.ones(1, 1, 2)
    >>> coverage(Call(layer="a", step=0, scores=weights, weights=weights, value_norms=norms, mask=None)).values
    tensor([1.5000, 0.5000])
    """
    map = weights_of(call, head=head, example=example)
    sums = map.values.sum(0)
    made = Map(name=f"{map.name}: coverage", values=sums, axes=("key",), labels=map.labels[1:], caveat=COVERAGE)
    return replace(made, limits=(0.0, max(float(sums.max()) if sums.numel() else 0.0, 1.0)))
