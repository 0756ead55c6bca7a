"""What if: force weights, mask or replace words, and what comes of it."""

from pydantic import Field

from regard.studio.schema.parts import Answer, Index, Request, Sentence, Token
from regard.studio.schema.translate import AttentionAnswer, Side
from regard.studio.tensors import Packed
from regard.tasks.what_if import MAX_OUTPUT

MAX_CHANGED = 600


class Pin(Request):
    """The share of a row's weight that a position gets."""

    position: Index
    share: float = Field(ge=0, le=1)


class Replacement(Request):
    """What is read at a source position instead."""

    position: Index
    text: str = Field(min_length=1, max_length=200)


class StepRequest(Sentence):
    """A step of decoding: the position of the token that is to be predicted."""

    tokens: list[Token] = Field(max_length=MAX_OUTPUT)
    step: Index
    layer: Token = -1
    """Which of the layers that attend to the source; −1 for all."""


class ChangeRequest(StepRequest):
    """What is done to it."""

    head: Token = -1
    """Which head; −1 for all."""
    pinned: list[Pin] = Field(default_factory=list, max_length=MAX_CHANGED)
    hidden: list[Token] = Field(default_factory=list, max_length=MAX_CHANGED)
    replaced: list[Replacement] = Field(default_factory=list, max_length=MAX_CHANGED)
    onward: bool = False


class WeightsRequest(ChangeRequest):
    """How far the prediction of the changed step may move while other weights are searched for."""

    tolerance: float = Field(0.01, gt=0, le=1)


class BeginAnswer(Answer):
    """A translation, undisturbed."""

    attention: AttentionAnswer
    tokens: list[int]
    text: str
    cut: int


class BeforeAfter(Answer):
    """A token or a label, and how likely it is before a change and after."""

    id: int
    token: str
    before: float
    after: float


class Decoded(Answer):
    """A translation."""

    tokens: list[str]
    ids: list[int]
    text: str


class ChangeAnswer(Answer):
    """The step, undisturbed and changed."""

    source: Side
    candidates: list[BeforeAfter]
    change: float
    """Total variation distance of the two predictions."""
    own: Packed | None
    """(layers, heads, source), undisturbed."""
    weights: Packed | None
    """The same as they were used."""
    before: Decoded
    after: Decoded


class Distance(Answer):
    """How far other weights are, and how far they move the prediction."""

    divergence: float
    change: float
    tolerance: float
    within_tolerance: bool


class WeightsAnswer(Distance):
    """Weights far from the model's own, and the same for uniform ones."""

    layer: int
    own: Packed
    other: Packed
    steps: int
    caveat: str
    candidates: list[BeforeAfter]
    uniform: Distance


class TokensAnswer(Answer):
    """Tokens that begin as what was typed."""

    tokens: list[str]


class LabelRequest(Sentence):
    """A text, and what is done to its tokens."""

    pinned: list[Pin] = Field(default_factory=list, max_length=MAX_CHANGED)
    hidden: list[int] = Field(default_factory=list, max_length=MAX_CHANGED)


class LabelAnswer(Answer):
    """A label, undisturbed and changed."""

    tokens: list[str]
    own: list[float]
    weights: list[float]
    change: float
    candidates: list[BeforeAfter]
