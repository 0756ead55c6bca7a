"""What network reads images, answers questions about them or describes them: plain values, with their help."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from regard.config.checks import LAYERS, MOST_PIXELS, SIZES, check_choices, check_least, check_most, check_shares
from regard.errors import ArgumentError, brief

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

CNN = ResidualSpec(widths=(16, 32, 64, 128), num_blocks=1)
"""Gives 8 × 8 positions of a picture of 64 × 64 pixels."""
VIT = VisionTransformerSpec(patch_size=8, size=128, num_layers=4, feed_forward_size=256, dropout=0.0)
"""The same number of positions, as patches."""
SMALL = ResidualSpec(widths=(8, 16, 32), num_blocks=1)
"""The same number of positions of a picture of 32 × 32 pixels."""


@dataclass(frozen=True, kw_only=True)
class QuestionSpec:
    """Words of a question attend to the positions of a picture."""

    size: int = 128
    """Hidden size, of words and image positions."""
    num_heads: int = 8
    """Attention heads in each block; must divide the width."""
    num_layers: int = 2
    """Blocks of self-attention over words and attention from words to the picture."""
    reader: Literal["gru", "transformer"] = "gru"
    """How the question is read: word by word, both ways, or by self-attention."""
    attention: Literal["positions", "mean"] = "positions"
    """What words attend to: every position of the picture, or their mean alone, for which attention plays no part."""
    feed_forward_size: int = 256
    """Width of the hidden layer in each block."""
    dropout: float = 0.0
    """Dropout probability of the output of each sublayer."""
    image: ImageEncoderSpec = CNN
    """What reads the picture."""

    def __post_init__(self) -> None:
        check_choices(self)
        _check_blocks(self)


@dataclass(frozen=True, kw_only=True)
class CaptionSpec:
    """A Transformer's decoder that attends to the positions of a picture."""

    size: int = 128
    """Hidden size, of words and image positions."""
    num_heads: int = 8
    """Attention heads in each block; must divide the width."""
    num_layers: int = 2
    """Blocks of the decoder."""
    feed_forward_size: int = 256
    """Width of the hidden layer in each block."""
    dropout: float = 0.0
    """Dropout probability of the output of each sublayer."""
    image: ImageEncoderSpec = CNN
    """What reads the picture."""

    def __post_init__(self) -> None:
        _check_blocks(self)


def _check_blocks(spec: "QuestionSpec | CaptionSpec") -> None:
    """Check what both kinds of blocks over a picture share."""
    check_least(spec, 1, "size", "num_heads", "num_layers", "feed_forward_size")
    check_most(spec, LAYERS, "num_layers")
    check_most(spec, SIZES, "size", "num_heads", "feed_forward_size")
    check_shares(spec, "dropout")
    if spec.size % spec.num_heads or spec.size % 2:
        raise ArgumentError(
            f"`size` must be even and a multiple of `num_heads`, {spec.num_heads}; received {spec.size}."
        )


@dataclass(frozen=True, kw_only=True)
class SavedImageClassifier:
    """What config.json in an image classifier's folder holds."""

    version: str
    """The version of regard that wrote it."""
    task: Literal["images"]
    """What the model is for."""
    model: ImageEncoderSpec
    """What to build."""
    height: int
    """Height of the images."""
    width: int
    """Width of the images."""
    channels: int
    """Colors of the images: 3, or 1 for gray."""
    num_labels: int
    """Labels to choose from."""

    def __post_init__(self) -> None:
        check_least(self, 1, "height", "width", "channels", "num_labels")
        check_most(self, MOST_PIXELS, "height", "width")
        check_most(self, 3, "channels")


@dataclass(frozen=True, kw_only=True)
class SavedQuestions:
    """What config.json in the folder of a model for questions holds."""

    version: str
    """The version of regard that wrote it."""
    task: Literal["questions"]
    """What the model is for."""
    model: QuestionSpec
    """What to build."""
    vocabulary_size: int
    """Words of the vocabulary."""
    num_answers: int
    """Answers to choose from."""
    image_size: int
    """Height and width of the pictures, in pixels."""
    max_length: int
    """Words that are read of a question."""

    def __post_init__(self) -> None:
        check_least(self, 1, "vocabulary_size", "num_answers", "image_size", "max_length")
        check_most(self, MOST_PIXELS, "image_size")
        check_most(self, SIZES, "max_length")


@dataclass(frozen=True, kw_only=True)
class SavedCaptions:
    """What config.json in the folder of a model for captions holds."""

    version: str
    """The version of regard that wrote it."""
    task: Literal["captions"]
    """What the model is for."""
    model: CaptionSpec
    """What to build."""
    vocabulary_size: int
    """Words of the vocabulary."""
    image_size: int
    """Height and width of the pictures, in pixels."""
    max_length: int
    """Most words of a caption."""
    answers: bool = False
    """Whether it was trained to answer questions too."""

    def __post_init__(self) -> None:
        check_least(self, 1, "vocabulary_size", "image_size", "max_length")
        check_most(self, MOST_PIXELS, "image_size")
        check_most(self, SIZES, "max_length")
