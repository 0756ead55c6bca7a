"""Everything that training on questions about pictures is made of: model, data and what suits them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from regard.config.checks import LAYERS, MOST_PIXELS, SIZES, check_choices, check_least, check_most, check_shares
from regard.config.picture_data import PictureData, PictureSize, picture_defaults, preset_for
from regard.config.read import merge, read_settings
from regard.config.show import to_table
from regard.config.train import Train
from regard.config.vision import ImageEncoderSpec, ResidualSpec, VisionTransformerSpec
from regard.errors import ArgumentError, nearest

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
    num_looks: int = 2
    """Blocks of self-attention over words and attention from words to the picture."""
    reader: Literal["gru", "transformer"] = "gru"
    """How the question is read: word by word, both ways, or by self-attention."""
    look: Literal["places", "mean"] = "places"
    """What words attend to: every position of the picture, or their mean alone, for which attention plays no part."""
    feed_forward_size: int = 256
    """Width of the hidden layer in each block."""
    dropout: float = 0.0
    """Dropout probability of the output of each sublayer."""
    image: ImageEncoderSpec = CNN
    """What reads the picture."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, 1, "size", "num_heads", "num_looks", "feed_forward_size")
        check_most(self, LAYERS, "num_looks")
        check_most(self, SIZES, "size", "num_heads", "feed_forward_size")
        check_shares(self, "dropout")
        if self.size % self.num_heads or self.size % 2:
            raise ArgumentError(
                f"`size` must be even and a multiple of `num_heads`, {self.num_heads}; received {self.size}."
            )


QUESTION_MODELS: dict[str, QuestionSpec] = {
    "cnn": QuestionSpec(),
    "cnn-mean": QuestionSpec(look="mean"),
    "vit": QuestionSpec(image=VIT),
    "vit-mean": QuestionSpec(image=VIT, look="mean"),
    "small": QuestionSpec(size=64, num_heads=4, feed_forward_size=128, image=SMALL),
}


def question_preset(name: str) -> QuestionSpec:
    """Give a named model for questions.

    >>> question_preset("cnn-mean").look
    'mean'
    >>> question_preset("cn")
    Traceback (most recent call last):
    regard.errors.ArgumentError: `preset` must be the name of a model for questions; received "cn". Did you mean cnn?
    """
    if name not in QUESTION_MODELS:
        known = nearest(name, QUESTION_MODELS)
        raise ArgumentError(f'`preset` must be the name of a model for questions; received "{name}". {known}')
    return QUESTION_MODELS[name]


@dataclass(frozen=True, kw_only=True)
class QuestionConfig:
    """A run: pictures with questions, model and training."""

    data: PictureData = field(default_factory=PictureData)
    """Which pictures to train and validate on."""
    model: QuestionSpec = field(default_factory=QuestionSpec)
    """What to build."""
    train: Train = field(default_factory=Train)
    """How long, how fast, and what to keep; train.batch_tokens counts pictures."""


def compose_questions(chosen: Mapping[str, Any], size: PictureSize, *, name: str = "") -> QuestionConfig:
    """Give the settings of a run: those `chosen`, for the rest the preset `name`'s, and what suits the data.

    >>> config = compose_questions({}, PictureSize(pictures=1000, words=40_000), name="cnn-mean")
    >>> config.model.look, config.train.metric
    ('mean', 'loss')
    """
    name = name or preset_for(chosen)
    below = {"model": to_table(question_preset(name))} if name else {}
    tables = merge(below, chosen)
    read_settings(QuestionConfig, tables)  # mistakes first
    return read_settings(QuestionConfig, picture_defaults(size, tables, epochs=30), tables)


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
