"""Learned by distance: a vector for key and value (Shaw), or a number for each head (Raffel)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import RelativeBias, RelativeBuckets, Shaw
from regard.errors import ArgumentError
from regard.layers.checks import check_size


class RelativePositions(nn.Module):
    r"""Add a learned vector for each clipped distance to every key, and to every value.

    $$e_{ij} = q_i^\top (k_j + a^K_{ij}) / \sqrt{d}, \qquad c_i = \sum_j \alpha_{ij} (v_j + a^V_{ij}),
    \qquad a_{ij} = w_{\text{clip}(j - i, -R, R)}$$

    where $R$ is `reach`, $w^K$ is `keys`, (2R + 1, key_size), and $w^V$ is `values`, (2R + 1, value_size). Widths are
    those of one head; heads share the vectors. Without `value_size` keys alone are changed, which keeps the fused
    kernels and, by the paper's table 3, the quality.

    Reference: Shaw, Uszkoreit and Vaswani (2018), equations 3 and 4, arXiv:1803.02155.

    >>> position = RelativePositions(2, key_size=8, value_size=8)()
    >>> position.keys.shape, position.values.shape
    (torch.Size([5, 8]), torch.Size([5, 8]))
    """

    keys: Float[Tensor, "distance key_size"]
    values: Float[Tensor, "distance value_size"] | None

    def __init__(self, reach: int, key_size: int, value_size: int | None = None) -> None:
        super().__init__()
        _check_reach(reach)
        check_size("key_size", key_size)
        if value_size is not None:
            check_size("value_size", value_size)
        self.keys = nn.Parameter(torch.empty(2 * reach + 1, key_size))
        self.values = None if value_size is None else nn.Parameter(torch.empty(2 * reach + 1, value_size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the vectors as Glorot and Bengio (2010) do."""
        nn.init.xavier_uniform_(self.keys)
        if self.values is not None:
            nn.init.xavier_uniform_(self.values)

    def forward(
        self,
        query_positions: Int[Tensor, "... query"] | None = None,
        key_positions: Int[Tensor, "... key"] | None = None,
    ) -> Shaw:
        """Give the position object for one call of the operator."""
        return Shaw(query_positions=query_positions, key_positions=key_positions, keys=self.keys, values=self.values)

    def extra_repr(self) -> str:
        """Show the settings."""
        values = None if self.values is None else self.values.size(1)
        return f"{self.keys.size(0) // 2}, key_size={self.keys.size(1)}, value_size={values}"


class RelativeBiases(nn.Module):
    r"""Add to the scores of each head a learned number for each clipped distance.

    $$e_{hij} \mathrel{+}= b_{h, \text{clip}(j - i, -R, R)}$$

    where $R$ is `reach` and $b$ is `table`, (num_heads, 2R + 1), zero at first. It goes with every score.

    Reference: Raffel et al. (2020), section 2.1, arXiv:1910.10683.
    Differs: distances are clipped as in Shaw et al. (2018); `RelativeBucketBiases` has the paper's buckets.

    >>> RelativeBiases(4, reach=2)().table.shape
    torch.Size([4, 5])
    """

    table: Float[Tensor, "heads distance"]

    def __init__(self, num_heads: int, *, reach: int) -> None:
        super().__init__()
        _check_reach(reach)
        check_size("num_heads", num_heads)
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * reach + 1))

    def forward(
        self,
        query_positions: Int[Tensor, "... query"] | None = None,
        key_positions: Int[Tensor, "... key"] | None = None,
    ) -> RelativeBias:
        """Give the position object for one call of the operator."""
        return RelativeBias(query_positions=query_positions, key_positions=key_positions, table=self.table)

    def extra_repr(self) -> str:
        """Show the settings."""
        return f"{self.table.size(0)}, reach={self.table.size(1) // 2}"


class RelativeBucketBiases(nn.Module):
    r"""Add to the scores of each head a learned number for each bucket of distances, ever wider further away.

    $$e_{hij} \mathrel{+}= b_{h, \text{bucket}(j - i)}$$

    where $b$ is `table`, (num_heads, num_buckets), zero at first. `both_ways` tells keys behind the query apart from
    those before it, for attention without a causal mask.

    Reference: Raffel et al. (2020), section 2.1, arXiv:1910.10683.

    >>> RelativeBucketBiases(4, num_buckets=8)().table.shape
    torch.Size([4, 8])
    """

    table: Float[Tensor, "heads bucket"]

    def __init__(
        self, num_heads: int, *, num_buckets: int = 32, max_distance: int = 128, both_ways: bool = True
    ) -> None:
        super().__init__()
        check_size("num_heads", num_heads)
        check_size("num_buckets", num_buckets)
        least = 4 if both_ways else 2
        if num_buckets % least:
            raise ArgumentError(f"`num_buckets` must be a multiple of {least}; received {num_buckets}.")
        if max_distance <= num_buckets // least:
            raise ArgumentError(
                f"`max_distance` must be above the {num_buckets // least} distances that have buckets of their own; "
                f"received {max_distance}."
            )
        self.table = nn.Parameter(torch.zeros(num_heads, num_buckets))
        self.max_distance, self.both_ways = max_distance, both_ways

    def forward(
        self,
        query_positions: Int[Tensor, "... query"] | None = None,
        key_positions: Int[Tensor, "... key"] | None = None,
    ) -> RelativeBuckets:
        """Give the position object for one call of the operator."""
        return RelativeBuckets(
            query_positions=query_positions,
            key_positions=key_positions,
            table=self.table,
            max_distance=self.max_distance,
            both_ways=self.both_ways,
        )

    def extra_repr(self) -> str:
        """Show the settings."""
        heads, buckets = self.table.shape
        return f"{heads}, num_buckets={buckets}, max_distance={self.max_distance}, both_ways={self.both_ways}"


def _check_reach(reach: int) -> None:
    if reach < 0:
        raise ArgumentError(
            f"`reach` must be the largest distance that is distinguished, zero or more; received {reach}."
        )
