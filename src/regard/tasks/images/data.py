"""Gather the images of a run: read, hold out, and keep what is held out from being trained on."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regard.data.corpora.catalogue import check_builtin, held_out_size, is_builtin
from regard.data.corpora.report import Report
from regard.data.formats.paths import is_folder
from regard.data.images.labeled import LabeledImages, drop_held_out_images, rename_labels, split_images
from regard.data.images.read import read_images, rename_classes
from regard.data.scenes.scene import STYLES
from regard.data.scenes.sides import draw_labeled
from regard.errors import ArgumentError, DataError
from regard.tasks.images.settings import ImageData, ImagesSize

if TYPE_CHECKING:
    from regard.tasks.images.model import ImageClassifier


@dataclass(frozen=True, kw_only=True)
class ImageCorpus:
    """What an image classifier is trained, validated and tested on."""

    train: LabeledImages
    valid: LabeledImages
    test: LabeledImages
    """Without images where there are none to test with."""
    reports: tuple[Report, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """What the labels are called."""
        return self.train.names

    @property
    def size(self) -> ImagesSize:
        """How much there is to train on."""
        return ImagesSize(*self.train.pixels.shape)

    def fingerprint(self) -> str:
        """Give a number for all images and labels, in their order."""
        digest = hashlib.blake2b("\0".join(self.labels).encode(), digest_size=16)
        for side in (self.train, self.valid, self.test):
            digest.update(str(side.pixels.shape).encode())
            digest.update(side.labels.tobytes())
            digest.update(side.pixels.tobytes())
        return digest.hexdigest()


def gather_images(data: ImageData, *, count: Callable[[int], None] | None = None) -> ImageCorpus:
    """Read what `data` names. An image of a validation or test set is never trained on."""
    if not data.corpus:
        raise ArgumentError(
            "`data` must be a folder with a sub-folder of pictures for each class, an IDX file, a CIFAR file or "
            'builtin:shapes; received nothing. Such as: `data="flowers/"`.'
        )
    if is_builtin(data.corpus):
        return _draw(data)
    reports: list[Report] = []
    train = _read(data.corpus, data, reports, labels=data.labels, count=count)
    if len(train.names) < 2:
        raise DataError(
            f'The training images must have at least two labels to choose from; received only "{train.names[0]}".'
        )
    held_out = {
        side: rename_labels(_read(path, data, reports, count=count), train.names, side=name)
        for side, name, path in (("valid", "validation", data.valid), ("test", "test", data.test))
        if path
    }
    for side, images in held_out.items():
        _check_shape(train, images, side)
    if held_out:
        report = Report(title="images that are held out elsewhere")
        train = drop_held_out_images(train, list(held_out.values()), report=report)
        if "valid" in held_out and "test" in held_out:
            held_out["valid"] = drop_held_out_images(held_out["valid"], [held_out["test"]])
        reports.append(report)
    shares = replace(
        data.hold_out,
        valid=0.0 if "valid" in held_out else data.hold_out.valid,
        test=0.0 if "test" in held_out else data.hold_out.test,
    )
    sides = split_images(train, shares)
    valid, test = held_out.get("valid", sides.valid), held_out.get("test", sides.test)
    if not len(sides.train) or not len(valid):
        raise DataError(
            f"The data must leave images to train and to validate on; received {len(sides.train):,} and "
            f"{len(valid):,}. Give more images, or change data.hold_out."
        )
    return ImageCorpus(train=sides.train, valid=valid, test=test, reports=tuple(reports))


def read_measured(source: Path, classifier: "ImageClassifier") -> LabeledImages:
    """Read labeled images to measure a classifier on, at the size and in the colors that its network reads."""
    (height, width), channels = classifier.image_size, classifier.channels
    if is_builtin(str(source)):
        return rename_labels(_draw(ImageData(corpus=str(source))).test, classifier.labels, side="measured")
    images = read_images(str(source), size=height if is_folder(source) else 0, channels=channels)
    if not is_folder(source) and not set(images.names) <= set(classifier.labels):
        images = rename_classes(images, classifier.labels)  # numbers of labels that were given names
    images = rename_labels(images, classifier.labels, side="measured")
    if images.pixels.shape[1:] != (channels, height, width):
        raise ArgumentError(
            f"The images of {source} must be of shape {(channels, height, width)}, which the model was trained on; "
            f"received {images.pixels.shape[1:]}."
        )
    return images


def _draw(data: ImageData) -> ImageCorpus:
    """Draw a built-in corpus, of which nothing is read."""
    style, held_out = STYLES[check_builtin(data.corpus, "images").name], held_out_size(data.size)
    chosen = [name for name in ("labels", "valid", "test", "names", "gray") if getattr(data, name)]
    if chosen or data.image_size not in (0, style.side):
        raise ArgumentError(
            f"`data.{(chosen or ['image_size'])[0]}` must be left out with {data.corpus}, whose {style.side} × "
            f"{style.side} pixels in color are drawn with their labels."
        )
    sides = draw_labeled({"test": held_out, "valid": held_out, "train": data.size}, seed=data.seed, style=style)
    return ImageCorpus(train=sides["train"], valid=sides["valid"], test=sides["test"])


def _read(
    path: str,
    data: ImageData,
    reports: list[Report],
    *,
    labels: str = "",
    count: Callable[[int], None] | None = None,
) -> LabeledImages:
    report = Report(title=path)
    images = read_images(
        path,
        labels=labels,
        size=data.image_size,
        channels=1 if data.gray else 3,
        bad=data.bad,
        report=report,
        count=count,
    )
    reports.append(report)
    return rename_classes(images, data.names) if data.names else images


def _check_shape(train: LabeledImages, images: LabeledImages, side: str) -> None:
    if images.pixels.shape[1:] != train.pixels.shape[1:]:
        raise DataError(
            f"The images of data.{side} must have the shape of those to train on, (colors, height, width) = "
            f"{train.pixels.shape[1:]}; received {images.pixels.shape[1:]}. Set data.image_size."
        )
