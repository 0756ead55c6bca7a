"""Compare: two models on one sentence, quality by length, and training curves."""

from typing import Annotated, Literal

from pydantic import Field

from regard.studio.schema.parts import MAX_LETTERS, Answer, Name, Request, Sentence
from regard.studio.schema.translate import AttentionAnswer

MAX_MODELS = 8


class PairRequest(Sentence):
    """A sentence for two models, and what both are forced to output."""

    other: Name = ""
    forced: Literal["first", "second", "target"] = "first"
    """Whose translation: that of `model`, of `other`, or `target`."""
    target: str = Field("", max_length=MAX_LETTERS)


class NamesRequest(Request):
    """Open models, by their names."""

    models: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(min_length=1, max_length=MAX_MODELS)


class CurveRequest(Request):
    """A run, and how much of its figures is known already."""

    run: Name
    offset: int = Field(0, ge=0, le=2**53)
    file: str = Field("", max_length=100)


class PairOutput(Answer):
    """What one of two models outputs by itself."""

    text: str
    score: float
    log_probability: float
    cut: int


class PairAnswer(Answer):
    """Two models, or one twice, on one sentence."""

    models: tuple[str, str]
    outputs: tuple[PairOutput, PairOutput]
    target: str
    """What both are forced to output."""
    attention: tuple[AttentionAnswer, AttentionAnswer]


class Interval(Answer):
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


class Bin(Answer):
    """Sentences of about one length."""

    low: int
    high: int | None
    mean_length: float
    sentences: int
    few: bool
    scores: dict[str, Interval]
    """By the name of the measure: BLEU, chrF."""


class Measured(Answer):
    """The quality of one model by length."""

    test_set: str
    fingerprint: str
    sentences: int
    source: str
    """Where the figures come from."""
    scores: dict[str, float]
    bins: list[Bin]


class Measuring(Answer):
    """How far the measuring is."""

    model: str
    stage: str
    done: int
    total: int


class LengthsAnswer(Answer):
    """What is known of some models on the same sentences."""

    results: dict[str, Measured]
    progress: Measuring | None
    error: str | None


class RunState(Answer):
    """Whether a run is going on, and how far it is to go."""

    run: str
    state: Literal["finished", "going", "stopped", "begun"]
    steps: int | None


class RunsAnswer(Answer):
    """The runs that the studio was started with."""

    runs: list[RunState]


class CurveAnswer(RunState):
    """The figures of a run that were not known yet."""

    lines: list[dict[str, float | bool | str | None]]
    offset: int
    file: str
    anew: bool
    """Whether they begin from the start: the file is another than before."""
    more: bool
