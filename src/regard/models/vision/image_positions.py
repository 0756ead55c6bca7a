"""A picture as a sequence of vectors: one for each image position, with its row and column."""

from typing import Literal, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.position.learned import LearnedPositions
from regard.models.vision.build import ImageEncoder
from regard.models.vision.features import ImageFeatures

MemoryKind: TypeAlias = Literal["positions", "mean"]


class ImagePositions(nn.Module):
    r"""Encode a picture as positions of one width, each with learned vectors for its row and its column.

    $$m_{rc} = \text{norm}(W f_{rc}) + R_r + C_c$$

    where $f$ are the features of `encoder`. With `kind="mean"` all are averaged into one, which leaves nothing
    to choose from: what words then find in the picture does not depend on them.

    Reference: Xu et al. (2015), section 3.1.1, arXiv:1502.03044, for positions of a convolutional network as memory;
    Bello et al. (2019), section 3.2, arXiv:1904.09925, for positions of rows and columns apart.

    >>> from regard.models.vision.residual import ResidualNetwork
    >>> positions = ImagePositions(ResidualNetwork((4, 8), num_blocks=1), size=6, grid=(4, 4))
    >>> positions(torch.rand(2, 3, 8, 8)).features.shape
    torch.Size([2, 16, 6])
    """

    def __init__(
        self, encoder: ImageEncoder, *, size: int, grid: tuple[int, int], kind: MemoryKind = "positions"
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.project = nn.Linear(encoder.size, size)
        self.norm = nn.LayerNorm(size)
        self.rows = LearnedPositions(grid[0], size)
        self.columns = LearnedPositions(grid[1], size)
        self.kind: MemoryKind = kind

    def forward(self, image: Float[Tensor, "batch channels height width"]) -> ImageFeatures:
        """Give the features of each position."""
        features, grid = self.encoder.features(image)
        rows = torch.arange(grid[0], device=features.device).repeat_interleave(grid[1])
        columns = torch.arange(grid[1], device=features.device).repeat(grid[0])
        states = self.columns(self.rows(self.norm(self.project(features)), rows), columns)
        if self.kind == "mean":
            return ImageFeatures(states.mean(1, keepdim=True), (1, 1))
        return ImageFeatures(states, grid)

    def extra_repr(self) -> str:
        """Show what words find."""
        return f"kind={self.kind!r}"
