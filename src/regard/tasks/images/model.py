"""An image classifier with its labels: pictures in, decisions out, and what was weighed on the way."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from jaxtyping import UInt8
from numpy.typing import NDArray
from torch import Tensor

from regard import __version__
from regard.config.vision import ImageEncoderSpec, SavedImageClassifier
from regard.errors import ArgumentError
from regard.models.sequence.build import count_parameters
from regard.models.vision.build import ImageEncoder, build_image_encoder
from regard.models.vision.features import ChannelWeights, ImageWeights, PositionWeights
from regard.tasks.finite_output import check_output
from regard.tasks.images.job import AT_ONCE, predict_images
from regard.tasks.model_folder import open_model
from regard.tasks.picture_input import AnyPicture, read_any_picture
from regard.tasks.saved_model import build_saved, list_text, read_names, read_saved, whole_folder, write_saved
from regard.training.group import pick_device

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = "labels.json"
TASK: Literal["images"] = "images"


@dataclass(frozen=True, kw_only=True)
class ImageDecision:
    """The label of an image, with probabilities."""

    label: str
    probabilities: dict[str, float]
    """Of every label, summing to one."""

    @property
    def probability(self) -> float:
        """That of the label chosen."""
        return self.probabilities[self.label]


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageInspection:
    """The label of an image, and what the classifier weighed: `positions` and `channels` from the first layer on."""

    decision: ImageDecision
    image: Tensor
    """(colors, height, width), from 0 to 1, as the network read it."""
    positions: tuple[PositionWeights, ...]
    """Gates of a residual network's blocks, (rows, columns) each, or the attention of the label's token in a Vision
    Transformer."""
    channels: tuple[ChannelWeights, ...]
    """Gates on channels, (channels,) each, with the feature maps they weigh, (channels, rows, columns)."""
    evidence: Tensor | None
    """What each position adds to the chosen label's logit, (rows, columns): of a residual network."""

    def last_positions(self) -> tuple[PositionWeights, ...]:
        """Give the last block of each stage; all blocks of a Vision Transformer."""
        return tuple({item.name.split(",")[0]: item for item in self.positions}.values())

    def strongest(self, count: int = 4) -> list[tuple[ChannelWeights, list[int]]]:
        """Give the last block of each stage with its channels of the largest weights, the largest first."""
        last = {item.name.split(",")[0]: item for item in self.channels}.values()
        return [(item, item.weights.topk(min(count, len(item.weights))).indices.tolist()) for item in last]

    def figure(self) -> "Figure":
        """Draw the image with what was weighed; `figure.savefig(path)` writes it."""
        from regard.tasks.images.figure import draw_inspection

        return draw_inspection(self)


class ImageClassifier:
    """A trained network that labels images. `load_image_classifier` reads one from a folder."""

    def __init__(
        self,
        model: ImageEncoder,
        labels: Sequence[str],
        spec: ImageEncoderSpec,
        *,
        image_size: tuple[int, int],
        channels: int = 3,
    ) -> None:
        self.model, self.labels, self.spec = model.eval(), tuple(labels), spec
        self.image_size, self.channels = image_size, channels

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def classify(self, images: Sequence[AnyPicture]) -> list[ImageDecision]:
        """Label images, in order: paths of pictures, Pillow images, arrays of bytes, or tensors from 0 to 1."""
        return list(self.stream(images))

    def stream(self, images: Sequence[AnyPicture]) -> Iterator[ImageDecision]:
        """Label images some at a time, in order."""
        _check(images)
        for start in range(0, len(images), AT_ONCE):
            for row in self.probabilities(self.read(images[start : start + AT_ONCE])):
                yield self._decide(row)

    def probabilities(self, pixels: UInt8[np.ndarray, "images channels height width"]) -> NDArray[np.float64]:
        """Give the probabilities alone, a row for each image that `read` gave."""
        return predict_images(self.model, pixels, device=self.device)

    def inspect(self, images: Sequence[AnyPicture]) -> list[ImageInspection]:
        """Label images, with the weights of positions and channels."""
        _check(images)
        return list(self.inspect_pixels(self.read(images)))

    def inspect_pixels(self, pixels: UInt8[np.ndarray, "images channels height width"]) -> Iterator[ImageInspection]:
        """Do so with what `read` gave, one after the other."""
        for start in range(0, len(pixels), AT_ONCE):
            image = torch.from_numpy(pixels[start : start + AT_ONCE]).to(self.device).float() / 255
            with torch.no_grad():
                attended = self.model.forward_with_weights(image)
            for number, row in enumerate(attended.logits.double().softmax(-1).cpu().numpy()):
                yield self._inspection(row, image[number].cpu(), attended, number)

    def read(self, images: Sequence[AnyPicture]) -> UInt8[np.ndarray, "images channels height width"]:
        """Bring images to the size and the colors the network was trained on."""
        if not len(images):
            return np.zeros((0, self.channels, *self.image_size), dtype=np.uint8)
        read = [
            read_any_picture(item, size=self.image_size, channels=self.channels, name=f"images[{index}]")
            for index, item in enumerate(images)
        ]
        return np.stack([item.numpy() for item in read])

    def save(self, folder: Path) -> None:
        """Write model.safetensors, config.json and labels.json. Nothing is pickled."""
        config = SavedImageClassifier(
            version=__version__,
            task=TASK,
            model=self.spec,
            height=self.image_size[0],
            width=self.image_size[1],
            channels=self.channels,
            num_labels=len(self.labels),
        )
        write_saved(folder, self.model, config, {LABELS: list_text(self.labels)})

    def __repr__(self) -> str:
        size = count_parameters(self.model)
        return f"ImageClassifier({self.spec.kind}, {size:,} parameters, {len(self.labels)} labels, on {self.device})"

    def _decide(self, row: NDArray[np.float64]) -> ImageDecision:
        probabilities = dict(zip(self.labels, row.tolist(), strict=True))
        check_output(probabilities.values(), of="a picture")
        return ImageDecision(label=self.labels[int(row.argmax())], probabilities=probabilities)

    def _inspection(
        self, row: NDArray[np.float64], image: Tensor, attended: ImageWeights, number: int
    ) -> ImageInspection:
        positions = (item._replace(weights=item.weights[number].float().cpu()) for item in attended.positions)
        channels = (
            item._replace(weights=item.weights[number].float().cpu(), maps=item.maps[number].float().cpu())
            for item in attended.channels
        )
        evidence = None if attended.evidence is None else attended.evidence[number, int(row.argmax())].float().cpu()
        return ImageInspection(
            decision=self._decide(row),
            image=image,
            positions=tuple(positions),
            channels=tuple(channels),
            evidence=evidence,
        )


def load_image_classifier(path: str | Path, *, device: torch.device | str = "cpu") -> ImageClassifier:
    """Load the image classifier in a model folder, or of the run in a run folder; "auto" takes a GPU if there is."""
    folder = open_model(path)
    config = read_saved(folder, TASK, SavedImageClassifier)
    target_device = pick_device(device, argument="device")
    size, channels, count = (config.height, config.width), config.channels, config.num_labels
    with whole_folder(folder, TASK):
        model = build_saved(
            lambda: build_image_encoder(config.model, image_size=size, channels=channels, num_labels=count), folder
        )
        labels = read_names(folder / LABELS, count)
    return ImageClassifier(model.to(target_device), labels, config.model, image_size=size, channels=config.channels)


def _check(images: Sequence[AnyPicture]) -> None:
    if isinstance(images, str | Path):
        raise ArgumentError(f'`images` must be a list of images; received one path. Write ["{images}"].')
