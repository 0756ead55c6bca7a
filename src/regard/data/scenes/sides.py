"""Sides of a corpus: pictures as bytes, with their questions or texts; drawn, divided, kept apart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Int64, UInt8

from regard.data.corpora.split import Fractions
from regard.data.images.labeled import LabeledImages
from regard.data.images.pixels import digest_pixels, divide_pixels, find_shared
from regard.data.scenes.captions import caption_scene
from regard.data.scenes.paint import paint_scene
from regard.data.scenes.questions import Asker, Question
from regard.data.scenes.scene import SHAPES, Scene, Style, draw_scene

Count = Callable[[int], None]
ROUNDS = 3
"""How often each kind of question is asked of a picture."""


class PictureQuestion(NamedTuple):
    """A question about one of the pictures."""

    picture: int
    text: str
    answer: str
    kind: str


@dataclass(frozen=True, kw_only=True, eq=False)
class QuestionSide:
    """Pictures of one size, and questions about them in the order of the pictures."""

    pictures: UInt8[np.ndarray, "pictures 3 height width"]
    questions: tuple[PictureQuestion, ...]

    def __len__(self) -> int:
        return len(self.questions)

    def select(self, chosen: Sequence[int] | Int64[np.ndarray, " chosen"]) -> "QuestionSide":
        """Take some pictures, with their questions."""
        indices = np.asarray(chosen, dtype=np.int64)
        new_index = {int(index): number for number, index in enumerate(indices)}
        questions = [one._replace(picture=new_index[one.picture]) for one in self.questions if one.picture in new_index]
        questions.sort(key=lambda one: one.picture)
        return QuestionSide(pictures=self.pictures[indices], questions=tuple(questions))

    def digests(self, salt: str = "") -> list[bytes]:
        """Give a number for the pixels of each picture."""
        return digest_pixels(self.pictures, salt)


@dataclass(frozen=True, kw_only=True, eq=False)
class CaptionSide:
    """Pictures of one size, and texts about them: a description, or the answer to a question."""

    pictures: UInt8[np.ndarray, "pictures 3 height width"]
    captions: tuple[str, ...]
    prompts: tuple[str, ...]
    """For each text the question that it answers; empty for a description."""
    owners: tuple[int, ...]
    """For each text the number of its picture."""

    def __len__(self) -> int:
        return len(self.captions)

    def select(self, chosen: Sequence[int] | Int64[np.ndarray, " chosen"]) -> "CaptionSide":
        """Take some pictures, with their texts."""
        indices = np.asarray(chosen, dtype=np.int64)
        new_index = {int(index): number for number, index in enumerate(indices)}
        texts = [
            (new_index[owner], prompt, caption)
            for owner, prompt, caption in zip(self.owners, self.prompts, self.captions, strict=True)
            if owner in new_index
        ]
        texts.sort(key=lambda item: item[0])
        owners, prompts, captions = zip(*texts, strict=True) if texts else ((), (), ())
        return CaptionSide(pictures=self.pictures[indices], captions=captions, prompts=prompts, owners=owners)


Side = TypeVar("Side", QuestionSide, CaptionSide)


def draw_scenes(counts: Mapping[str, int], *, seed: int = 0, style: Style = SHAPES) -> dict[str, list[Scene]]:
    """Draw scenes for several sides, such as test, valid and train, in that order; none is drawn twice.

    A side depends on the seed and on those before it, not on those after: a larger training side leaves the test as it
    is.

    >>> sides = draw_scenes({"test": 2, "train": 3})
    >>> [len(scenes) for scenes in sides.values()]
    [2, 3]
    """
    drawn: set[str] = set()
    sides: dict[str, list[Scene]] = {}
    for side, count in counts.items():
        scenes = sides[side] = []
        for number in range(count):
            random = Random(f"{seed}/{side}/{number}")
            scene = draw_scene(random, style=style)
            while scene.key() in drawn:
                scene = draw_scene(random, style=style)
            drawn.add(scene.key())
            scenes.append(scene)
    return sides


def draw_questions(
    counts: Mapping[str, int], *, seed: int = 0, style: Style = SHAPES, count: Count | None = None
) -> dict[str, QuestionSide]:
    """Draw scenes for several sides, and ask of each some three times, a question of every kind that suits it.

    No question is asked twice of a scene. `count` receives how many pictures of all sides are drawn.
    """
    sides, painted = {}, _Painted(count)
    for side, scenes in draw_scenes(counts, seed=seed, style=style).items():
        asker, side_questions, pictures = Asker(), [], []
        for number, scene in enumerate(scenes):
            questions = _ask(asker, scene, Random(f"{seed}/{side}/{number}/questions"))
            side_questions += [PictureQuestion(number, item.text, item.answer, item.kind) for item in questions]
            pictures.append(painted.paint(scene))
        sides[side] = QuestionSide(pictures=np.stack(pictures), questions=tuple(side_questions))
    return sides


def _ask(asker: Asker, scene: Scene, random: Random) -> list[Question]:
    questions = [question for _ in range(ROUNDS) for question in asker.ask(scene, random)]
    return list({question.text: question for question in questions}.values())


def draw_captions(
    counts: Mapping[str, int],
    *,
    seed: int = 0,
    style: Style = SHAPES,
    answers: int = 0,
    count: Count | None = None,
) -> dict[str, CaptionSide]:
    """Draw the same scenes, describe each, and answer so many questions about it in sentences."""
    sides, painted = {}, _Painted(count)
    for side, scenes in draw_scenes(counts, seed=seed, style=style).items():
        asker, texts = Asker(), list[tuple[int, str, str]]()
        for number, scene in enumerate(scenes):
            texts.append((number, "", caption_scene(scene)))
            questions = _ask(asker, scene, Random(f"{seed}/{side}/{number}/questions")) if answers else []
            texts += [(number, item.text, item.sentence) for item in questions[:answers]]
        owners, prompts, captions = zip(*texts, strict=True)
        pictures = np.stack([painted.paint(scene) for scene in scenes])
        sides[side] = CaptionSide(pictures=pictures, captions=captions, prompts=prompts, owners=owners)
    return sides


def draw_labeled(counts: Mapping[str, int], *, seed: int = 0, style: Style = SHAPES) -> dict[str, LabeledImages]:
    """Draw scenes of one shape each, whose kind is the label."""
    sides = {}
    for side, scenes in draw_scenes(counts, seed=seed, style=replace(style, most=1)).items():
        pixels = np.stack([paint_scene(scene) for scene in scenes])
        labels = np.array([style.kinds.index(scene.shapes[0].kind) for scene in scenes], dtype=np.int64)
        sides[side] = LabeledImages(pixels=pixels, labels=labels, names=style.kinds)
    return sides


class _Painted:
    """Paints scenes, and tells how many there are so far."""

    def __init__(self, count: Count | None) -> None:
        self._count, self._done = count, 0

    def paint(self, scene: Scene) -> UInt8[np.ndarray, "3 height width"]:
        self._done += 1
        if self._count is not None and self._done % 100 == 0:
            self._count(self._done)
        return paint_scene(scene)


def split_pictures(side: Side, fractions: Fractions) -> tuple[Side, Side, Side]:
    """Divide pictures by a hash of their pixels, so that equal ones, and their texts, are on one side."""
    train, valid, test = divide_pixels(side.pictures, fractions, called="picture")
    return side.select(train), side.select(valid), side.select(test)


def drop_shared(side: Side, others: Sequence[Side]) -> Side:
    """Leave out pictures that are, pixel by pixel, on one of the other sides."""
    shared = find_shared(side.pictures, (other.pictures for other in others))
    return side.select(np.flatnonzero(~shared)) if shared.any() else side
