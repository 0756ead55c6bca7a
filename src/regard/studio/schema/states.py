"""Hidden states of a text among those of other texts."""

from pydantic import Field

from regard.studio.schema.parts import Answer, Index, Sentence


class StatesRequest(Sentence):
    """A text, and the layer whose states are shown, by its index; the last where none is named."""

    layer: Index | None = None


class StatePoint(Answer):
    """The state of a token, on the plane of the first two principal components."""

    token: str
    text: int
    """The index of its text; 0 is the text that was asked for."""
    position: int
    x: float
    y: float


class Neighbor(Answer):
    """A state that is near, and the cosine of the angle."""

    point: int
    cosine: float


class StatesAnswer(Answer):
    """The states of a text among those of others, and what is near to each of its own."""

    layers: list[str]
    layer: int
    texts: list[str]
    points: list[StatePoint]
    """Those of the text that was asked for first."""
    shares: tuple[float, float] = Field(description="Of the variance, along each axis.")
    nearest: list[list[Neighbor]]
    """For each token of the text, nearest first; none of the text itself."""
    skipped: str
    """Why there is nothing to show, where there is nothing."""
