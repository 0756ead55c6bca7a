"""Positions as learned vectors, added to the embeddings."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.checks import check_size


class LearnedPositions(nn.Module):
    r"""Add to each embedding a vector learned for its position.

    $$x'_t = x_t + P_t$$

    where $P$ is `table`, (max_length, size). Unlike waves it cannot go beyond the longest position it was made for.

    Reference: Gehring et al. (2017), section 3.1, arXiv:1705.03122.

    >>> LearnedPositions(10, 4)(torch.zeros(1, 3, 4)).shape
    torch.Size([1, 3, 4])
    """

    table: Float[Tensor, "max_length size"]

    def __init__(self, max_length: int, size: int) -> None:
        super().__init__()
        check_size("max_length", max_length)
        check_size("size", size)
        self.table = nn.Parameter(torch.empty(max_length, size))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the vectors from a narrow normal distribution, as BERT and GPT do."""
        nn.init.normal_(self.table, std=0.02)

    def forward(
        self,
        embedding: Float[Tensor, "*batch position size"],
        positions: Int[Tensor, " position"] | Int[Tensor, "*batch position"] | None = None,
    ) -> Float[Tensor, "*batch position size"]:
        """Add the vectors of positions 0, 1, …, or of those given."""
        max_length, size = self.table.shape
        if embedding.size(-1) != size:
            raise ArgumentError(f"`embedding` must be {size} wide; received {embedding.size(-1)}.")
        if positions is None:
            if embedding.size(-2) > max_length:
                raise ArgumentError(
                    f"`embedding` must have at most max_length = {max_length} positions; received "
                    f"{embedding.size(-2)}. SinusoidalPositions has no longest length."
                )
            return embedding + self.table[: embedding.size(-2)].to(embedding.dtype)
        _check_positions(positions, max_length)
        return embedding + self.table[positions].to(embedding.dtype)

    def extra_repr(self) -> str:
        """Show the settings."""
        return f"{self.table.size(0)}, {self.table.size(1)}"


def _check_positions(positions: Tensor, max_length: int) -> None:
    """Raise if a position is not in the table; not on an accelerator, which would have to be waited for."""
    if torch.compiler.is_compiling() or positions.device.type != "cpu" or not positions.numel():
        return
    low, high = int(positions.min()), int(positions.max())
    if low < 0 or high >= max_length:
        raise ArgumentError(
            f"`positions` must be from 0 to {max_length - 1}; received numbers from {low} to {high}. "
            "Make LearnedPositions with a larger max_length, or use SinusoidalPositions."
        )
