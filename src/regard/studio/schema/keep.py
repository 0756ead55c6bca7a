"""A file of a view: questions with their answers, and what a reader of it may ask."""

from typing import Any

from pydantic import Field

from regard.studio.schema.overview import ModelInfo, Overview
from regard.studio.schema.parts import Answer, Request

MAX_QUESTIONS = 400
"""Questions of a reader that are recorded, beyond what is shown."""
MAX_BYTES = 10 * 2**20
"""Letters of answers after which no more is recorded that a reader may, but need not ask."""


class Question(Request):
    """Something that can be asked: a verb, such as translate/search, and its request."""

    verb: str = Field(max_length=60)
    body: dict[str, Any]


class KeepRequest(Request):
    """What a view shows: the questions that it asks when it is opened at its address."""

    shown: list[Question] = Field(min_length=1, max_length=60)


class KeepAnswer(Answer):
    """What a file of it holds besides, most wanted first, as far as `max_bytes` reach."""

    likely: list[Question]
    left_out: int
    """Questions beyond `MAX_QUESTIONS`."""
    models: list[ModelInfo]
    """Those that are shown: a file names no others."""
    max_bytes: int


class RecordedAnswer(Answer):
    """A question with what came of it: an answer, or a refusal."""

    verb: str
    body: dict[str, Any]
    answer: Any = None
    refusal: str | None = None


class Recording(Answer):
    """All that a single file can show."""

    overview: Overview
    view: str
    address: str
    answers: list[RecordedAnswer]
    left_out: int = 0
    """Questions of a reader that are not answered, because the file would be too large."""
    pages: dict[str, str] = Field(default_factory=dict)
    """Of a site: for each view that is in it, the file."""
