"""Image classifiers of Hugging Face that attend over patches, such as ViT, for the view Ask an image."""

import math
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from regard.errors import DataError
from regard.files import read_json
from regard.inspection.hugging_face.folder import load_hugging_face, naming_errors
from regard.inspection.trace.record import record
from regard.tasks.attribution import Attribution, attribute_image

PROCESSOR = "preprocessor_config.json"
CHANNELS = 3


class PatchLabels(NamedTuple):
    """The label of a picture, and what the token that it is read from attends to."""

    probabilities: dict[str, float]
    """Best first."""
    weights: Float[Tensor, "layers heads rows columns"]


class PatchClassifier:
    """An image classifier of `transformers` with its size, mean and spread of colors."""

    channels = CHANNELS

    def __init__(self, model: Any, folder: Path) -> None:
        self.model, self.folder = model, folder
        _check_class(model, folder)
        self.image_size, patch = _pair(model.config.image_size), _pair(model.config.patch_size)
        self.grid = self.image_size[0] // patch[0], self.image_size[1] // patch[1]
        names = getattr(model.config, "id2label", {})
        self.labels = [str(names.get(index, index)) for index in range(model.config.num_labels)]
        settings = _read_processor(folder)
        self._mean, self._spread = (torch.tensor(item).view(1, CHANNELS, 1, 1) for item in settings)
        self._check_patches()

    def __repr__(self) -> str:
        size = sum(item.numel() for item in self.model.parameters())
        return f"{type(self.model).__name__} of Hugging Face, {size:,} parameters, {len(self.labels)} labels"

    def predict(self, images: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch one labels"]:
        """Give the log-probabilities of the labels, from colors between 0 and 1."""
        logits: Tensor = self.model(pixel_values=(images - self._mean.to(images)) / self._spread.to(images)).logits
        return logits.float().log_softmax(-1).unsqueeze(1)

    @torch.no_grad()
    def _check_patches(self) -> None:
        """Read an empty picture, and raise where the layers do not all attend over all patches, as Swin's do not."""
        count = self.grid[0] * self.grid[1]
        with naming_errors(self.folder, "hold an image classifier that attends over patches"):
            with record(self.model) as trace:
                self.predict(self._image(torch.zeros(CHANNELS, *self.image_size)))
            shapes = [tuple(call.weights.shape) for call in trace]
        fitting = all(batch == 1 and query == key >= count for batch, _, query, key in shapes)
        if not fitting or len(set(shapes)) != 1:
            raise DataError(
                f"{self.folder} must hold an image classifier whose layers all attend over all patches, as those of "
                f"ViT; received {type(self.model).__name__}, whose layers do not. Choose a ViT, DeiT or BEiT."
            )

    @torch.no_grad()
    def label(self, pixels: UInt8[Tensor, "channels height width"]) -> PatchLabels:
        """Label a picture, and record what its first token attends to; the mean of all where it has no such token."""
        with record(self.model) as trace:
            chances = self.predict(self._image(pixels))[0, 0].exp()
        count = self.grid[0] * self.grid[1]
        rows = []
        for call in trace:
            extra = call.weights.size(-1) - count
            own = call.weights[0, :, 0] if extra else call.weights[0].mean(-2)
            rows.append(own[:, -count:].float().cpu())
        ranked = sorted(zip(self.labels, chances.tolist(), strict=True), key=lambda pair: -pair[1])
        return PatchLabels(dict(ranked), torch.stack(rows).unflatten(-1, self.grid))

    def attribute(self, pixels: UInt8[Tensor, "channels height width"]) -> Attribution:
        """Measure what the label depends on, patch by patch."""
        image = self._image(pixels)
        with torch.no_grad():
            chosen = [int(self.predict(image)[0, 0].argmax())]
        return attribute_image(self.model, self.predict, image, chosen, grid=self.grid)

    def _image(self, pixels: Tensor) -> Tensor:
        return (pixels.float() / 255).unsqueeze(0).to(next(self.model.parameters()).device)


def open_patch_classifier(folder: Path, *, device: torch.device | str = "cpu") -> PatchClassifier:
    """Open a folder that `save_pretrained` wrote: model as safetensors, and preprocessor_config.json."""
    model, _ = load_hugging_face(folder, device=device, reads_text=False)
    return PatchClassifier(model, folder)


def sees_pictures(folder: Path) -> bool:
    """Return whether a folder of Hugging Face holds an image classifier over patches."""
    table = read_json(folder / "config.json").table()
    return "patch_size" in table and "image_size" in table and "vocab_size" not in table


def _check_class(model: Any, folder: Path) -> None:
    """Raise where a model gives no labels, or reads no colors."""
    name, channels = type(model).__name__, getattr(model.config, "num_channels", CHANNELS)
    if "ForImageClassification" not in name:
        raise DataError(
            f"{folder} must hold an image classifier, such as ViTForImageClassification; received {name}, which gives "
            "no labels. Save the model with its classifier."
        )
    if channels != CHANNELS:
        raise DataError(
            f"{folder} must hold a model of pictures with {CHANNELS} channels; received one of {channels}. Choose a "
            "model of color pictures."
        )


def _pair(size: Any) -> tuple[int, int]:
    """Give height and width of a size that may be one number for both."""
    return (size, size) if isinstance(size, int) else (size[0], size[1])


def _read_processor(folder: Path) -> tuple[list[float], list[float]]:
    """Read mean and spread of the colors; those that ViT has where the folder does not say."""
    plain = [0.5] * CHANNELS
    if not (folder / PROCESSOR).is_file():
        return plain, plain
    table = read_json(folder / PROCESSOR).table()
    result = []
    for name in ("image_mean", "image_std"):
        value = table.get(name, plain)
        least = 0.0 if name == "image_std" else -math.inf
        if not isinstance(value, list) or len(value) != CHANNELS or not all(_is_above(item, least) for item in value):
            wanted = f"{CHANNELS} numbers above 0" if name == "image_std" else f"{CHANNELS} numbers"
            raise DataError(
                f"{folder / PROCESSOR}: {name} must be {wanted}; received {str(value)[:60]}. Write one for each color."
            )
        result.append([float(item) for item in value])
    return result[0], result[1]


def _is_above(value: object, least: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and least < value < math.inf
