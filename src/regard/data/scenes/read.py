"""Read questions about pictures, or captions, from a folder: easy-VQA's own form, or pictures beside a table."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8

from regard.data.formats.jsonl import read_objects
from regard.data.formats.paths import (
    file_kind,
    is_file,
    is_folder,
    list_folder,
    name_of_none,
    offer_folders,
    shown,
    what_is_there,
)
from regard.data.formats.records import BadLine
from regard.data.formats.tables import FORMATS, is_table, read_table
from regard.data.images.picture import read_picture
from regard.data.scenes.easy_vqa import find_easy_vqa, read_easy_vqa
from regard.data.scenes.kinds import guess_kind
from regard.data.scenes.sides import CaptionSide, PictureQuestion, QuestionSide, Side
from regard.errors import DataError, brief, nearest

SIDES = ("train", "valid", "test")
_MOST = 1e15
"""Beyond which a number is no count."""


def read_questions(
    path: Path, *, image_size: int, count: Callable[[int], None] | None = None
) -> dict[str, QuestionSide]:
    """Read the sides that a folder holds, or a table, which is all to train on.

    A folder holds train.jsonl, and valid.jsonl and test.jsonl where there are such; or one questions.jsonl; or what
    easy-VQA comes in. The tables may be CSV, TSV or Parquet too. Each row has `image`, a path from the file on,
    `question`, `answer` and, if one likes, `kind`. Pictures are stretched to `image_size`; `count` receives how many
    there are so far, of all sides.
    """
    if is_file(path):
        return {"train": read_question_table(path, image_size=image_size, count=count)}
    if not is_folder(path):
        received = name_of_none(path) or f"{what_is_there(path)}. {offer_folders(path, kinds=('.jsonl',))}"
        raise DataError(f"{shown(path)} must be builtin:shapes, a folder or a JSON Lines file; received {received}")
    packed = find_easy_vqa(path)
    if packed:
        return _read_sides(read_easy_vqa, packed, image_size=image_size, count=count)
    files = _find_tables(path, "questions")
    if "train" not in files:
        raise DataError(
            f"{path} must hold train.jsonl or questions.jsonl, lines with image, question and answer, or easy-VQA's "
            f"train.tar.xz or train/questions.json; received {_inside(path)}."
        )
    return _read_sides(read_question_table, files, image_size=image_size, count=count)


def read_captions(path: Path, *, image_size: int, count: Callable[[int], None] | None = None) -> dict[str, CaptionSide]:
    """Read the sides that a folder holds, or a table, which is all to train on.

    A folder holds a table train, and valid and test where there are such, or one table captions: CSV, TSV, JSON Lines
    or Parquet. Each row has `image`, a path from the file on, and `caption`; a picture may have several.
    """
    if is_file(path):
        return {"train": read_caption_table(path, image_size=image_size, count=count)}
    if not is_folder(path):
        received = name_of_none(path) or f"{what_is_there(path)}. {offer_folders(path, kinds=FORMATS)}"
        raise DataError(
            f"{shown(path)} must be builtin:shapes, a folder, or a table of pictures with captions; received {received}"
        )
    files = _find_tables(path, "captions")
    if "train" not in files:
        raise DataError(
            f"{path} must hold train or captions as .csv, .tsv, .jsonl or .parquet, rows with image and caption; "
            f"received {_inside(path)}."
        )
    return _read_sides(read_caption_table, files, image_size=image_size, count=count)


def read_question_table(path: Path, *, image_size: int, count: Callable[[int], None] | None = None) -> QuestionSide:
    """Read a file of questions and the pictures it names, each once."""
    pictures, rows = _read_rows(path, ("image", "question", "answer"), image_size=image_size, count=count)
    questions = [
        PictureQuestion(
            number, row["question"], row["answer"], str(row.get("kind") or guess_kind(row["question"], row["answer"]))
        )
        for number, row in rows
    ]
    return QuestionSide(pictures=pictures, questions=tuple(questions))


def read_caption_table(path: Path, *, image_size: int, count: Callable[[int], None] | None = None) -> CaptionSide:
    """Read a file of captions and the pictures it names, each once."""
    pictures, rows = _read_rows(path, ("image", "caption"), image_size=image_size, count=count)
    captions = tuple(" ".join(row["caption"].split()) for _, row in rows)
    owners = tuple(number for number, _ in rows)
    return CaptionSide(pictures=pictures, captions=captions, prompts=("",) * len(captions), owners=owners)


def _read_rows(
    path: Path, keys: Sequence[str], *, image_size: int, count: Callable[[int], None] | None
) -> tuple[UInt8[np.ndarray, "pictures 3 height width"], list[tuple[int, dict[str, Any]]]]:
    """Read the rows of a table, which have text under all `keys`, with the number of the picture of each."""
    numbers: dict[str, int] = {}
    pictures: list[UInt8[np.ndarray, "3 height width"]] = []
    rows: list[tuple[int, dict[str, Any]]] = []
    for location, row in read_table(path) if is_table(path) else read_objects(path):
        if isinstance(row, BadLine):
            if row.kind == "json" and not row.text.strip():
                continue
            raise DataError(str(row))
        record = _check(dict(row), location, keys)
        name = record["image"]
        if name not in numbers:
            numbers[name] = len(pictures)
            pictures.append(_read_picture(path.parent / name, location, image_size))
            if count is not None:
                count(len(pictures))
        rows.append((numbers[name], record))
    if not rows:
        raise DataError(f"{path} must have at least one {keys[1]}; received none.")
    rows.sort(key=lambda item: item[0])
    return np.stack(pictures), rows


def _read_picture(path: Path, location: str, size: int) -> UInt8[np.ndarray, "3 height width"]:
    try:
        return read_picture(path, size=(size, size))
    except DataError as error:
        raise DataError(f"{location}: {error}") from error


def _find_tables(folder: Path, whole: str) -> dict[str, Path]:
    """Find the tables of the sides, or the one of all rows, which is named `whole`."""
    files = {side: file for side in SIDES if (file := _find_table(folder, side))}
    return files if files or not (file := _find_table(folder, whole)) else {"train": file}


def _find_table(folder: Path, name: str) -> Path | None:
    """Find the table of a folder that has this name, JSON Lines before others; train.jsonl, train.csv.gz."""
    files = [one for one in list_folder(folder) if is_file(one) and one.name.partition(".")[0] == name]
    named = [one for one in files if file_kind(one) in FORMATS and file_kind(one) != ".json"]
    return min(named, key=lambda one: file_kind(one) != ".jsonl", default=None)


def _read_sides(
    read: Callable[..., Side],
    files: Mapping[str, Path],
    *,
    image_size: int,
    count: Callable[[int], None] | None,
) -> dict[str, Side]:
    sides: dict[str, Side] = {}
    for side, file in files.items():
        before = sum(len(item.pictures) for item in sides.values())
        onward = None if count is None else partial(_count_on, count, before)
        sides[side] = read(file, image_size=image_size, count=onward)
    return sides


def _count_on(count: Callable[[int], None], before: int, done: int) -> None:
    count(before + done)


def _check(record: dict[str, Any], location: str, keys: Sequence[str]) -> dict[str, Any]:
    """Raise unless a row has text under every key; an answer may be written as a number."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, int | float) and key == "answer" and abs(value) < _MOST:
            record[key] = value = f"{value:g}"
        if not isinstance(value, str) or not value.strip():
            near = nearest(key, record) if key not in record else ""
            received = (
                json.dumps(value, ensure_ascii=False, default=str)
                if not isinstance(value, list | dict)
                else "a list or table"
            )
            raise DataError(
                f"{location} must have text under the key {key}; received {brief(received)}. {near}".rstrip()
            )
    return record


def _inside(path: Path) -> str:
    names = [entry.name for entry in list_folder(path)]
    return f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}" if names else "an empty folder"
