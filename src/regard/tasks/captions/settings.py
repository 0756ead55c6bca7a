"""A run on captions of pictures: its training, its named models, and what suits the data, which is as for questions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from regard.config.checks import check_least
from regard.config.read import merge, read_settings
from regard.config.show import to_table
from regard.config.train import PictureTrain
from regard.config.vision import SMALL, VIT, CaptionSpec
from regard.tasks.questions.settings import PictureData, PictureSize, picture_defaults, preset_for
from regard.tasks.task import find_preset

CAPTION_MODELS: dict[str, CaptionSpec] = {
    "cnn": CaptionSpec(),
    "vit": CaptionSpec(image=VIT),
    "small": CaptionSpec(size=64, num_heads=4, feed_forward_size=128, image=SMALL),
}


@dataclass(frozen=True, kw_only=True)
class CaptionTrain(PictureTrain):
    """How long, how fast, and what to keep."""

    metric: Literal["loss", "exact", "bleu"] = "loss"
    valid_sentences: int = 500
    """Captions generated at a validation, at most; the loss is always that of all."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, 1, "valid_sentences")


@dataclass(frozen=True, kw_only=True)
class CaptionConfig:
    """A run: pictures with captions, model and training."""

    data: PictureData = field(default_factory=PictureData)
    """Which pictures to train and validate on."""
    model: CaptionSpec = field(default_factory=CaptionSpec)
    """What to build."""
    train: CaptionTrain = field(default_factory=CaptionTrain)
    """How long, how fast, and what to keep."""


def compose_captions(chosen: Mapping[str, Any], size: PictureSize, *, name: str = "") -> CaptionConfig:
    """Give the settings of a run: those `chosen`, for the rest the preset `name`'s, and what suits the data.

    >>> compose_captions({"train": {"steps": 7}}, PictureSize(pictures=1000, words=40_000)).train.steps
    7
    """
    name = name or preset_for(chosen)
    below = {"model": to_table(find_preset(name, CAPTION_MODELS, of="a model for captions"))} if name else {}
    tables = merge(below, chosen)
    read_settings(CaptionConfig, tables)  # mistakes first
    return read_settings(CaptionConfig, picture_defaults(size, tables, epochs=6 if preset_for(chosen) else 30), tables)
