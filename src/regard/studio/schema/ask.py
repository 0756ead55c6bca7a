"""Ask an image: a picture, a question, and what each word attends to."""

from typing import Literal

from pydantic import Field

from regard.studio.schema.parts import MAX_NUMBER, Answer, Name, Probability, Request
from regard.studio.tensors import Packed

MAX_ENCODED = 8 * 2**20
"""Letters of a file in base64, at most."""
MAX_QUESTION = 2_000
PictureTask = Literal["questions", "captions", "labels"]


class PictureRequest(Request):
    """A picture for a model, the first that reads images where none is named: a seed, or a file in base64."""

    model: Name = ""
    seed: int | None = Field(None, ge=0, le=MAX_NUMBER)
    file: str | None = Field(None, max_length=MAX_ENCODED)


class QuestionRequest(PictureRequest):
    """A question about it, where the model answers questions."""

    question: str = Field("", max_length=MAX_QUESTION)


class KnownQuestion(Answer):
    """A question with the one answer that is true of a scene."""

    text: str
    answer: str
    kind: str


class PictureAnswer(Answer):
    """A picture as the model reads it, and what is known of it."""

    model: str
    task: PictureTask
    picture: str
    """An address that holds the picture itself."""
    height: int
    width: int
    original: tuple[int, int]
    """Height and width before it was stretched."""
    questions: list[KnownQuestion]
    suggestions: list[str]
    truth: str | None


class PositionMap(Answer):
    """A map over positions of an image classifier."""

    name: str
    limit: float
    signed: bool
    weights: Packed


class VisionAnswer(Answer):
    """What a model answers, describes or labels, with its weights."""

    task: PictureTask
    output: str
    probabilities: list[Probability]
    words: list[str]
    word_probabilities: list[float] | None
    unknown: list[str]
    cut: int
    finished: bool
    weights: Packed | None
    """(layers, heads, words, rows, columns)."""
    maps: list[PositionMap]


class PictureChecks(Answer):
    """What weights over positions are checked against."""

    occlusion: Packed
    gradient: Packed
    uniform: list[float] | None
