"""What network reads images: plain values, with their help under each field, and the named ones."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from regard.config.checks import LAYERS, SIZES, check_choices, check_least, check_most, check_shares
from regard.errors import ArgumentError, brief, nearest

MOST_STAGES = 16
"""Each halves the resolution: more than that leaves nothing of any picture."""


@dataclass(frozen=True, kw_only=True)
class ResidualSpec:
    """A residual network of a few stages (He et al., 2016), with or without gates in every block (Woo et al., 2018)."""

    kind: Literal["residual"] = "residual"
    widths: tuple[int, ...] = (32, 64, 128)
    """Channels of each stage; every stage but the first halves the resolution."""
    num_blocks: int = 2
    """Blocks of two convolutions in each stage."""
    attention: Literal["none", "channel", "spatial", "both"] = "none"
    """What each block weighs: channels, positions, or channels and then positions."""
    reduction: int = 8
    """How much narrower than its channels the hidden layer of a channel gate is."""
    dropout: float = 0.0
    """Share dropped of what the label is read from."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, 1, "num_blocks", "reduction")
        check_most(self, 64, "num_blocks")
        check_shares(self, "dropout")
        if not self.widths or min(self.widths) < 1:
            raise ArgumentError(
                f"`widths` must name a width of at least 1 for each stage; received {list(self.widths)}."
            )
        if len(self.widths) > MOST_STAGES or max(self.widths) > SIZES:
            raise ArgumentError(
                f"`widths` must name at most {MOST_STAGES} stages, each of at most {SIZES:,}; received "
                f"{brief(list(self.widths))}."
            )
        if self.attention in ("channel", "both") and self.reduction > min(self.widths):
            raise ArgumentError(
                f"`reduction` must be at most the least of `widths`, {min(self.widths)}; received {self.reduction}."
            )


@dataclass(frozen=True, kw_only=True)
class VisionTransformerSpec:
    """Patches of an image, read by Transformer blocks with a token for the label (Dosovitskiy et al., 2021)."""

    kind: Literal["vision-transformer"] = "vision-transformer"
    patch_size: int = 4
    """Height and width of a patch in pixels; must divide those of the images."""
    size: int = 128
    """Width of the states."""
    num_layers: int = 4
    """Blocks."""
    num_heads: int = 4
    """Attention heads in each block; must divide the width."""
    feed_forward_size: int = 256
    """Width of the hidden layer in each block."""
    dropout: float = 0.1
    """Dropout probability of embeddings and of the output of each sublayer."""

    def __post_init__(self) -> None:
        check_least(self, 1, "patch_size", "size", "num_layers", "num_heads", "feed_forward_size")
        check_most(self, LAYERS, "num_layers")
        check_most(self, SIZES, "patch_size", "size", "num_heads", "feed_forward_size")
        check_shares(self, "dropout")
        if self.size % self.num_heads:
            raise ArgumentError(f"`size` must be a multiple of `num_heads`, {self.num_heads}; received {self.size}.")


ImageEncoderSpec: TypeAlias = ResidualSpec | VisionTransformerSpec

IMAGE_ENCODERS: dict[str, ImageEncoderSpec] = {
    "resnet": ResidualSpec(),
    "resnet-channel": ResidualSpec(attention="channel"),
    "resnet-spatial": ResidualSpec(attention="spatial"),
    "resnet-both": ResidualSpec(attention="both"),
    "resnet-small": ResidualSpec(widths=(8, 16, 32), num_blocks=1),
    "vit": VisionTransformerSpec(),
}


def image_preset(name: str) -> ImageEncoderSpec:
    """Give a named network.

    >>> image_preset("resnet-both").kind
    'residual'
    >>> image_preset("resnet-bot")
    Traceback (most recent call last):
    regard.errors.ArgumentError: `preset` must be the name of an image network; received "resnet-bot". Did you mean
    resnet-both?
    """
    if name not in IMAGE_ENCODERS:
        known = nearest(name, IMAGE_ENCODERS)
        raise ArgumentError(f'`preset` must be the name of an image network; received "{name}". {known}')
    return IMAGE_ENCODERS[name]
