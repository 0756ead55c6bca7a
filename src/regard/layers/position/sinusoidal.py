"""Positions as waves of many lengths, added to the embeddings: a clock with size/2 hands, none of them learned."""

from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.checks import check_choice

Order = Literal["sin-cos", "cos-sin", "halves"]


def sinusoids(
    positions: Int[Tensor, "... position"],
    size: int,
    *,
    order: Order = "sin-cos",
    base: float = 10000.0,
    dtype: torch.dtype = torch.float64,
) -> Float[Tensor, "... position {size}"]:
    r"""Write each position as `size` numbers, in pairs that turn ever more slowly.

    $$p(t)_{2i} = \sin(\omega_i t), \qquad p(t)_{2i+1} = \cos(\omega_i t), \qquad \omega_i = \text{base}^{-2i/d}$$

    where $d$ is `size`. With `order="cos-sin"`, as many lectures print it, the cosine comes first in each pair; with
    "halves", as the authors' code and Marian have it, all sines come before all cosines.

    Reference: Vaswani et al. (2017), section 3.5, arXiv:1706.03762.
    Differs: the angle is computed in float64 and rounded once, since in float32 position 100,000 is off by 0.004.

    >>> sinusoids(torch.tensor([0, 1]), 4, dtype=torch.float32)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    frequencies = _frequencies(size, base, positions.device)
    angle = positions.unsqueeze(-1).to(frequencies.dtype) * frequencies
    pair = (angle.cos(), angle.sin()) if order == "cos-sin" else (angle.sin(), angle.cos())
    waves = torch.cat(pair, dim=-1) if order == "halves" else torch.stack(pair, dim=-1).flatten(-2)
    return waves.to(dtype)


def _frequencies(size: int, base: float, device: torch.device | None) -> Float[Tensor, " half"]:
    wide = torch.float32 if device is not None and device.type == "mps" else torch.float64  # Apple's has no float64
    return base ** (torch.arange(0, size, 2, dtype=wide, device=device) / -size)


class SinusoidalPositions(nn.Module):
    r"""Add to each embedding the waves of its position; there is nothing to learn, and no longest length.

    $$x'_t = x_t + p(t)$$

    where $p$ is `sinusoids`. A shift is a rotation, the same for every position, which is why a linear map can find
    "three words back": `rotation(offset)` is that map.

    Reference: Vaswani et al. (2017), section 3.5, arXiv:1706.03762.
    Differs: the embedding's factor $\sqrt{d}$ (section 3.4) belongs to the embedding.

    >>> positions = SinusoidalPositions(4)
    >>> positions(torch.zeros(1, 2, 4))
    tensor([[[0.0000, 1.0000, 0.0000, 1.0000],
             [0.8415, 0.5403, 0.0100, 0.9999]]])
    >>> shifted = positions.table(9) @ positions.rotation(5).mT
    >>> torch.allclose(shifted, positions.table(14)[5:], rtol=0, atol=1e-15)
    True
    """

    def __init__(self, size: int, *, order: Order = "sin-cos", base: float = 10000.0) -> None:
        super().__init__()
        if size < 2 or size % 2:
            raise ArgumentError(
                f"`size` must be even and positive, since features come in pairs of sine and cosine; received {size}."
            )
        check_choice("order", order, get_args(Order))
        if not base > 1:
            raise ArgumentError(f"`base` must be above 1; received {base}.")
        self.size = size
        self.order: Order = order
        self.base = base

    def forward(
        self,
        embedding: Float[Tensor, "*batch position size"],
        positions: Int[Tensor, " position"] | Int[Tensor, "*batch position"] | None = None,
    ) -> Float[Tensor, "*batch position size"]:
        """Add the waves of positions 0, 1, …, or of those given."""
        if embedding.size(-1) != self.size:
            raise ArgumentError(f"`embedding` must be {self.size} wide; received {embedding.size(-1)}.")
        if positions is None:
            positions = torch.arange(embedding.size(-2), device=embedding.device)
        return embedding + sinusoids(positions, self.size, order=self.order, base=self.base, dtype=embedding.dtype)

    def table(
        self, length: int, *, dtype: torch.dtype = torch.float64, device: torch.device | None = None
    ) -> Float[Tensor, "{length} size"]:
        """Give p(0), …, p(length − 1) as the rows of a matrix."""
        positions = torch.arange(length, device=device)
        return sinusoids(positions, self.size, order=self.order, base=self.base, dtype=dtype)

    def rotation(
        self, offset: int, *, dtype: torch.dtype = torch.float64, device: torch.device | None = None
    ) -> Float[Tensor, "size size"]:
        r"""Give the block-diagonal matrix that moves every position by `offset`.

        $$M p(t) = p(t + \text{offset}), \qquad M_i = \begin{pmatrix} \cos \omega_i \delta & \sin \omega_i \delta \\
        -\sin \omega_i \delta & \cos \omega_i \delta \end{pmatrix}$$

        where $\delta$ is `offset` and $M_i$ acts on the pair (sine, cosine); for "cos-sin" it is the transpose. For
        "halves" the blocks are diagonal matrices.

        >>> SinusoidalPositions(2).rotation(1)
        tensor([[ 0.5403,  0.8415],
                [-0.8415,  0.5403]], dtype=torch.float64)
        """
        angle = offset * _frequencies(self.size, self.base, device)
        cosine, sine = angle.cos(), angle.sin()
        if self.order == "halves":
            halves = [torch.cat([cosine.diag(), sine.diag()], dim=1), torch.cat([-sine.diag(), cosine.diag()], dim=1)]
            return torch.cat(halves).to(dtype)
        turn = torch.stack([cosine, sine, -sine, cosine], dim=-1).unflatten(-1, (2, 2))  # size/2 2 2
        matrix: Tensor = torch.block_diag(*(turn if self.order == "sin-cos" else turn.mT))
        return matrix.to(dtype)

    def extra_repr(self) -> str:
        """Show the settings."""
        return f"{self.size}, order={self.order!r}, base={self.base:g}"
