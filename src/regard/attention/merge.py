"""Attention over parts of the keys, joined: for keys on several devices, or a cache beside what is new."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.kernels.reference import Attended
from regard.errors import ArgumentError


class Partial(NamedTuple):
    """What attention gives when asked for its log normalizer: enough to join it with attention over other keys."""

    context: Float[Tensor, "*batch query value_size"]
    """The weighted sum of the values."""
    log_normalizer: Float[Tensor, "*batch query"]
    """The log of the sum of exponentials of each row's scores, −∞ for a row with nothing to attend to."""


def merge(parts: Sequence[Partial | Attended]) -> Partial:
    r"""Join attention of the same queries over parts of the keys into attention over all of them.

    $$c = \sum_p \frac{Z_p}{\sum_r Z_r} c_p, \qquad Z_p = \sum_{j \in p} \exp(e_j)$$

    where $c_p$ is a part's context and $\log Z_p$ its log normalizer.

    Reference: Milakov and Gimelshein (2018), section 3.1, arXiv:1805.02867.

    >>> from regard import attention
    >>> query, key = torch.ones(1, 2, 4), torch.arange(24.0).view(1, 6, 4) / 24
    >>> halves = [attention(query, part, return_log_normalizer=True) for part in key.split(3, dim=1)]
    >>> torch.allclose(merge(halves).context, attention(query, key))
    True
    """
    optional = [part.log_normalizer for part in parts]
    logs = [log for log in optional if log is not None]
    if not logs or len(logs) < len(optional):
        raise ArgumentError(
            "`parts` must be results of attention(…, return_log_normalizer=True), one at least; received "
            f"{len(optional)}, {len(optional) - len(logs)} of them without a log normalizer, which only Softmax() has."
        )
    each = torch.stack(logs)  # part *batch query
    empty = (each == -torch.inf).all(0)
    total = each.masked_fill(empty, 0.0).logsumexp(0).masked_fill(empty, -torch.inf)
    shares = (each - total.masked_fill(empty, 0.0)).exp().unsqueeze(-1)  # part *batch query 1
    contexts = torch.stack([part.context for part in parts])
    return Partial((shares * contexts.to(shares.dtype)).sum(0).to(contexts.dtype), total)
