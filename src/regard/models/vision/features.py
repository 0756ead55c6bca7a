"""What an image becomes: a vector for each position, standardized colors before it, and what was weighed on the way."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.checks import check_size


class ImageFeatures(NamedTuple):
    """An image as a sequence of positions, row by row: what words can attend to."""

    features: Tensor
    """(batch, rows · columns, size)."""
    grid: tuple[int, int]
    """How many rows and columns; weights over the positions, reshaped so, lie on the image again."""


class PositionWeights(NamedTuple):
    """The weight of each position of an image, at one point of a network."""

    name: str
    """Where in the network: "stage 2, block 1", "block 4", "rollout"."""
    weights: Tensor
    """(batch, rows, columns)."""
    limit: float
    """What is drawn in full: 1 for a gate, eight equal shares for weights that sum to one."""


class ChannelWeights(NamedTuple):
    """The weight of each feature map, at one point of a network."""

    name: str
    """Where in the network: "stage 2, block 1"."""
    weights: Tensor
    """(batch, channels), from 0 to 1."""
    maps: Tensor
    """The feature maps before they were weighed, (batch, channels, height, width)."""


class ImageWeights(NamedTuple):
    """The logits of images, with the weights of the network's attention."""

    logits: Tensor
    """(batch, labels)."""
    positions: tuple[PositionWeights, ...]
    """From the first layer to the last; none where the network weighs no positions."""
    channels: tuple[ChannelWeights, ...]
    """Likewise for channels."""
    evidence: Tensor | None
    """What each position adds to each label's logit, (batch, labels, rows, columns), where that is a sum over them."""


class Standardize(nn.Module):
    r"""Bring each color to a mean near zero and a spread near one: $(x - \mu_c) / \sigma_c$.

    The mean and the spread are those of the training images where `fit` gets them; they are saved with the model,
    so that whoever loads it gives plain colors from 0 to 1.

    >>> standardize = Standardize(3)
    >>> standardize.fit(mean=[0.5, 0.4, 0.3], spread=[0.2, 0.2, 0.2])
    >>> standardize(torch.full((1, 3, 2, 2), 0.5))[0, :, 0, 0]
    tensor([0.0000, 0.5000, 1.0000])
    """

    mean: Float[Tensor, "channels 1 1"]
    spread: Float[Tensor, "channels 1 1"]

    def __init__(self, channels: int) -> None:
        super().__init__()
        check_size("channels", channels)
        self.channels = channels
        self.register_buffer("mean", torch.full((channels, 1, 1), 0.5))
        self.register_buffer("spread", torch.full((channels, 1, 1), 0.25))

    def fit(self, *, mean: Sequence[float], spread: Sequence[float]) -> None:
        """Take the mean and the standard deviation of each color from the training images."""
        for name, values, own in (("mean", mean, self.mean), ("spread", spread, self.spread)):
            if len(values) != self.channels:
                raise ArgumentError(
                    f"`{name}` must have a number for each of {self.channels} channels; received {len(values)}."
                )
            own.copy_(torch.tensor(values).view(-1, 1, 1))
        self.spread.clamp_(min=1e-3)  # a color that is the same everywhere stays finite

    def forward(
        self, image: Float[Tensor, "batch channels height width"]
    ) -> Float[Tensor, "batch channels height width"]:
        """Shift and scale every color."""
        if image.ndim != 4 or image.size(1) != self.channels:
            raise ArgumentError(
                f"`image` must have shape (batch, {self.channels}, height, width), with colors from 0 to 1; received "
                f"{tuple(image.shape)}."
            )
        return (image - self.mean) / self.spread


def lay_out(maps: Float[Tensor, "batch size rows columns"]) -> ImageFeatures:
    """Turn feature maps into a vector for each position.

    >>> lay_out(torch.zeros(2, 8, 3, 4)).features.shape
    torch.Size([2, 12, 8])
    """
    return ImageFeatures(maps.flatten(2).transpose(1, 2), (maps.size(2), maps.size(3)))
