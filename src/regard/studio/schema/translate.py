"""Translate: search, and the attention of any hypothesis."""

from pydantic import Field

from regard.studio.schema.parts import Answer, Index, MapName, Sentence, Token
from regard.studio.tensors import Packed
from regard.tasks.what_if import MAX_OUTPUT


class SearchRequest(Sentence):
    """A sentence to translate."""

    beam: int = Field(5, ge=1, le=12)


class OutputRequest(Sentence):
    """A hypothesis, by its tokens."""

    tokens: list[Token] = Field(max_length=MAX_OUTPUT)


class RowRequest(OutputRequest):
    """One row of a map whose numbers were sent rounded."""

    map: str = Field(max_length=20)
    row: Index


class Side(Answer):
    """The tokens of one side, and the words they are parts of; `</s>` is a word of its own."""

    ids: list[int]
    tokens: list[str]
    words: list[str]
    word_of: list[int]
    """For each token the index of its word."""
    read_as: dict[str, str]
    """Words that were typed without their accents or case, and how they are read."""
    unknown: list[int]
    """Words that the model does not know: it reads one and the same token instead of each."""


class Output(Answer):
    """One of the n best."""

    text: str
    tokens: list[int]
    score: float
    log_probability: float
    finished: bool


class Node(Answer):
    """A hypothesis of one step of beam search."""

    token: str
    id: int
    log_probability: float
    score: float
    parent: int
    """Its position in the step before."""
    kept: bool
    ended: bool


class SearchAnswer(Answer):
    """What search gave."""

    source: Side
    cut: int
    """Tokens of the source that were left out."""
    read: int
    limit: int
    attends: bool
    outputs: list[Output]
    tree: list[list[Node]]


class NextToken(Answer):
    """A token that may come next."""

    token: str
    id: int
    probability: float


class MapAnswer(Answer):
    """All layers and heads of one kind of attention."""

    id: MapName
    layers: list[str]
    """Their names in the model."""
    weights: Packed
    """(layers, heads, rows, columns)."""
    mask: Packed | None
    """1 where a row could attend to a column; null where all could."""
    guided_head: int | None = None
    """The head that was trained on word links, from 0, in the layer that links are read from; null where none was."""


class AttentionAnswer(Answer):
    """What the model attends to while it outputs these tokens."""

    source: Side
    target: Side
    finished: bool
    log_probabilities: list[float]
    candidates: list[list[NextToken]]
    """For each step what may come next, likeliest first."""
    maps: list[MapAnswer]
    norms: Packed | None
    """(layers, heads, source): the norm of what a weight of one would add, for the map `cross`."""
    rollout: Packed | None
    """(steps, source), of all layers."""


class RowAnswer(Answer):
    """One row as it is."""

    weights: Packed
    """(layers, heads, columns)."""


class OtherWeights(Answer):
    """The same map of another open model."""

    name: str
    weights: Packed


class ChecksAnswer(Answer):
    """What the weights of an output are checked against."""

    occlusion: Packed | None
    gradient: Packed | None
    signed: Packed | None
    """Gradient × input with its sign: above zero where a source token speaks for the output, below where against."""
    uniform: list[float] | None
    """The log-probability of each token if all attention to the source were uniform."""
    skipped: str
    others: list[OtherWeights]
