"""Aggregate: from weights and values to the context (c_i), the weighted sum."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from regard.attention.position import Position


def aggregate(
    weights: Float[Tensor, "*batch query key"],
    value: Float[Tensor, "*values key value_size"],
    *,
    position: Position | None = None,
    dropout: float = 0.0,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "*batch query value_size"]:
    r"""Mix the values.

    $$c_i = \sum_j \alpha_{ij} v_j$$

    With `dropout`, each weight is dropped with that probability and the others grow to make up for it.

    >>> aggregate(torch.tensor([[0.25, 0.75]]), torch.tensor([[0.0], [4.0]]))
    tensor([[3.]])
    """
    if dropout:
        weights = drop(weights, dropout, generator)
    context = weights @ value
    extra = None if position is None else position.context(weights)
    return context if extra is None else context + extra


def drop(weights: Tensor, probability: float, generator: torch.Generator | None) -> Tensor:
    """Drop weights at random, from `generator` where one is given."""
    if generator is None:
        return F.dropout(weights, probability)
    kept = torch.empty_like(weights).bernoulli_(1 - probability, generator=generator)
    return weights * kept / (1 - probability) if probability < 1 else weights * 0
