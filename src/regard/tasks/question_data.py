"""Gather the pictures and questions of a run: drawn or read, held out, and none on two sides."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from regard.config.picture_data import BUILTIN, PictureData, PictureSize
from regard.data.scenes.read import read_questions
from regard.data.scenes.sides import QuestionSide, draw_questions, drop_shared, split_questions
from regard.errors import ArgumentError, DataError, nearest

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
        return tuple(sorted({one.answer for one in self.train.questions}))

    @property
    def size(self) -> PictureSize:
        """How much there is to train on."""
        return PictureSize(
            pictures=len(self.train.pictures), words=sum(len(one.text.split()) for one in self.train.questions)
        )

    def fingerprint(self) -> str:
        """Give a number for all pictures, questions and answers, in their order."""
        digest = hashlib.blake2b(digest_size=16)
        for side in (self.train, self.valid, self.test):
            digest.update(side.pictures.tobytes())
            digest.update(repr(side.questions).encode(errors="replace"))
        return digest.hexdigest()


def gather_questions(data: PictureData, *, count: Count | None = None) -> QuestionCorpus:
    """Draw or read what `data` names; `count` is told how many pictures there are so far, of all sides."""
    if not data.corpus:
        raise ArgumentError(
            f"`--data` must be {BUILTIN}, a folder, or a JSON Lines file of questions about pictures; received nothing."
        )
    if data.corpus.startswith("builtin:"):
        check_builtin(data)
        sides = draw_questions(scene_counts(data), seed=data.seed, count=count)
    else:
        sides = read_questions(Path(data.corpus), image_size=data.image_size, count=count)
        _keep_apart(sides)
    train = sides["train"]
    fractions = replace(
        data.hold_out,
        valid=0.0 if "valid" in sides else data.hold_out.valid,
        test=0.0 if "test" in sides else data.hold_out.test,
    )
    if fractions.valid or fractions.test:
        train, valid, test = split_questions(train, fractions)
    else:
        valid = test = train.select([])
    valid, test = sides.get("valid", valid), sides.get("test", test)
    if not len(train) or not len(valid):
        raise DataError(
            f"The data must leave questions to train and to validate on; received {len(train):,} and {len(valid):,}. "
            "Give more pictures, or change data.hold_out."
        )
    return QuestionCorpus(train=train, valid=valid, test=test)


def _keep_apart(sides: dict[str, QuestionSide]) -> None:
    """Leave out of the training and validation sides what is held out elsewhere; scenes that are drawn never meet."""
    for name, others in (("train", ("valid", "test")), ("valid", ("test",))):
        if name in sides:
            sides[name] = drop_shared(sides[name], [sides[other] for other in others if other in sides])


def scene_counts(data: PictureData) -> dict[str, int]:
    """Say how many scenes each side has: the held-out ones first, which then do not hang on the others."""
    return {"test": data.held_out_scenes, "valid": data.held_out_scenes, "train": data.scenes}


def check_builtin(data: PictureData) -> None:
    """Raise unless `data` names what can be drawn, at the size it is drawn in."""
    from regard.data.scenes.scene import SIDE

    if data.corpus != BUILTIN:
        raise ArgumentError(
            f"`--data` must be {BUILTIN} for pictures that are drawn here; received {data.corpus}. "
            f"{nearest(data.corpus, [BUILTIN])}"
        )
    if data.image_size != SIDE:
        raise ArgumentError(
            f"`image_size` must be {SIDE} for {BUILTIN}, whose pictures are drawn so; received {data.image_size}."
        )
