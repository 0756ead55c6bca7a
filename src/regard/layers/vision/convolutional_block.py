"""First which channel, then which position: the convolutional block attention module."""

from typing import Literal, NamedTuple, overload

from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.vision.channel import ChannelAttention
from regard.layers.vision.spatial import SpatialAttention


class BlockGated(NamedTuple):
    """What the block gives when asked for its weights."""

    features: Tensor
    """The features, each times the weights of its channel and its position."""
    channel_weights: Tensor
    """(batch, channels)."""
    spatial_weights: Tensor
    """(batch, height, width)."""


class ConvolutionalBlockAttention(nn.Module):
    r"""Weigh the channels of an image, then its positions.

    $$x' = M_c(x) \cdot x, \qquad x'' = M_s(x') \cdot x'$$

    where $M_c$ is `ChannelAttention` over average and maximum, and $M_s$ is `SpatialAttention`.

    Reference: Woo et al. (2018), equation 1, arXiv:1807.06521.

    >>> import torch
    >>> gated = ConvolutionalBlockAttention(32)(torch.randn(2, 32, 6, 6), return_weights=True)
    >>> gated.channel_weights.shape, gated.spatial_weights.shape
    (torch.Size([2, 32]), torch.Size([2, 6, 6]))
    """

    def __init__(self, channels: int, *, reduction: int = 16, kernel_size: int = 7) -> None:
        super().__init__()
        self.channel = ChannelAttention(channels, reduction=reduction, pooling=("average", "max"))
        self.spatial = SpatialAttention(kernel_size=kernel_size)

    @overload
    def forward(self, features: Tensor) -> Tensor: ...

    @overload
    def forward(self, features: Tensor, *, return_weights: Literal[False]) -> Tensor: ...

    @overload
    def forward(self, features: Tensor, *, return_weights: Literal[True]) -> BlockGated: ...

    @overload
    def forward(self, features: Tensor, *, return_weights: bool) -> Tensor | BlockGated: ...

    def forward(
        self, features: Float[Tensor, "batch channels height width"], *, return_weights: bool = False
    ) -> Float[Tensor, "batch channels height width"] | BlockGated:
        """Weigh channels, then positions."""
        by_channel = self.channel(features, return_weights=True)
        by_position = self.spatial(by_channel.features, return_weights=True)
        if not return_weights:
            return by_position.features  # type: ignore[no-any-return]
        return BlockGated(by_position.features, by_channel.weights, by_position.weights)
