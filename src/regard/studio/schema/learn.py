"""Learn: what a run attends to at each validation, while it trains and afterwards."""

from regard.studio.schema.compare import RunState
from regard.studio.schema.parts import Answer


class AlignedSample(Answer):
    """A sentence of the validation: what the run outputs by now, and its attention while forced to the reference."""

    source: str
    reference: str
    hypothesis: str
    source_tokens: list[str]
    target_tokens: list[str]
    weights: list[list[float]]
    """A row for each target token."""


class Frame(Answer):
    """One validation."""

    step: int
    loss: float | None
    bleu: float | None
    samples: list[AlignedSample]


class FramesAnswer(RunState):
    """The validations of a run that were not known yet."""

    frames: list[Frame]
    offset: int
    file: str
    anew: bool
    """Whether they begin from the start: the file is another than before."""
    more: bool


class TrainAnswer(Answer):
    """The run that the studio trains itself, or has trained before."""

    run: str
    trained: bool
