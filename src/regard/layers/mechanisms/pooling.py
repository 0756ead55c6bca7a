"""Pooling as attention: from a dictionary's exact hit to a learned question, one interface."""

import math
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Attended, Dot, Gaussian, Hard, Mean, Normalizer, Padding, Score, Softmax
from regard.attention.mask import Dense
from regard.errors import ArgumentError
from regard.layers.attend import Attend
from regard.layers.checks import check_choice, check_positive, check_size, check_width
from regard.layers.memory import key_mask

PoolingKind = Literal["one-hot", "average", "kernel", "learned"]


class Pooled(NamedTuple):
    """What pooling gives."""

    pooled: Float[Tensor, "batch query value_size"]
    """The values, pooled."""
    weights: Float[Tensor, "batch query key"]
    """How much each value counted."""


class AttentionPooling(nn.Module):
    r"""Pool values by weights of one of four kinds.

    $$f(q) = \sum_j \alpha(q, k_j) v_j, \qquad \alpha(q, k_j) = \begin{cases}
    [\,j = \arg\min_l \lVert q - k_l \rVert\,] & \text{one-hot} \\ 1/n & \text{average} \\
    \text{softmax}_j(-\lVert q - k_j \rVert^2 / 2\sigma^2) & \text{kernel} \\
    \text{softmax}_j(u^\top k_j) & \text{learned} \end{cases}$$

    "one-hot" is the look-up of a dictionary, the nearest key; "average" ignores the query; "kernel" is
    Nadaraya-Watson, with the bandwidth $\sigma$ learned through its logarithm, `log_bandwidth`; "learned" asks its own
    question $u$, `query`, of width `size`, whatever the query given. Where the query is not used it may be None:
    one row is pooled.

    Reference: Zhang et al., Dive into Deep Learning, sections 11.1 and 11.2; Yang et al. (2016), equations 5 to 7, for
    the learned query.
    Differs: the keys of "learned" are compared as they are; `StructuredSelfAttention` puts a tanh layer before.

    >>> key, value = torch.tensor([[[0.0], [1.0], [2.0]]]), torch.tensor([[[5.0], [6.0], [7.0]]])
    >>> query = torch.tensor([[[1.9]]])
    >>> [AttentionPooling(kind)(query, key, value).pooled.item() for kind in ("one-hot", "average")]
    [7.0, 6.0]
    """

    def __init__(self, kind: PoolingKind, *, size: int | None = None, bandwidth: float = 1.0) -> None:
        super().__init__()
        check_choice("kind", kind, get_args(PoolingKind))
        self.kind: PoolingKind = kind
        normalize: Normalizer = Softmax()
        match kind:
            case "one-hot":
                normalize = Hard()
            case "average":
                normalize = Mean()
            case "kernel":
                check_positive("bandwidth", bandwidth)
                self.log_bandwidth = nn.Parameter(torch.tensor(math.log(bandwidth)))
            case "learned":
                if size is None:
                    raise ArgumentError('`size` must be the width of the keys, for kind "learned"; received None.')
                check_size("size", size)
                self.query = nn.Parameter(torch.empty(size))
                nn.init.uniform_(self.query, -(size**-0.5), size**-0.5)
        self.attend = Attend(normalize=normalize)

    def forward(
        self,
        query: Float[Tensor, "batch query key_size"] | None,
        key: Float[Tensor, "batch key key_size"],
        value: Float[Tensor, "batch key value_size"] | None = None,
        *,
        mask: Bool[Tensor, "batch key"] | Padding | None = None,
    ) -> Pooled:
        """Pool the values, by default the keys, once for each query."""
        allowed = key_mask(mask, key)
        attended: Attended = self.attend(
            self._question(query, key),
            key,
            value,
            score=self._score(),
            mask=None if allowed is None else Dense(allowed.unsqueeze(1)),
            return_weights=True,
        )
        return Pooled(attended.context, attended.weights)

    def _question(self, query: Tensor | None, key: Tensor) -> Tensor:
        if self.kind == "learned":
            check_width("key", key, self.query.numel())
            return self.query.expand(key.size(0), 1 if query is None else query.size(1), -1)
        if query is None and self.kind != "average":
            raise ArgumentError(f'`query` must be a tensor for kind "{self.kind}", which compares it; received None.')
        return key.new_zeros(key.size(0), 1, key.size(-1)) if query is None else query

    def _score(self) -> Score:
        if self.kind == "learned":
            return Dot()
        return Gaussian(self.log_bandwidth.exp()) if self.kind == "kernel" else Gaussian()

    def extra_repr(self) -> str:
        """Show the kind."""
        return f"{self.kind!r}"
