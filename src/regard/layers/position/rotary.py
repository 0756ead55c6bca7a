"""Positions as rotations of query and key: what attention then sees is the distance between them."""

from typing import Literal, get_args

from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Rotary
from regard.errors import ArgumentError
from regard.layers.checks import check_choice

Layout = Literal["pairs", "halves"]


class RotaryPositions(nn.Module):
    r"""Turn each pair of features of query and key by an angle that grows with the position.

    $$(R_m q)^\top (R_n k) = q^\top R_{n-m} k, \qquad \theta_i = \text{base}^{-2i/d}$$

    `layout` says which features form a pair: neighbors, "pairs" as in the paper, or the two "halves", as in
    Hugging Face checkpoints. `size` turns the first `size` features only. `frequencies` and `magnitude` replace the
    paper's, for models stretched to longer contexts (`regard.attention.frequencies`). It has no parameters: called with
    the positions of queries and keys, it gives the `Rotary` that the operator takes.

    Reference: Su et al. (2021), equations 14, 15 and 34, arXiv:2104.09864.

    >>> RotaryPositions()().base
    10000.0
    """

    frequencies: Float[Tensor, " pair"] | None

    def __init__(
        self,
        *,
        base: float = 10000.0,
        layout: Layout = "pairs",
        size: int | None = None,
        frequencies: Float[Tensor, " pair"] | None = None,
        magnitude: float = 1.0,
    ) -> None:
        super().__init__()
        if not base > 1:
            raise ArgumentError(f"`base` must be above 1; received {base}.")
        check_choice("layout", layout, get_args(Layout))
        if size is not None and (size < 2 or size % 2):
            raise ArgumentError(f"`size` must be an even number of features to turn, or None for all; received {size}.")
        self.base = base
        self.layout: Layout = layout
        self.size = size
        self.magnitude = magnitude
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(
        self,
        query_positions: Int[Tensor, "... query"] | None = None,
        key_positions: Int[Tensor, "... key"] | None = None,
    ) -> Rotary:
        """Give the position object for one call of the operator."""
        return Rotary(
            query_positions=query_positions,
            key_positions=key_positions,
            base=self.base,
            layout=self.layout,
            size=self.size,
            frequencies=self.frequencies,
            magnitude=self.magnitude,
        )

    def extra_repr(self) -> str:
        """Show the settings."""
        return f"base={self.base:g}, layout={self.layout!r}, size={self.size}"
