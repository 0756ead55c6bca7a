"""A run on questions about pictures: its data, its training, its named models, and what suits the data.

Captions have the same data, and take it from here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from regard.config.checks import check_least
from regard.config.data_files import DataName
from regard.config.read import chosen_whole, merge, read_settings
from regard.config.show import to_table
from regard.config.train import PictureTrain
from regard.config.vision import SMALL, VIT, QuestionSpec
from regard.data.corpora.catalogue import check_languages
from regard.data.corpora.split import Fractions
from regard.tasks.task import find_preset

BUILTIN = "builtin:shapes"
SIMPLE = "builtin:simple-shapes"
PICTURE_SIZE = 64
"""Height and width that pictures of a folder are stretched to where none is set."""


@dataclass(frozen=True, kw_only=True)
class PictureData:
    """Which pictures to train and validate on."""

    corpus: DataName = ""
    """builtin:shapes, the easier builtin:simple-shapes; a folder or table of pictures, with questions or
    captions."""
    scenes: int = 0
    """Pictures that are drawn to train on; 0 is 10,000 of builtin:shapes, and 2,000 of builtin:simple-shapes."""
    held_out_scenes: int = 0
    """Pictures that are drawn to validate on, and as many to test with; 0 is a tenth of those to train on."""
    seed: int = 0
    """Fixes what it draws."""
    answers: int = 0
    """Questions about each picture that a captioner learns to answer in a sentence."""
    image_size: int = 0
    """Height and width that pictures are stretched to; 0 is 64, and what is drawn for a built-in corpus."""
    max_length: int = 40
    """Most words of a question or a caption."""
    license: str = "unknown"
    """The license of the data, for the model card."""
    languages: tuple[str, ...] = ()
    """Codes of its languages, such as ["es"], for the model card."""
    hold_out: Fractions = field(default_factory=lambda: Fractions(valid=0.1, test=0.1))
    """Shares of the pictures to hold out where the folder holds no validation or test set."""

    def __post_init__(self) -> None:
        check_least(self, 0, "scenes", "held_out_scenes", "answers", "image_size")
        check_least(self, 1, "max_length")
        check_languages(self.languages)


class PictureSize(NamedTuple):
    """How much there is to train on."""

    pictures: int
    words: int
    """Of all questions or captions."""


def preset_for(chosen: Mapping[str, Any]) -> str:
    """Name the model that suits the data where none is named; nothing for that of every other setting.

    >>> preset_for({"data": {"corpus": "builtin:simple-shapes"}}), preset_for({})
    ('small', '')
    """
    return "small" if chosen.get("data", {}).get("corpus") == SIMPLE else ""


def picture_defaults(size: PictureSize, chosen: Mapping[str, Any], *, epochs: int) -> dict[str, Any]:
    """Take so many epochs of batches of some dozen pictures, at a rate that rises and falls."""
    train = chosen.get("train", {})
    batch = chosen_whole(train, "batch_size", max(4, min(64, size.pictures // 20)))
    epoch = max(1, -(-size.pictures // batch))
    steps = chosen_whole(train, "steps", max(200, epochs * epoch))
    validate_every = chosen_whole(train, "validate_every", max(10, min(2 * epoch, steps // 5)))
    transforms = chosen.get("model", {}).get("image", {}).get("kind") == "vision-transformer"
    rate = 1e-3 if transforms else 2e-3
    return {
        "train": {
            "steps": steps,
            "batch_size": batch,
            "validate_every": validate_every,
            "checkpoint_every": validate_every,
            "keep_checkpoints": 1,
            "log_every": max(1, min(50, steps // 20)),
            "label_smoothing": 0.0,
            "beta2": 0.99,
            "schedule": {"kind": "cosine", "rate": rate, "warm_up": max(1, steps // 20), "final": 0.01},
        },
    }


QUESTION_MODELS: dict[str, QuestionSpec] = {
    "cnn": QuestionSpec(),
    "cnn-mean": QuestionSpec(attention="mean"),
    "vit": QuestionSpec(image=VIT),
    "vit-mean": QuestionSpec(image=VIT, attention="mean"),
    "small": QuestionSpec(size=64, num_heads=4, feed_forward_size=128, image=SMALL),
}


@dataclass(frozen=True, kw_only=True)
class QuestionTrain(PictureTrain):
    """How long, how fast, and what to keep."""

    metric: Literal["loss", "accuracy"] = "loss"


@dataclass(frozen=True, kw_only=True)
class QuestionConfig:
    """A run: pictures with questions, model and training."""

    data: PictureData = field(default_factory=PictureData)
    """Which pictures to train and validate on."""
    model: QuestionSpec = field(default_factory=QuestionSpec)
    """What to build."""
    train: QuestionTrain = field(default_factory=QuestionTrain)
    """How long, how fast, and what to keep."""


def compose_questions(chosen: Mapping[str, Any], size: PictureSize, *, name: str = "") -> QuestionConfig:
    """Give the settings of a run: those `chosen`, for the rest the preset `name`'s, and what suits the data.

    >>> config = compose_questions({}, PictureSize(pictures=1000, words=40_000), name="cnn-mean")
    >>> config.model.attention, config.train.metric
    ('mean', 'loss')
    """
    name = name or preset_for(chosen)
    below = {"model": to_table(find_preset(name, QUESTION_MODELS, of="a model for questions"))} if name else {}
    tables = merge(below, chosen)
    read_settings(QuestionConfig, tables)  # mistakes first
    return read_settings(QuestionConfig, picture_defaults(size, tables, epochs=30), tables)
