"""What an aligner of words is built from: plain values, with their help under each field."""

from dataclasses import dataclass
from typing import Literal

from regard.config.checks import LAYERS, SIZES, check_choices, check_divides, check_least, check_most, check_shares
from regard.errors import ArgumentError


@dataclass(frozen=True, kw_only=True)
class MaskAlignSpec:
    """Two Transformers, one for each direction, that predict every word from the other words and from the translation.

    Reference: Chen, Sun and Liu (2021), arXiv:2012.07162.
    """

    kind: Literal["mask-align"] = "mask-align"
    size: int = 256
    """Width of the word vectors and of every layer."""
    num_encoder_layers: int = 6
    """Blocks that read the other language."""
    num_decoder_layers: int = 6
    """Blocks that read the other words of the sentence; the last of them attends to the other language too."""
    num_heads: int = 4
    """Attention heads in each block; must divide the width."""
    feed_forward_size: int = 512
    """Width of the hidden layer in each block."""
    activation: Literal["relu", "gelu", "swish", "swiglu"] = "relu"
    """Nonlinearity of the feed-forward layer."""
    norm: Literal["pre", "post"] = "post"
    """Normalize before each sublayer, or after it, as the paper does."""
    dropout: float = 0.1
    """Dropout probability of embeddings and of the output of each sublayer."""

    def __post_init__(self) -> None:
        check_choices(self)
        sizes = ("size", "num_heads", "feed_forward_size")
        layers = ("num_encoder_layers", "num_decoder_layers")
        check_least(self, 1, *sizes, *layers)
        check_most(self, LAYERS, *layers)
        check_most(self, SIZES, *sizes)
        check_shares(self, "dropout")
        check_divides("num_heads", self.num_heads, "size", self.size)
        if self.size % 2:
            raise ArgumentError(f"`size` must be even, since positions are sines and cosines; received {self.size}.")


@dataclass(frozen=True, kw_only=True)
class SavedAligner:
    """What config.json in the model folder of an aligner holds."""

    version: str
    """The version of regard that wrote it."""
    task: Literal["align"]
    """What it is for."""
    model: MaskAlignSpec
    """What to build."""
    source_vocabulary: int
    """Tokens of the source."""
    target_vocabulary: int
    """Tokens of the target."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, 1, "source_vocabulary", "target_vocabulary")
