"""What is open, and what is being made."""

from typing import Literal

from regard.studio.schema.parts import Answer

Kind = Literal["translator", "aligner", "classifier", "language", "vision"]


class Example(Answer):
    """A text to begin with, what it shows, and its translation in the corpus."""

    text: str
    about: str
    reference: str


class ModelInfo(Answer):
    """A model that is open."""

    name: str
    kind: Kind
    about: str
    examples: list[Example]


class Preparing(Answer):
    """How far the training of a first model is."""

    stage: str
    step: int
    steps: int
    loss: float | None
    seconds: float
    error: str | None


class Overview(Answer):
    """What a page shows before anything is asked."""

    version: str
    models: list[ModelInfo]
    waiting: list[str]
    """Runs that have no model yet: each is opened once it is there."""
    preparing: Preparing | None
    training: bool = False
    """Whether a run that is open goes on: its model will be another one."""
