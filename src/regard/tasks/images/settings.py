"""A run on labeled images: its data, its training, its named networks, and what suits the data where none is chosen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from regard.config.checks import check_least
from regard.config.data_files import DataName
from regard.config.read import chosen_whole, merge, read_settings
from regard.config.show import to_table
from regard.config.train import PictureTrain
from regard.config.vision import ImageEncoderSpec, ResidualSpec, VisionTransformerSpec
from regard.data.corpora.split import Fractions
from regard.tasks.task import find_preset


@dataclass(frozen=True, kw_only=True)
class ImageData:
    """Which images to train and validate on."""

    corpus: DataName = ""
    """A folder with a sub-folder of pictures for each class, an IDX or CIFAR file (* is several); builtin:shapes."""
    size: int = 2000
    """Images of one shape each that a built-in corpus draws to train on."""
    seed: int = 0
    """Fixes what it draws."""
    labels: DataName = ""
    """The labels of an IDX file, where they do not lie beside it."""
    valid: DataName = ""
    """Images to validate on; without them, some are held out."""
    test: DataName = ""
    """Images to test with; without them, some are held out."""
    names: tuple[str, ...] = ()
    """What the labels of an IDX or CIFAR file, numbers from 0, are called."""
    image_size: int = 0
    """Height and width that images are stretched to; 0 is 32 for a folder, and what they have for IDX and CIFAR."""
    gray: bool = False
    """Read the pictures of a folder in gray."""
    flip: bool = False
    """Mirror half of the training images: for what has no left and right, unlike digits."""
    shift: int = 0
    """Pixels that training images are moved by, at most, in each direction."""
    bad: Literal["skip", "refuse"] = "refuse"
    """What to do with a picture that cannot be read: leave it out and count it, or stop."""
    license: str = "unknown"
    """The license of the data, for the model card."""
    hold_out: Fractions = field(default_factory=lambda: Fractions(valid=0.1, test=0.1))
    """How much to hold out where there is no `valid` or `test`."""

    def __post_init__(self) -> None:
        check_least(self, 0, "image_size", "shift")
        check_least(self, 1, "size")


@dataclass(frozen=True, kw_only=True)
class ImagesTrain(PictureTrain):
    """How long, how fast, and what to keep."""

    metric: Literal["loss", "accuracy", "macro_f1"] = "loss"


@dataclass(frozen=True, kw_only=True)
class ImagesConfig:
    """A run: data, network and training."""

    data: ImageData = field(default_factory=ImageData)
    """Which images to train and validate on."""
    model: ImageEncoderSpec = field(default_factory=ResidualSpec)
    """What to build."""
    train: ImagesTrain = field(default_factory=ImagesTrain)
    """How long, how fast, and what to keep."""


IMAGE_ENCODERS: dict[str, ImageEncoderSpec] = {
    "resnet": ResidualSpec(),
    "resnet-channel": ResidualSpec(attention="channel"),
    "resnet-spatial": ResidualSpec(attention="spatial"),
    "resnet-both": ResidualSpec(attention="both"),
    "resnet-small": ResidualSpec(widths=(8, 16, 32), num_blocks=1),
    "vit": VisionTransformerSpec(),
}


class ImagesSize(NamedTuple):
    """How much there is to train on."""

    images: int
    channels: int
    height: int
    width: int


TYPICAL = ImagesSize(images=5_000, channels=3, height=32, width=32)
"""What settings are shown for where there is no data."""


def compose_images(chosen: Mapping[str, Any], size: ImagesSize, *, name: str = "") -> ImagesConfig:
    """Give the settings of a run: those `chosen`, for the rest the preset `name`'s, and what suits the data.

    >>> config = compose_images({}, TYPICAL, name="resnet-both")
    >>> config.model.attention, config.data.flip, config.data.shift, config.train.steps
    ('both', True, 4, 1600)
    """
    name = name or ("resnet-small" if chosen.get("data", {}).get("corpus") == "builtin:simple-shapes" else "")
    below = to_table(find_preset(name, IMAGE_ENCODERS, of="an image network")) if name else {}
    tables = merge({"model": below}, chosen) if below else dict(chosen)
    read_settings(ImagesConfig, tables)  # mistakes first
    return read_settings(ImagesConfig, _defaults(size, tables), tables)


def _defaults(size: ImagesSize, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Take forty epochs of a small set and fewer of a large one; mirror colored pictures, and no gray digits."""
    train = chosen.get("train", {})
    batch = chosen_whole(train, "batch_size", max(8, min(128, size.images // 8)))
    epoch = max(1, -(-size.images // batch))
    steps = chosen_whole(train, "steps", max(200, min(40 * epoch, max(2000, 3 * epoch))))
    validate_every = chosen_whole(train, "validate_every", max(10, steps // 10))
    transforms = chosen.get("model", {}).get("kind") == "vision-transformer"
    rate = 1e-3 if transforms else 3e-3
    return {
        "data": {
            "flip": size.channels == 3,
            "shift": min(size.height, size.width) // (8 if size.channels == 3 else 14),
        },
        "train": {
            "steps": steps,
            "batch_size": batch,
            "validate_every": validate_every,
            "checkpoint_every": validate_every,
            "keep_checkpoints": 1,
            "log_every": max(1, min(50, steps // 20)),
            "label_smoothing": 0.0,
            "weight_decay": 0.05,
            "result": "last",
            "beta2": 0.99,
            "schedule": {"kind": "cosine", "rate": rate, "warm_up": max(1, steps // 20), "final": 0.0},
        },
    }
