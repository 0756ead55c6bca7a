"""Which pictures to train on, for questions and captions alike, and the settings that suit their number."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from regard.config.checks import check_least
from regard.config.read import chosen_whole
from regard.data.split import Fractions

BUILTIN = "builtin:shapes"


@dataclass(frozen=True, kw_only=True)
class PictureData:
    """Which pictures to train and validate on."""

    corpus: str = ""
    """builtin:shapes; or a folder, or a JSON Lines file, of pictures with questions and answers."""
    scenes: int = 10_000
    """Pictures that builtin:shapes draws to train on."""
    held_out_scenes: int = 1000
    """Pictures that it draws to validate on, and as many to test with."""
    seed: int = 0
    """Fixes what it draws."""
    image_size: int = 64
    """Height and width that pictures are stretched to, in pixels."""
    max_length: int = 40
    """Words that are read of a question, or said of a picture."""
    license: str = "unknown"
    """The license of the data, for the model card."""
    hold_out: Fractions = field(default_factory=lambda: Fractions(valid=0.1, test=0.1))
    """Shares of the pictures to hold out where the folder holds no validation or test set."""

    def __post_init__(self) -> None:
        check_least(self, 1, "scenes", "held_out_scenes", "image_size", "max_length")


class PictureSize(NamedTuple):
    """How much there is to train on."""

    pictures: int
    words: int
    """Of all questions or captions."""


def picture_defaults(size: PictureSize, chosen: Mapping[str, Any], *, epochs: int) -> dict[str, Any]:
    """Take so many epochs of batches of some dozen pictures, at a rate that rises and falls."""
    train = chosen.get("train", {})
    batch = chosen_whole(train, "batch_tokens", max(4, min(64, size.pictures // 20)))
    epoch = max(1, -(-size.pictures // batch))
    steps = chosen_whole(train, "steps", max(200, epochs * epoch))
    validate_every = chosen_whole(train, "validate_every", max(10, min(2 * epoch, steps // 5)))
    transforms = chosen.get("model", {}).get("image", {}).get("kind") == "vision-transformer"
    rate = 1e-3 if transforms else 2e-3
    return {
        "train": {
            "steps": steps,
            "batch_tokens": batch,
            "validate_every": validate_every,
            "checkpoint_every": validate_every,
            "keep_checkpoints": 1,
            "log_every": max(1, min(50, steps // 20)),
            "label_smoothing": 0.0,
            "metric": "loss",
            "samples": 0,
            "beta2": 0.99,
            "schedule": {"kind": "cosine", "rate": rate, "warm_up": max(1, steps // 20), "final": 0.01},
        },
    }
