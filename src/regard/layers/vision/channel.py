"""Which channel matters: every feature map of an image is weighed by a gate that has seen the whole image."""

from typing import Literal, NamedTuple, get_args, overload

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.checks import check_choice

Pooling = Literal["average", "max"]


class Gated(NamedTuple):
    """What a gate gives when asked for its weights."""

    features: Tensor
    """The features, each times its weight."""
    weights: Tensor
    """The gate, between 0 and 1: (batch, channels) for channels, (batch, height, width) for positions."""


class ChannelAttention(nn.Module):
    r"""Squeeze each channel to a number, let a small network compare them, and weigh the channels by its output.

    $$s = \sigma\Big(\sum_{P} W_2\, \text{ReLU}(W_1 P(x))\Big), \qquad x'_c = s_c x_c$$

    where $P$ runs over `pooling`: the average of each channel gives squeeze-and-excitation, ("average", "max") the
    channel half of CBAM, both through the same $W_1$, (channels / reduction, channels), and $W_2$.

    Reference: Hu, Shen and Sun (2018), equations 2 to 4, arXiv:1709.01507; Woo et al. (2018), equation 2,
    arXiv:1807.06521.

    >>> gate = ChannelAttention(32, reduction=4, pooling=("average", "max"))
    >>> gated = gate(torch.randn(2, 32, 6, 6), return_weights=True)
    >>> gated.features.shape, gated.weights.shape
    (torch.Size([2, 32, 6, 6]), torch.Size([2, 32]))
    """

    def __init__(
        self, channels: int, *, reduction: int = 16, pooling: tuple[Pooling, ...] = ("average",), bias: bool = False
    ) -> None:
        super().__init__()
        if not 1 <= reduction <= channels:
            raise ArgumentError(
                f"`reduction` must be from 1 to the number of channels, {channels}; received {reduction}."
            )
        if not pooling:
            raise ArgumentError('`pooling` must name at least one of "average" and "max"; received none.')
        for name in pooling:
            check_choice("pooling", name, get_args(Pooling))
        self.channels = channels
        self.pooling = pooling
        self.squeeze = nn.Linear(channels, channels // reduction, bias=bias)
        self.excite = nn.Linear(channels // reduction, channels, bias=bias)

    @overload
    def forward(self, features: Tensor) -> Tensor: ...

    @overload
    def forward(self, features: Tensor, *, return_weights: Literal[False]) -> Tensor: ...

    @overload
    def forward(self, features: Tensor, *, return_weights: Literal[True]) -> Gated: ...

    @overload
    def forward(self, features: Tensor, *, return_weights: bool) -> Tensor | Gated: ...

    def forward(
        self, features: Float[Tensor, "batch channels *space"], *, return_weights: bool = False
    ) -> Float[Tensor, "batch channels *space"] | Gated:
        """Weigh the channels of an image, (batch, channels, height, width), or of any other grid."""
        if features.ndim < 3 or features.size(1) != self.channels:
            raise ArgumentError(
                f"`features` must have shape (batch, channels, height, width) with {self.channels} channels; "
                f"received {tuple(features.shape)}."
            )
        flat = features.flatten(2)  # batch channels position
        pooled = [flat.mean(-1) if name == "average" else flat.amax(-1) for name in self.pooling]
        excitation = torch.stack([self.excite(torch.relu(self.squeeze(each))) for each in pooled]).sum(0)
        weights = torch.sigmoid(excitation)
        gated = features * weights.to(features.dtype)[(..., *[None] * (features.ndim - 2))]
        return Gated(gated, weights) if return_weights else gated

    def extra_repr(self) -> str:
        """Show the settings."""
        return f"{self.channels}, pooling={self.pooling}"
