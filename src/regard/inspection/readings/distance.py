"""Change: how far an output moved."""

import torch
from jaxtyping import Float
from torch import Tensor

from regard.errors import ArgumentError


def total_variation(
    before: Float[Tensor, "*rows vocabulary"], after: Float[Tensor, "*rows vocabulary"]
) -> Float[Tensor, "*rows"]:
    r"""Measure how far two predictions are apart: 0 where they agree, 1 where they share no word.

    $$\mathrm{TVD}(p, p') = \tfrac12 \sum_w \lvert p_w - p'_w \rvert$$

    where $p$ and $p'$ are the softmax of what is given: logits or log-probabilities.

    Reference: Jain and Wallace (2019), arXiv:1902.10186.

    >>> total_variation(torch.tensor([0.5, 0.5]).log(), torch.tensor([0.75, 0.25]).log())
    tensor(0.2500)
    """
    _check(before, after)
    return (before.softmax(-1) - after.softmax(-1)).abs().sum(-1) / 2


def cosine_distance(before: Float[Tensor, "*rows size"], after: Float[Tensor, "*rows size"]) -> Float[Tensor, "*rows"]:
    r"""Measure how far states turned: $1 - \cos(x, x')$, from 0 to 2.

    >>> cosine_distance(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0]))
    tensor(1.)
    """
    _check(before, after)
    start, end = (torch.nn.functional.normalize(states, dim=-1) for states in (before, after))
    return (start - end).square().sum(-1) / 2  # the same by the law of cosines, and exactly 0 where nothing turned


def _check(before: Tensor, after: Tensor) -> None:
    if before.shape != after.shape:
        raise ArgumentError(
            f"`run` must give outputs of one shape; received {tuple(before.shape)}, then {tuple(after.shape)}. Choose "
            "the rows that stay."
        )
