"""Read labeled images, whatever they are kept in: a folder by class, an IDX file or CIFAR files."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from regard.data.corpora.report import Report
from regard.data.formats.compressed import open_decompressed
from regard.data.formats.labeled import Bad, label_number
from regard.data.formats.paths import file_kind, is_file, is_folder, name_of_none, offer_folders, shown, what_is_there
from regard.data.formats.tables import FORMATS
from regard.data.images.cifar import read_cifar
from regard.data.images.folder import read_image_folder
from regard.data.images.idx import read_idx_images
from regard.data.images.labeled import LabeledImages
from regard.data.images.picture import SUFFIXES, resize_images
from regard.errors import DataError, brief

_WANTED = "a folder with a sub-folder of pictures for each class, an IDX file or a CIFAR file"
PICTURE_SIZE = 32
"""Height and width that pictures of a folder are brought to where none is set."""


def read_images(
    path: str,
    *,
    labels: str = "",
    size: int = 0,
    channels: int = 3,
    bad: Bad = "refuse",
    report: Report | None = None,
    count: Callable[[int], None] | None = None,
) -> LabeledImages:
    """Read a folder with a sub-folder for each class, an IDX file with its labels, or one or more CIFAR files.

    What a file is, it says itself, whatever its name. A path with * in it names several files of one set. `size` is the
    height and width that images are stretched to; 0 leaves those of IDX and CIFAR as they are, and makes the pictures
    of a folder 32 pixels high and wide. `channels` is 3 for colors or 1 for gray, in a folder of pictures.
    """
    location = Path(path)
    if is_folder(location):
        fitted = (size or PICTURE_SIZE,) * 2
        return read_image_folder(
            location, size=(fitted[0], fitted[1]), channels=channels, bad=bad, report=report, count=count
        )
    files = sorted(location.parent.glob(location.name)) if "*" in location.name else [location]
    if not files:
        raise DataError(f"{path} must name at least one file; received a pattern that none has.")
    images = join_images([_read_file(item, Path(labels) if labels else None) for item in files])
    if report is not None:
        report.kept += len(images)
    if not size:
        return images
    pixels = resize_images(images.pixels, (size, size))
    return LabeledImages(pixels=pixels, labels=images.labels, names=images.names, files=images.files)


def _read_file(path: Path, labels: Path | None) -> LabeledImages:
    if elsewhere := name_of_none(path):
        raise DataError(f"{path} must be {_WANTED}; received {elsewhere}")
    if not is_file(path):
        raise DataError(
            f"{shown(path)} must be {_WANTED}; received {what_is_there(path)}. "
            f"{offer_folders(path, kinds=('', '.bin', '.idx'))}"
        )
    if path.suffix.lower() in SUFFIXES:
        raise DataError(f"{path} must be {_WANTED}; received one picture. Name the folder.")
    if file_kind(path) in (*FORMATS, ".txt"):
        raise DataError(f"{path} must be {_WANTED}; received a file of text. Is it for the task classify?")
    with open_decompressed(path) as stream:
        start = stream.read(4)
    if start[:3] == b"\0\0\x08" and start[3:] in (b"\1", b"\2", b"\3", b"\4"):
        return read_idx_images(path, labels)
    return read_cifar(path)


def rename_classes(images: LabeledImages, names: Sequence[str]) -> LabeledImages:
    """Call the labels of a file, which are numbers, by `names`: label 0 by the first.

    >>> images = LabeledImages(pixels=np.zeros((1, 1, 2, 2), np.uint8), labels=np.array([0]), names=("1",))
    >>> rename_classes(images, ["cat", "dog"]).names
    ('dog',)
    """
    numbers = [label_number(name) for name in images.names]
    unnamed = [name for name, number in zip(images.names, numbers, strict=True) if not 0 <= number < len(names)]
    if unnamed:
        raise DataError(
            f"`data.names` must name every label from 0; received {len(names)} names, and label "
            f"{brief(unnamed[0])} has none."
        )
    called = tuple(names[number] for number in numbers)
    return LabeledImages(pixels=images.pixels, labels=images.labels, names=called, files=images.files)


def join_images(parts: Sequence[LabeledImages]) -> LabeledImages:
    """Put several files of one set together.

    >>> one = LabeledImages(pixels=np.zeros((1, 1, 2, 2), np.uint8), labels=np.array([0]), names=("7",))
    >>> two = LabeledImages(pixels=np.zeros((1, 1, 2, 2), np.uint8), labels=np.array([0]), names=("3",))
    >>> joined = join_images([one, two])
    >>> joined.names, joined.labels.tolist()
    (('3', '7'), [1, 0])
    """
    shapes = {part.pixels.shape[1:] for part in parts}
    if len(shapes) != 1:
        raise DataError(f"The files of a set must have images of one shape; received {sorted(shapes)}.")
    names = sorted({name for part in parts for name in part.names}, key=lambda name: (len(name), name))
    table = {name: number for number, name in enumerate(names)}
    labels = [np.array([table[name] for name in part.names], dtype=np.int64)[part.labels] for part in parts]
    files = tuple(file for part in parts for file in part.files)
    return LabeledImages(
        pixels=np.concatenate([part.pixels for part in parts]),
        labels=np.concatenate(labels),
        names=tuple(names),
        files=files if len(files) == sum(map(len, parts)) else (),
    )
