"""Distributions over the keys that a query may attend to."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def distribution(
    logits: Float[Tensor, "*axes key"], allowed: Bool[Tensor, "*axes key"] | None
) -> Float[Tensor, "*axes key"]:
    """Normalize over what may be attended to; a row that has nothing stays zero."""
    shown = logits if allowed is None else logits.masked_fill(~allowed, -math.inf)
    empty = torch.zeros_like(shown[..., :1], dtype=torch.bool) if allowed is None else ~allowed.any(-1, keepdim=True)
    return shown.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)


def uniform_weights(
    weights: Float[Tensor, "*axes key"], allowed: Bool[Tensor, "*axes key"] | None
) -> Float[Tensor, "*axes key"]:
    """Give every key that may be attended to the same weight; rows keep the sums they had.

    >>> uniform_weights(torch.tensor([[0.7, 0.3, 0.0]]), torch.tensor([[True, True, False]]))
    tensor([[0.5000, 0.5000, 0.0000]])
    """
    return distribution(torch.zeros_like(weights), allowed) * weights.sum(-1, keepdim=True)
