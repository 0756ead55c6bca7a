"""Rank correlation: do two measures put tokens in the same order?"""

import math

from jaxtyping import Real
from torch import Tensor

from regard.errors import ArgumentError


def kendall_tau(first: Real[Tensor, " item"], second: Real[Tensor, " item"]) -> float:
    r"""Count the pairs that both put in the same order, less those they do not: 1 for one order, −1 for its reverse.

    $$\tau_b = \frac{P - Q}{\sqrt{(n_0 - n_1)(n_0 - n_2)}}$$

    where $P$ and $Q$ are the numbers of pairs in the same and in the other order, $n_0$ that of all pairs, $n_1$ and
    $n_2$ those tied in either. Where all are tied, or there is but one item, it is NaN: there is no order to compare.

    Reference: Kendall (1945), Biometrika 33, 239–251.

    >>> import torch
    >>> kendall_tau(torch.tensor([0.1, 0.2, 0.7]), torch.tensor([1, 3, 2]))
    0.3333333333333333
    """
    if first.shape != second.shape:
        raise ArgumentError(
            f"`first` and `second` must rank the same items; received {first.numel()} and {second.numel()}."
        )
    first_signs, second_signs = (_signs(values.detach().cpu()) for values in (first, second))
    agreement = float((first_signs * second_signs).sum())
    pairs = math.sqrt(float(first_signs.abs().sum()) * float(second_signs.abs().sum()))
    return agreement / pairs if pairs else math.nan


def _signs(values: Tensor) -> Tensor:
    """Return for every pair which is larger; in integers, so that counting is exact."""
    return (values[:, None] > values[None, :]).long() - (values[:, None] < values[None, :]).long()
