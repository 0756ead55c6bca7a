"""easy-VQA: one shape a picture, questions from templates; packed in archives or unpacked into folders.

A side is SIDE.tar.xz (or .tar, .tar.gz, …) or the folder SIDE, with images/N.png and questions.json, a list of
[question, answer, N].

Source: Victor Zhou, easy-VQA, https://github.com/vzhou842/easy-VQA.
"""

import io
import json
import lzma
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from jaxtyping import UInt8

from regard.data.images.picture import fit_picture, read_picture
from regard.data.scenes.kinds import guess_kind
from regard.data.scenes.sides import Asked, QuestionSide
from regard.errors import DataError

_ENDINGS = ("", ".tar.xz", ".tar.gz", ".tar.bz2", ".tar")
Pixels = UInt8[np.ndarray, "3 height width"]


def find_easy_vqa(folder: Path) -> dict[str, Path]:
    """Find the sides that a folder holds in this form, unpacked ones first; none where there is no train."""
    found = {}
    for side in ("train", "valid", "test"):
        for place in (folder / f"{side}{ending}" for ending in _ENDINGS):
            if place.is_file() or (place / "questions.json").is_file():
                found[side] = place
                break
    return found if "train" in found else {}


def read_easy_vqa(place: Path, *, image_size: int, count: Callable[[int], None] | None = None) -> QuestionSide:
    """Read one side."""
    text, pictures = b"", dict[int, Pixels]()
    for name, content in _unpacked(place) if place.is_dir() else _packed(place):
        if name.name == "questions.json":
            text = content.read_bytes() if isinstance(content, Path) else content
        elif name.parent.name == "images" and name.suffix == ".png" and name.stem.isdigit():
            pictures[int(name.stem)] = _picture(content, f"{place}, {name}", image_size)
            if count is not None:
                count(len(pictures))
    numbers = {number: index for index, number in enumerate(sorted(pictures))}
    asked = []
    for line, record in enumerate(_records(text, place), start=1):
        match record:
            case [str(question), str(answer), int(number)] if number in numbers:
                asked.append(Asked(numbers[number], question, answer, guess_kind(question, answer)))
            case _:
                raise DataError(
                    f"{place}, question {line} must be [question, answer, number of a picture]; received "
                    f"{json.dumps(record, ensure_ascii=False)[:80]}."
                )
    if not asked:
        raise DataError(f"{place} must have at least one question in questions.json; received none.")
    asked.sort(key=lambda one: one.picture)
    return QuestionSide(pictures=np.stack([pictures[number] for number in numbers]), questions=tuple(asked))


def _unpacked(folder: Path) -> Iterator[tuple[PurePosixPath, Path]]:
    yield PurePosixPath("questions.json"), folder / "questions.json"
    for path in (folder / "images").glob("*.png"):
        yield PurePosixPath("images", path.name), path


def _packed(path: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Read an archive from its beginning to its end; nothing is written anywhere."""
    try:
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() else None
                if file is not None:
                    yield PurePosixPath(member.name), file.read()
    except (tarfile.TarError, EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise DataError(f"{path} must be a whole tar archive; received a damaged one ({error}).") from error


def _picture(content: Path | bytes, place: str, size: int) -> Pixels:
    if isinstance(content, Path):
        return read_picture(content, size=(size, size))
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content)) as opened:
            return fit_picture(opened, size=(size, size))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{place} must be a picture that can be read; received one that cannot: {error}.") from error


def _records(text: bytes, place: Path) -> list[Any]:
    try:
        records = json.loads(text)
    except ValueError as error:
        raise DataError(f"{place} must have a questions.json that is JSON; received: {error}.") from error
    if not isinstance(records, list):
        raise DataError(f"{place} must have a questions.json that is a list; received {type(records).__name__}.")
    return records
