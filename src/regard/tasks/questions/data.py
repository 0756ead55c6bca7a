"""Gather the pictures and questions of a run: drawn or read, held out, and none on two sides."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from regard.data.corpora.catalogue import check_builtin, is_builtin
from regard.data.scenes.read import read_questions
from regard.data.scenes.scene import SIMPLE, STYLES, Style
from regard.data.scenes.sides import QuestionSide, Side, draw_questions, drop_shared, split_pictures
from regard.errors import ArgumentError, DataError
from regard.tasks.questions.settings import BUILTIN, PICTURE_SIZE, PictureData, PictureSize

Count = Callable[[int], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class QuestionCorpus:
    """What a model for questions is trained, validated and tested on."""

    train: QuestionSide
    valid: QuestionSide
    test: QuestionSide
    """Without questions where there are none to test with."""

    @property
    def answers(self) -> tuple[str, ...]:
        """Every answer that is trained on, by its letters."""
        return tuple(sorted({item.answer for item in self.train.questions}))

    @property
    def size(self) -> PictureSize:
        """How much there is to train on."""
        return PictureSize(
            pictures=len(self.train.pictures), words=sum(len(item.text.split()) for item in self.train.questions)
        )

    def fingerprint(self) -> str:
        """Give a number for all pictures, questions and answers, in their order."""
        digest = hashlib.blake2b(digest_size=16)
        for side in (self.train, self.valid, self.test):
            digest.update(side.pictures.tobytes())
            digest.update(repr(side.questions).encode(errors="replace"))
        return digest.hexdigest()


def gather_questions(data: PictureData, *, count: Count | None = None) -> QuestionCorpus:
    """Draw or read what `data` names; `count` is called with how many pictures there are so far, of all sides."""
    if not data.corpus:
        raise ArgumentError(
            f"`data` must be {BUILTIN}, a folder, or a table of questions about pictures; received nothing."
        )
    if is_builtin(data.corpus):
        style = check_style(data, "questions")
        sides = draw_questions(scene_counts(data), seed=data.seed, style=style, count=count)
    else:
        sides = read_questions(Path(data.corpus), image_size=data.image_size or PICTURE_SIZE, count=count)
        keep_apart(sides)
    train, valid, test = hold_out(sides, data, called="questions")
    return QuestionCorpus(train=train, valid=valid, test=test)


def hold_out(sides: dict[str, Side], data: PictureData, *, called: str) -> tuple[Side, Side, Side]:
    """Give what is trained, validated and tested on; a side that is missing is held out of the training side."""
    train = sides["train"]
    fractions = replace(
        data.hold_out,
        valid=0.0 if "valid" in sides else data.hold_out.valid,
        test=0.0 if "test" in sides else data.hold_out.test,
    )
    if fractions.valid or fractions.test:
        train, valid, test = split_pictures(train, fractions)
    else:
        valid = test = train.select([])
    valid, test = sides.get("valid", valid), sides.get("test", test)
    if not len(train) or not len(valid):
        raise DataError(
            f"The data must leave {called} to train and to validate on; received {len(train):,} and {len(valid):,}. "
            "Give more pictures, or change data.hold_out."
        )
    return train, valid, test


def keep_apart(sides: dict[str, Side]) -> None:
    """Leave out of the training and validation sides what is held out elsewhere; scenes that are drawn never meet."""
    for name, others in (("train", ("valid", "test")), ("valid", ("test",))):
        if name in sides:
            sides[name] = drop_shared(sides[name], [sides[other] for other in others if other in sides])


def scene_counts(data: PictureData) -> dict[str, int]:
    """Count the scenes of each side: the held-out ones first, which then do not depend on the others.

    >>> scene_counts(PictureData(corpus="builtin:simple-shapes"))
    {'test': 200, 'valid': 200, 'train': 2000}
    """
    train = data.scenes or (2000 if STYLES.get(data.corpus) is SIMPLE else 10_000)
    held_out = data.held_out_scenes or max(1, train // 10)
    return {"test": held_out, "valid": held_out, "train": train}


def check_style(data: PictureData, task: str) -> Style:
    """Give what the scenes of a built-in corpus are made of; raise unless they are drawn in the size asked for."""
    style = STYLES[check_builtin(data.corpus, task).name]
    if data.image_size not in (0, style.side):
        raise ArgumentError(
            f"`image_size` must be {style.side} for {data.corpus}, whose pictures are drawn so; received "
            f"{data.image_size}."
        )
    return style
