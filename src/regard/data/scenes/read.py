"""Read questions about pictures from a folder: easy-VQA's own form, or pictures beside a table."""

import json
from collections.abc import Callable, Mapping
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
from regard.data.scenes.sides import PictureQuestion, QuestionSide
from regard.errors import DataError, brief, nearest

SIDES = ("train", "valid", "test")
_KEYS = ("image", "question", "answer")
_MOST = 1e15
"""Beyond which a number is no count."""


def read_questions(
    path: Path, *, image_size: int, count: Callable[[int], None] | None = None
) -> dict[str, QuestionSide]:
    """Read the sides that a folder holds, or a table, which is all to train on.

    A folder holds train.jsonl, and valid.jsonl and test.jsonl where there are such; or one questions.jsonl; or what
    easy-VQA comes in. The tables may be CSV, TSV or Parquet too. Each row has `image`, a path from the file on,
    `question`, `answer` and, if one likes, `kind`. Pictures are stretched to `image_size`; `count` is told how many
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
    files = {side: file for side in SIDES if (file := _find_table(path, side))}
    if not files and (file := _find_table(path, "questions")):
        files = {"train": file}
    if "train" not in files:
        raise DataError(
            f"{path} must hold train.jsonl or questions.jsonl, lines with image, question and answer, or easy-VQA's "
            f"train.tar.xz or train/questions.json; received {_inside(path)}."
        )
    return _read_sides(read_question_table, files, image_size=image_size, count=count)


def read_question_table(path: Path, *, image_size: int, count: Callable[[int], None] | None = None) -> QuestionSide:
    """Read a file of questions and the pictures it names, each once."""
    indices: dict[str, int] = {}
    pictures: list[UInt8[np.ndarray, "3 height width"]] = []
    wanted: list[PictureQuestion] = []
    for index, row in read_table(path) if is_table(path) else read_objects(path):
        if isinstance(row, BadLine):
            if row.kind == "json" and not row.text.strip():
                continue
            raise DataError(str(row))
        record = _check(dict(row), index)
        name = record["image"]
        if name not in indices:
            indices[name] = len(pictures)
            pictures.append(read_picture(path.parent / name, size=(image_size, image_size)))
            if count is not None:
                count(len(pictures))
        kind = str(record.get("kind") or guess_kind(record["question"], record["answer"]))
        wanted.append(PictureQuestion(indices[name], record["question"], record["answer"], kind))
    if not wanted:
        raise DataError(f"{path} must have at least one question; received none.")
    wanted.sort(key=lambda one: one.picture)
    return QuestionSide(pictures=np.stack(pictures), questions=tuple(wanted))


def _find_table(folder: Path, name: str) -> Path | None:
    """Find the table of a folder that has this name, JSON Lines before others; train.jsonl, train.csv.gz."""
    files = [one for one in list_folder(folder) if is_file(one) and one.name.partition(".")[0] == name]
    named = [one for one in files if file_kind(one) in FORMATS and file_kind(one) != ".json"]
    return min(named, key=lambda one: file_kind(one) != ".jsonl", default=None)


def _read_sides(
    read: Callable[..., QuestionSide],
    places: Mapping[str, Path],
    *,
    image_size: int,
    count: Callable[[int], None] | None,
) -> dict[str, QuestionSide]:
    sides: dict[str, QuestionSide] = {}
    for side, index in places.items():
        before = sum(len(item.pictures) for item in sides.values())
        onward = None if count is None else partial(_count_on, count, before)
        sides[side] = read(index, image_size=image_size, count=onward)
    return sides


def _count_on(count: Callable[[int], None], before: int, done: int) -> None:
    count(before + done)


def _check(record: dict[str, Any], place: str) -> dict[str, Any]:
    """Raise unless a row has a picture, a question and an answer; a count may be written as a number."""
    for key in _KEYS:
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
            raise DataError(f"{place} must have text under the key {key}; received {brief(received)}. {near}".rstrip())
    return record


def _inside(path: Path) -> str:
    names = [entry.name for entry in list_folder(path)]
    return f"{', '.join(names[:3])}{', …' if len(names) > 3 else ''}" if names else "an empty folder"
