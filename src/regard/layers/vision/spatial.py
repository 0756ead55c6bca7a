"""Which position matters: every position of an image is weighed by a gate that reads its surroundings."""

from typing import Literal, overload

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.vision.channel import Gated


class SpatialAttention(nn.Module):
    r"""Squeeze the channels at each position to average and maximum, and weigh positions by a convolution of both.

    $$s = \sigma\big(f^{k \times k}([\text{mean}_c\, x;\ \text{max}_c\, x])\big), \qquad x'_{ij} = s_{ij} x_{ij}$$

    where $f$ is a convolution with kernel $k$, `kernel_size`, from two maps to one.

    Reference: Woo et al. (2018), equation 3, arXiv:1807.06521.
    Differs: the authors' code adds a batch normalization that the equation does not have.

    >>> gated = SpatialAttention()(torch.randn(2, 32, 6, 6), return_weights=True)
    >>> gated.features.shape, gated.weights.shape
    (torch.Size([2, 32, 6, 6]), torch.Size([2, 6, 6]))
    """

    def __init__(self, *, kernel_size: int = 7, bias: bool = False) -> None:
        super().__init__()
        if kernel_size < 1 or kernel_size % 2 == 0:
            raise ArgumentError(
                f"`kernel_size` must be odd, so that it has a center; received {kernel_size}. CBAM uses 7."
            )
        self.convolution = nn.Conv2d(2, 1, kernel_size, padding=kernel_size // 2, bias=bias)

    @overload
    def forward(self, features: Tensor) -> Tensor: ...

    @overload
    def forward(self, features: Tensor, *, return_weights: Literal[False]) -> Tensor: ...

    @overload
    def forward(self, features: Tensor, *, return_weights: Literal[True]) -> Gated: ...

    @overload
    def forward(self, features: Tensor, *, return_weights: bool) -> Tensor | Gated: ...

    def forward(
        self, features: Float[Tensor, "batch channels height width"], *, return_weights: bool = False
    ) -> Float[Tensor, "batch channels height width"] | Gated:
        """Weigh the positions of an image."""
        if features.ndim != 4:
            raise ArgumentError(
                f"`features` must have four axes, (batch, channels, height, width); received {tuple(features.shape)}."
            )
        maps = torch.stack([features.mean(1), features.amax(1)], dim=1)  # batch 2 height width
        weights = torch.sigmoid(self.convolution(maps))
        gated = features * weights.to(features.dtype)
        return Gated(gated, weights.squeeze(1)) if return_weights else gated
