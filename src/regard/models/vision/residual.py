"""A small residual network for images, with or without gates on channels and positions in every block."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import ArgumentError
from regard.layers.checks import check_choice, check_size
from regard.layers.vision.channel import ChannelAttention
from regard.layers.vision.spatial import SpatialAttention
from regard.models.vision.features import (
    ChannelWeights,
    ImageFeatures,
    ImageWeights,
    PositionWeights,
    Standardize,
    lay_out,
)

ImageAttention: TypeAlias = Literal["none", "channel", "spatial", "both"]


class ResidualBlock(nn.Module):
    r"""Two convolutions, gated, added to what was there.

    $$y = \text{ReLU}(x + M_s(M_c(f(x)))), \qquad f = \text{norm} \circ w_2 * \text{ReLU}(\text{norm}(w_1 * x))$$

    where $M_c$ weighs channels and $M_s$ positions, each there or not as `attention` says. Where the width or the
    resolution changes, $x$ goes through a convolution of one position.

    Reference: He et al. (2016), equations 1 and 2, arXiv:1512.03385; gates on the branch before the sum as Woo et al.
    (2018), section 3 and figure 3, arXiv:1807.06521, and Hu, Shen and Sun (2018), figure 3, arXiv:1709.01507.
    """

    def __init__(
        self, channels: int, width: int, *, stride: int = 1, attention: ImageAttention = "none", reduction: int = 8
    ) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, width, 3, stride=stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(width)
        self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(width)
        by_channel, by_position = attention in ("channel", "both"), attention in ("spatial", "both")
        self.channel = ChannelAttention(width, reduction=reduction, pooling=("average", "max")) if by_channel else None
        self.spatial = SpatialAttention() if by_position else None
        changes = stride > 1 or channels != width
        self.shortcut = (
            nn.Sequential(nn.Conv2d(channels, width, 1, stride=stride, bias=False), nn.BatchNorm2d(width))
            if changes
            else nn.Identity()
        )

    def forward(
        self,
        maps: Float[Tensor, "batch channels height width"],
        *,
        name: str = "",
        position_weights: list[PositionWeights] | None = None,
        channels: list[ChannelWeights] | None = None,
    ) -> Float[Tensor, "batch maps rows columns"]:
        """Add to the maps what the convolutions find; the gates' weights go to the lists, where there are any."""
        result = F.relu(self.first_norm(self.first(maps)))
        result = self.second_norm(self.second(result))
        if self.channel is not None:
            gated = self.channel(result, return_weights=True)
            if channels is not None:
                channels.append(ChannelWeights(name, gated.weights, result))
            result = gated.features
        if self.spatial is not None:
            gated = self.spatial(result, return_weights=True)
            if position_weights is not None:
                position_weights.append(PositionWeights(name, gated.weights, 1.0))
            result = gated.features
        return F.relu(result + self.shortcut(maps))


class ResidualNetwork(nn.Module):
    r"""Stages of residual blocks, each of half the resolution and a greater width, then the mean over all positions.

    $$\text{logits} = W\, \frac{1}{HW} \sum_{ij} x_{ij} + b$$

    where $x_{ij}$ is the last stage's output at a position. A logit is thus a sum over positions, given as
    `evidence` (Zhou et al., 2016, equation 2, arXiv:1512.04150). Without labels the mean itself is given.

    Reference: He et al. (2016), section 4.2, arXiv:1512.03385.
    Differs: widths and depth are set freely; the shortcut that changes width is a convolution (their option B).

    >>> import torch
    >>> network = ResidualNetwork((8, 16), num_blocks=1, num_labels=10, attention="both", reduction=4)
    >>> network(torch.rand(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    >>> network.features(torch.rand(2, 3, 32, 32)).features.shape, network.size
    (torch.Size([2, 256, 16]), 16)
    """

    def __init__(
        self,
        widths: Sequence[int] = (32, 64, 128),
        *,
        num_blocks: int = 2,
        channels: int = 3,
        num_labels: int = 0,
        attention: ImageAttention = "none",
        reduction: int = 8,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_choice("attention", attention, get_args(ImageAttention))
        check_size("num_blocks", num_blocks)
        if not widths or min(widths) < 1:
            raise ArgumentError(f"`widths` must name a width of at least 1 for each stage; received {list(widths)}.")
        self.attention: ImageAttention = attention
        self.size = widths[-1]
        self.standardize = Standardize(channels)
        self.stem = nn.Conv2d(channels, widths[0], 3, padding=1, bias=False)
        self.stem_norm = nn.BatchNorm2d(widths[0])
        self.stages = nn.ModuleList()
        before = widths[0]
        for number, width in enumerate(widths):
            strides = [2 if number else 1] + [1] * (num_blocks - 1)
            self.stages.append(
                nn.ModuleList(
                    ResidualBlock(
                        before if index == 0 else width,
                        width,
                        stride=stride,
                        attention=attention,
                        reduction=reduction,
                    )
                    for index, stride in enumerate(strides)
                )
            )
            before = width
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(self.size, num_labels) if num_labels else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw convolutions as He et al. (2015) do; gates keep the start of their layers."""
        for module in self.modules():
            if isinstance(module, nn.Conv2d) and module.out_channels > 1:
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def features(self, image: Float[Tensor, "batch channels height width"]) -> ImageFeatures:
        """Give the features of the last stage at each position."""
        return lay_out(self._maps(image))

    def forward(self, image: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch labels"]:
        """Give a logit for each label, or the mean over the positions where there are none."""
        return self._decide(self._maps(image))

    def forward_with_weights(self, image: Float[Tensor, "batch channels height width"]) -> ImageWeights:
        """Give the logits with the weights of every gate."""
        positions: list[PositionWeights] = []
        channels: list[ChannelWeights] = []
        maps = self._maps(image, positions, channels)
        evidence = None
        if self.output is not None:
            each = F.conv2d(maps, self.output.weight[:, :, None, None])  # batch label row column
            evidence = each / (maps.size(2) * maps.size(3))
        return ImageWeights(self._decide(maps), tuple(positions), tuple(channels), evidence)

    def _maps(
        self,
        image: Tensor,
        position_weights: list[PositionWeights] | None = None,
        channels: list[ChannelWeights] | None = None,
    ) -> Tensor:
        maps = F.relu(self.stem_norm(self.stem(self.standardize(image))))
        for number, stage in enumerate(self.stages, start=1):
            assert isinstance(stage, nn.ModuleList)
            for index, block in enumerate(stage, start=1):
                maps = block(
                    maps, name=f"stage {number}, block {index}", position_weights=position_weights, channels=channels
                )
        return maps

    def _decide(self, maps: Tensor) -> Tensor:
        pooled: Tensor = self.dropout(maps.mean((2, 3)))
        return pooled if self.output is None else self.output(pooled)
