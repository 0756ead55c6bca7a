"""Biases by distance: numbers added to the scores that depend on how far apart query and key stand."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from regard.attention.checks import check_count, check_device, check_flag, check_heads, check_numbers, check_tensor
from regard.attention.kernels.transforms import transform_in_force
from regard.attention.position import Position
from regard.attention.tensors import Keys, Queries, Values, widened
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

    def check(self, score: object, query: Queries, key: Keys, value: Values, shape: Sequence[int]) -> None:
        """Raise unless there is a slope per head."""
        check_tensor("slopes", self.slopes)
        check_numbers("slopes", self.slopes)
        if self.slopes.ndim > 1:
            raise ArgumentError(
                f"`slopes` of Alibi must be one number or one per head; received shape {tuple(self.slopes.shape)}."
            )
        if self.slopes.ndim:
            check_heads("slopes", self.slopes.size(0), shape)

    def bias(self, score: object, query: Queries, key: Keys, shape: Sequence[int]) -> Float[Tensor, "..."]:
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
    Differs: distances are clipped as in Shaw et al. (2018); `RelativeBuckets` has the paper's buckets.

    >>> RelativeBias(table=torch.tensor([-1.0, 0.0, 1.0])).bias(None, torch.zeros(2, 1), torch.zeros(3, 1), (2, 3))
    tensor([[-1., 0., 1.],
            [-1., -1., 0.]])
    """

    table: Float[Tensor, "... distance"] = field(kw_only=True)

    def check(self, score: object, query: Queries, key: Keys, value: Values, shape: Sequence[int]) -> None:
        """Raise unless distances are odd in number and heads agree."""
        _check_table(self.table, query, shape)
        if self.table.size(-1) % 2 == 0:
            raise ArgumentError(
                "`table` of RelativeBias must have shape (2·reach + 1,) or (heads, 2·reach + 1); "
                f"received {tuple(self.table.shape)}."
            )

    def bias(self, score: object, query: Queries, key: Keys, shape: Sequence[int]) -> Float[Tensor, "..."]:
        """Gather the number of each distance."""
        reach = self.table.size(-1) // 2
        return gather_by_distance(self, self.table, lambda far: far.clamp(-reach, reach) + reach, query, shape)


@dataclass(frozen=True, eq=False)
class RelativeBuckets(Position):
    r"""Add a learned number for each bucket of distances: one for each small distance, ever wider ones further away.

    $$e_{ij} \mathrel{+}= b_{\text{bucket}(j - i)}, \qquad \text{bucket}(d) = \begin{cases} d & d < n \\
    n + \lfloor \frac{\log(d / n)}{\log(D / n)} n \rfloor & n \le d < D \\ 2n - 1 & D \le d \end{cases}$$

    where $d$ is how far the key stands before the query, $D$ is `max_distance`, and $2n$ the number of buckets for one
    direction: all of `table`, (buckets,) or (heads, buckets), or half of it where `both_ways` also tells keys behind
    the query apart. Otherwise those share the bucket of distance zero.

    Reference: Raffel et al. (2020), section 2.1, arXiv:1910.10683, as the authors' code computes it.

    >>> RelativeBuckets(table=torch.zeros(4), max_distance=8).bucket(-torch.arange(9))
    tensor([0, 1, 2, 2, 3, 3, 3, 3, 3])
    """

    table: Float[Tensor, "... bucket"] = field(kw_only=True)
    max_distance: int = field(default=128, kw_only=True)
    both_ways: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_count("max_distance", self.max_distance)
        check_flag("both_ways", self.both_ways)

    def check(self, score: object, query: Queries, key: Keys, value: Values, shape: Sequence[int]) -> None:
        """Raise unless there are buckets to put distances in, and heads agree."""
        _check_table(self.table, query, shape)
        exact = self._exact()
        if not 1 <= exact < self.max_distance:
            raise ArgumentError(
                f"`max_distance` must be above the {exact} distances that have buckets of their own, at least one; "
                f"received {self.max_distance} for a table of {self.table.size(-1)} buckets."
            )

    def _exact(self) -> int:
        """Return how many distances of one direction have a bucket of their own."""
        return self.table.size(-1) // (4 if self.both_ways else 2)

    def bucket(self, distance: Int[Tensor, "..."]) -> Int[Tensor, "..."]:
        """Give the bucket of each j − i."""
        exact = self._exact()
        one_way = self.table.size(-1) // (2 if self.both_ways else 1)
        before = distance.abs() if self.both_ways else (-distance).clamp_min(0)
        ratio = torch.log(before.clamp_min(1).float() / exact) / math.log(self.max_distance / exact)
        far = (exact + (ratio * (one_way - exact)).long()).clamp_max(one_way - 1)
        side = (distance > 0).long() * one_way if self.both_ways else 0
        return torch.where(before < exact, before, far) + side

    def bias(self, score: object, query: Queries, key: Keys, shape: Sequence[int]) -> Float[Tensor, "..."]:
        """Gather the number of each bucket."""
        return gather_by_distance(self, self.table, self.bucket, query, shape)


def _check_table(table: Tensor, query: Tensor, shape: Sequence[int]) -> None:
    check_tensor("table", table)
    check_numbers("table", table)
    check_device("table", table, query.device)
    if table.ndim not in (1, 2):
        raise ArgumentError(
            "`table` must have an axis of distances, and before it one of heads or none; received "
            f"{tuple(table.shape)}."
        )
    if table.ndim == 2:
        check_heads("table", table.size(0), shape)


def gather_by_distance(
    position: Position, table: Tensor, index: Callable[[Tensor], Tensor], query: Tensor, shape: Sequence[int]
) -> Float[Tensor, "... query key"]:
    """Give the number of each pair from a table of distances, where `index` says which one belongs to j − i.

    Where the ends align, all pairs of one diagonal share a number: (query + key) are gathered, not query · key, as one
    row that every query reads from another position on.
    """
    dtype = widened(query).dtype
    queries, keys = shape[-2], shape[-1]
    aligned = position.query_positions is None and position.key_positions is None and 0 not in (queries, keys)
    if aligned and transform_in_force() is None:  # torch has no rule of vmap for what follows
        row = table[..., index(torch.arange(1 - keys, queries, device=table.device))]
        return row.unfold(-1, keys, 1).flip(-2).to(dtype)
    chosen = index(position.offsets(shape, query.device))
    if table.ndim == 1:
        return table[chosen].to(dtype)
    heads = torch.arange(table.size(0), device=chosen.device).view(-1, 1, 1)
    return table[heads, chosen].to(dtype)  # *batch heads query key
