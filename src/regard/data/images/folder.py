"""A folder of pictures: one sub-folder for each class, named as the class is."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.data.corpora.report import Report
from regard.data.formats.labeled import Bad
from regard.data.formats.paths import is_file, is_folder, list_folder
from regard.data.images.labeled import LabeledImages
from regard.data.images.picture import SUFFIXES, read_picture
from regard.errors import DataError


def read_image_folder(
    folder: Path,
    *,
    size: tuple[int, int],
    channels: int = 3,
    bad: Bad = "refuse",
    report: Report | None = None,
    count: Callable[[int], None] | None = None,
) -> LabeledImages:
    """Read the pictures of every class, each stretched to `size`, (height, width).

    Files that do not end in the name of a picture format are left out and counted in `report`; a picture that cannot be
    read is refused, or left out likewise where `bad` is "skip". `count` receives how many were read.
    """
    report = Report(title=str(folder)) if report is None else report
    classes = find_classes(folder)
    pixels: list[NDArray[np.uint8]] = []
    labels: list[int] = []
    files: list[str] = []
    for number, name in enumerate(classes):
        before = len(labels)
        for path in list_folder(folder / name):
            if path.name.startswith("."):
                continue
            if path.suffix.lower() not in SUFFIXES:
                report.drop("no picture", place=name, text=path.name)
                continue
            try:
                pixels.append(read_picture(path, size=size, channels=channels))
            except DataError as error:
                if bad == "refuse":
                    raise DataError(f"{error} Remove it, or leave such pictures out with data.bad = skip.") from error
                report.drop("unreadable", place=name, text=path.name)
                continue
            report.keep()
            labels.append(number)
            files.append(f"{name}/{path.name}")
            if count is not None:
                count(len(labels))
        if len(labels) == before:
            raise DataError(_without_pictures(folder / name))
    return LabeledImages(
        pixels=np.stack(pixels), labels=np.array(labels, dtype=np.int64), names=tuple(classes), files=tuple(files)
    )


def find_classes(folder: Path) -> list[str]:
    """Name the classes, the sub-folders of a folder, by their letters."""
    entries = list_folder(folder)
    classes = [entry.name for entry in entries if is_folder(entry) and not entry.name.startswith(".")]
    if len(classes) >= 2:
        return classes
    files = [entry.name for entry in entries if is_file(entry)]
    received = f'only "{classes[0]}"' if classes else "none"
    beside = f", beside files such as {files[0]}. Name a file, or" if files else "."
    raise DataError(
        f"{folder} must hold at least two sub-folders of pictures, one for each class; received {received}{beside} "
        f"{'put' if files else 'Put'} the pictures of each class into a sub-folder."
    )


def _without_pictures(folder: Path) -> str:
    inside = [entry.name for entry in list_folder(folder) if not entry.name.startswith(".")]
    folders = [name for name in inside if is_folder(folder / name)]
    if folders:
        return (
            f"{folder} must hold the pictures of a class; received only folders such as {folders[0]}. Name the folder "
            f"whose sub-folders are the classes: {folder}?"
        )
    pictures = [name for name in inside if Path(name).suffix.lower() in SUFFIXES]
    if pictures:
        return (
            f"{folder} must hold pictures of a class; received {len(pictures):,} of which none can be read, such as "
            f"{pictures[0]}. Replace them, or remove the folder."
        )
    received = f"files such as {inside[0]}" if inside else "an empty folder"
    return f"{folder} must hold pictures ({', '.join(SUFFIXES)}) of a class; received {received}."
