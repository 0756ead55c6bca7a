"""easy-VQA: one shape a picture, questions from templates; packed in archives or unpacked into folders.

A side is SIDE.tar.xz (or .tar, .tar.gz, …) or the folder SIDE, with images/N.png and questions.json, a list of
[question, answer, N].

Source: Victor Zhou, easy-VQA, https://github.com/vzhou842/easy-VQA.
"""

import json
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from jaxtyping import UInt8

from regard.data.formats.compressed import Readable, open_decompressed, read_at_most
from regard.data.formats.paths import is_file, is_folder, list_folder, open_file
from regard.data.images.picture import read_picture
from regard.data.scenes.kinds import guess_kind
from regard.data.scenes.sides import PictureQuestion, QuestionSide
from regard.errors import DataError, brief, describe
from regard.files import load_json

MOST_BYTES = 64 * 2**20
"""Of a picture or of questions.json, in an archive or not."""
_ENDINGS = ("", ".tar.xz", ".tar.gz", ".tar.bz2", ".tar.zst", ".tar")
_NUMBER = re.compile("[0-9]{1,9}")
Pixels = UInt8[np.ndarray, "3 height width"]


def find_easy_vqa(folder: Path) -> dict[str, Path]:
    """Find the sides that a folder holds in this form, unpacked ones first; none where there is no train."""
    result = {}
    for side in ("train", "valid", "test"):
        for path in (folder / f"{side}{ending}" for ending in _ENDINGS):
            if is_file(path) or is_file(path / "questions.json"):
                result[side] = path
                break
    return result if "train" in result else {}


def read_easy_vqa(path: Path, *, image_size: int, count: Callable[[int], None] | None = None) -> QuestionSide:
    """Read one side."""
    records, pictures = b"", dict[int, Pixels]()
    for name, content in _unpacked(path) if is_folder(path) else _packed(path):
        if name.name == "questions.json":
            records = content
        elif name.parent.name == "images" and name.suffix == ".png" and _NUMBER.fullmatch(name.stem):
            pictures[int(name.stem)] = read_picture(content, size=(image_size, image_size), name=f"{path}, {name}")
            if count is not None:
                count(len(pictures))
    numbers = {number: index for index, number in enumerate(sorted(pictures))}
    questions = []
    for line, record in enumerate(_records(records, path), start=1):
        match record:
            case [str(question), str(answer), int(number)] if number in numbers:
                questions.append(PictureQuestion(numbers[number], question, answer, guess_kind(question, answer)))
            case _:
                raise DataError(
                    f"{path}, question {line} must be [question, answer, number of a picture]; received "
                    f"{brief(json.dumps(record, ensure_ascii=False))}."
                )
    if not questions:
        raise DataError(f"{path} must have at least one question in questions.json; received none.")
    questions.sort(key=lambda one: one.picture)
    return QuestionSide(pictures=np.stack([pictures[number] for number in numbers]), questions=tuple(questions))


def _unpacked(folder: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    yield PurePosixPath("questions.json"), _read_file(folder / "questions.json")
    for path in list_folder(folder / "images"):
        if path.suffix == ".png":
            yield PurePosixPath("images", path.name), _read_file(path)


def _read_file(path: Path) -> bytes:
    with open_file(path) as stream:
        return _read_bounded(stream, str(path))


def _packed(path: Path) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Read an archive from its beginning to its end; nothing is written anywhere."""
    try:
        with open_decompressed(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() else None
                if file is not None:
                    yield PurePosixPath(member.name), _read_bounded(file, f"{path}, {brief(member.name)}")
    except DataError:
        raise
    except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError) as error:
        raise DataError(f"{path} must be a whole tar archive; received a damaged one ({describe(error)}).") from error


def _read_bounded(stream: Readable, name: str) -> bytes:
    content = read_at_most(stream, MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise DataError(f"{name} must have at most {MOST_BYTES:,} bytes; received more. Make it smaller.")
    return bytes(content)


def _records(text: bytes, path: Path) -> list[Any]:
    try:
        records = load_json(text)
    except ValueError as error:
        raise DataError(f"{path} must have a questions.json that is JSON; received: {describe(error)}.") from error
    if not isinstance(records, list):
        raise DataError(f"{path} must have a questions.json that is a list; received {type(records).__name__}.")
    return records
