"""Everything that training to describe pictures is made of: model, data and what suits them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from regard.config.checks import LAYERS, MOST_PIXELS, SIZES, check_least, check_most, check_shares
from regard.config.picture_data import PictureData, PictureSize, picture_defaults, preset_for
from regard.config.questions import CNN, SMALL, VIT
from regard.config.read import merge, read_settings
from regard.config.show import to_table
from regard.config.train import Train
from regard.config.vision import ImageEncoderSpec
from regard.errors import ArgumentError, nearest


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
        check_least(self, 1, "size", "num_heads", "num_layers", "feed_forward_size")
        check_most(self, LAYERS, "num_layers")
        check_most(self, SIZES, "size", "num_heads", "feed_forward_size")
        check_shares(self, "dropout")
        if self.size % self.num_heads or self.size % 2:
            raise ArgumentError(
                f"`size` must be even and a multiple of `num_heads`, {self.num_heads}; received {self.size}."
            )


CAPTION_MODELS: dict[str, CaptionSpec] = {
    "cnn": CaptionSpec(),
    "vit": CaptionSpec(image=VIT),
    "small": CaptionSpec(size=64, num_heads=4, feed_forward_size=128, image=SMALL),
}


def caption_preset(name: str) -> CaptionSpec:
    """Give a named model for captions.

    >>> caption_preset("vit").image.kind
    'vision-transformer'
    >>> caption_preset("vitt")
    Traceback (most recent call last):
    regard.errors.ArgumentError: `preset` must be the name of a model for captions; received "vitt". Did you mean vit?
    """
    if name not in CAPTION_MODELS:
        known = nearest(name, CAPTION_MODELS)
        raise ArgumentError(f'`preset` must be the name of a model for captions; received "{name}". {known}')
    return CAPTION_MODELS[name]


@dataclass(frozen=True, kw_only=True)
class CaptionConfig:
    """A run: pictures with captions, model and training."""

    data: PictureData = field(default_factory=PictureData)
    """Which pictures to train and validate on."""
    model: CaptionSpec = field(default_factory=CaptionSpec)
    """What to build."""
    train: Train = field(default_factory=Train)
    """How long, how fast, and what to keep; train.batch_tokens counts pictures."""


def compose_captions(chosen: Mapping[str, Any], size: PictureSize, *, name: str = "") -> CaptionConfig:
    """Give the settings of a run: those `chosen`, for the rest the preset `name`'s, and what suits the data.

    >>> compose_captions({"train": {"steps": 7}}, PictureSize(pictures=1000, words=40_000)).train.steps
    7
    """
    name = name or preset_for(chosen)
    below = {"model": to_table(caption_preset(name))} if name else {}
    tables = merge(below, chosen)
    read_settings(CaptionConfig, tables)  # mistakes first
    return read_settings(CaptionConfig, picture_defaults(size, tables, epochs=6 if preset_for(chosen) else 30), tables)


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
