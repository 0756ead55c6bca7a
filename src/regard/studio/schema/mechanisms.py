"""Mechanisms: small tables, and what the operator makes of them."""

from typing import Annotated

from pydantic import Field

from regard.studio.schema.mechanism_choices import Masking, Normalizing, Positioning, Scoring, Table
from regard.studio.schema.parts import Answer, Request
from regard.studio.schema.steps import ScoreInfo

Word = Annotated[str, Field(max_length=60)]
Numbers = list[list[float]]


class AttendRequest(Request):
    """Small tables, and how to compare, mask, position and normalize."""

    query: Table
    key: Table
    value: Table
    score: Annotated[Scoring, Field(discriminator="kind")]
    normalizer: Annotated[Normalizing, Field(discriminator="kind")]
    mask: Annotated[Masking, Field(discriminator="kind")] | None = None
    position: Annotated[Positioning, Field(discriminator="kind")] | None = None


class WavesRequest(Request):
    """A table of sinusoidal positions."""

    length: int = Field(48, ge=2, le=128)
    size: int = Field(16, ge=2, le=64)
    base: float = Field(10000.0, le=1e9)


class LookupRequest(Request):
    """A dictionary of words or numbers, and what to look up; `temperature` is how soft."""

    query: Word
    keys: list[Word] = Field(min_length=1, max_length=8)
    values: list[Word] = Field(min_length=1, max_length=8)
    temperature: float = Field(ge=1e-3, le=1000)


class AttendAnswer(Answer):
    """One call of the operator, and each row's steps."""

    query: Numbers
    key: Numbers
    compared: Numbers
    added: Numbers | None
    scores: Numbers
    mask: list[list[bool]] | None
    normalized: Numbers
    factors: Numbers | None
    extra: Numbers | None
    weights: Numbers
    context: Numbers
    turned: bool
    """Whether the position turned queries and keys."""
    score: list[ScoreInfo]
    """For each row."""
    code: str


class WavesAnswer(Answer):
    """Positions by features."""

    table: Numbers


class LookupAnswer(Answer):
    """The value of a key, exactly and softly."""

    by: str
    mixes: bool
    """Whether values are numbers, of which a mean can be made."""
    exact: str | float | None
    value: str | float
    weights: list[float]
    code: str
