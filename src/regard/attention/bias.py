"""Biases by distance: numbers added to the scores that depend on how far apart query and key stand."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.checks import check_count, check_device, check_heads, check_numbers, check_tensor
from regard.attention.position import Position
from regard.attention.tensors import widened
from regard.errors import ArgumentError


@dataclass(frozen=True, eq=False)
class Alibi(Position):
    r"""Punish distance, more in some heads than in others.

    $$e_{ij} \mathrel{+}= -m_h |i - j|$$

    where $m_h$ is `slopes`, one per head; `Alibi.of_heads(n)` makes the paper's.

    Reference: Press, Smith and Lewis (2022), section 3, arXiv:2108.12409.
    Differs: |i − j| makes it fit attention in both directions; with a causal mask it is the paper's.

    >>> Alibi.of_heads(4).slopes
    tensor([0.2500, 0.0625, 0.0156, 0.0039])
    """

    slopes: Float[Tensor, " heads"] | Float[Tensor, ""] = field(kw_only=True)

    @classmethod
    def of_heads(cls, num_heads: int, device: torch.device | None = None) -> "Alibi":
        """Take the geometric slopes 2^(−8h/n); for other than powers of two, the paper's interleaving."""
        check_count("num_heads", num_heads)
        if num_heads < 1:
            raise ArgumentError(f"`num_heads` must be at least 1; received {num_heads}.")
        power = 2 ** (num_heads.bit_length() - 1)
        slopes = [2 ** (-8 * (head + 1) / power) for head in range(power)]
        slopes += [2 ** (-8 * (head + 0.5) / power) for head in range(num_heads - power)]
        return cls(slopes=torch.tensor(slopes, device=device))

    def check(self, score: object, query: Tensor, key: Tensor, value: Tensor, shape: Sequence[int]) -> None:
        """Raise unless there is a slope per head."""
        check_tensor("slopes", self.slopes)
        check_numbers("slopes", self.slopes)
        if self.slopes.ndim > 1:
            raise ArgumentError(
                f"`slopes` of Alibi must be one number or one per head; received shape {tuple(self.slopes.shape)}."
            )
        if self.slopes.ndim:
            check_heads("slopes", self.slopes.size(0), shape)

    def bias(self, score: object, query: Tensor, key: Tensor, shape: Sequence[int]) -> Tensor:
        """Give −m|i − j|."""
        slopes = self.slopes.to(device=query.device, dtype=widened(query).dtype)  # half precision ends at distance 256
        if slopes.ndim:
            slopes = slopes.view(-1, 1, 1)
        return self.offsets(shape, query.device).abs() * -slopes


@dataclass(frozen=True, eq=False)
class RelativeBias(Position):
    r"""Add a learned number for each clipped distance.

    $$e_{ij} \mathrel{+}= b_{\text{clip}(j - i, -R, R)}$$

    where $b$ is `table`, (2R + 1,) or (heads, 2R + 1).

    Reference: Raffel et al. (2020), section 2.1, arXiv:1910.10683.
    Differs: distances are clipped as in Shaw et al. (2018), not put into logarithmic buckets.

    >>> RelativeBias(table=torch.tensor([-1.0, 0.0, 1.0])).bias(None, torch.zeros(2, 1), torch.zeros(3, 1), (2, 3))
    tensor([[-1., 0., 1.],
            [-1., -1., 0.]])
    """

    table: Float[Tensor, "... distance"] = field(kw_only=True)

    def check(self, score: object, query: Tensor, key: Tensor, value: Tensor, shape: Sequence[int]) -> None:
        """Raise unless distances are odd in number and heads agree."""
        check_tensor("table", self.table)
        check_numbers("table", self.table)
        check_device("table", self.table, query.device)
        if self.table.ndim not in (1, 2) or self.table.size(-1) % 2 == 0:
            raise ArgumentError(
                "`table` of RelativeBias must have shape (2·reach + 1,) or (heads, 2·reach + 1); "
                f"received {tuple(self.table.shape)}."
            )
        if self.table.ndim == 2:
            check_heads("table", self.table.size(0), shape)

    def bias(self, score: object, query: Tensor, key: Tensor, shape: Sequence[int]) -> Tensor:
        """Gather the number of each distance."""
        reach = self.table.size(-1) // 2
        index = self.offsets(shape, query.device).clamp(-reach, reach) + reach
        if self.table.ndim == 1:
            return self.table[index].to(widened(query).dtype)
        heads = torch.arange(self.table.size(0), device=index.device).view(-1, 1, 1)
        return self.table[heads, index].to(widened(query).dtype)  # *batch heads query key
