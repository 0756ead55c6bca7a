"""What the loop needs to know of image classification: batches of images, the loss, and the validation."""

import numpy as np
import torch
from jaxtyping import UInt8
from numpy.typing import NDArray
from torch import nn

from regard.data.images.batches import ImageBatch, ImageBatches
from regard.data.images.labeled import LabeledImages
from regard.evaluation.classification import ClassificationScores, score_labels
from regard.tasks.images.settings import ImagesConfig
from regard.training.group import Group
from regard.training.loss import Loss, smoothed_cross_entropy
from regard.training.watch import Validated

NO_LABEL = -1
AT_ONCE = 256
"""Images that are measured at once."""


class ImageJob:
    """Train on some images, validate on others."""

    def __init__(self, train: LabeledImages, valid: LabeledImages, config: ImagesConfig, *, group: Group) -> None:
        self.settings, self.group, self.valid = config.train, group, valid
        self.at_once = AT_ONCE
        self.batches = ImageBatches(
            train,
            size=config.train.batch_size,
            seed=config.train.seed,
            flip=config.data.flip,
            shift=config.data.shift,
            rank=group.rank,
            ranks=group.ranks,
        )

    def loss(self, model: nn.Module, batch: ImageBatch) -> Loss:
        """Sum the cross-entropy over the images."""
        return smoothed_cross_entropy(
            model(batch.image), batch.labels, smoothing=self.settings.label_smoothing, padding=NO_LABEL
        )

    def validate(self, model: nn.Module) -> Validated:
        """Measure all held-out images."""
        scores = self.score(model, self.valid)
        figures = {"accuracy": scores.accuracy, "macro_f1": scores.macro_f1, "calibration": scores.calibration_error}
        return Validated(loss=scores.cross_entropy, figures=figures)

    def score(self, model: nn.Module, images: LabeledImages) -> ClassificationScores:
        """Measure images with known labels."""
        result = predict_images(model, images.pixels, device=self.group.device, at_once=self.at_once)
        return score_labels(result, images.labels)


@torch.no_grad()
def predict_images(
    model: nn.Module,
    pixels: UInt8[np.ndarray, "images channels height width"],
    *,
    device: torch.device | str = "cpu",
    at_once: int = AT_ONCE,
) -> NDArray[np.float64]:
    """Give the probabilities of all labels for each image, in order."""
    result = []
    for start in range(0, len(pixels), at_once):
        image = torch.from_numpy(pixels[start : start + at_once]).to(device).float() / 255
        result.append(model(image).double().softmax(-1).cpu().numpy())
    return np.concatenate(result)
