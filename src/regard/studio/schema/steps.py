"""Step by step: one query of one head, taken apart."""

from pydantic import Field

from regard.studio.schema.parts import MAX_LETTERS, Answer, MapName, Name, Sentence
from regard.studio.tensors import Packed


class ReadRequest(Sentence):
    """A text, and what the model is forced to output."""

    target: str | None = Field(None, max_length=MAX_LETTERS)


class HeadRequest(ReadRequest):
    """One head of a layer."""

    layer: Name
    head: int = 0


class QueryRequest(HeadRequest):
    """One query of it."""

    query: int = 0


class LayerInfo(Answer):
    """A layer that can be taken apart."""

    name: str
    map: MapName
    number: int
    """Which of the layers of that map, from 0."""
    heads: int
    queries: list[str]
    keys: list[str]


class Reading(Answer):
    """What was read and output, and what there is to choose from."""

    model: str
    generates: bool
    """Whether it has an output that can be forced."""
    text: str
    read_as: dict[str, str]
    target: str | None
    layer: str
    """The one that is shown first."""
    layers: list[LayerInfo]


class ScoreInfo(Answer):
    """A score, with what is needed to compute it once more from two vectors."""

    kind: str
    scale: float | None = None
    bandwidth: float | None = None
    temperature: float | None = None
    activation: str | None = None
    vector: Packed | None = None
    projected_query: Packed | None = None
    projected_keys: Packed | None = None
    columns: Packed | None = None


class NormalizerInfo(Answer):
    """A normalizer with its settings."""

    kind: str
    alpha: float | None = None
    bias: float | None = None
    score: float | None = None


class Code(Answer):
    """Python that gives the same numbers."""

    find: str
    again: str


class Stages(Answer):
    """Every number between a query and its context."""

    score: ScoreInfo
    normalizer: NormalizerInfo
    position: str | None
    query: Packed
    keys: Packed
    values: Packed
    unturned: tuple[Packed, Packed] | None
    """Query and keys before the position turned them."""
    compared: Packed
    """The score alone."""
    bias: Packed | None
    added: Packed | None
    scores: Packed
    mask: Packed | None
    normalized: Packed
    factors: Packed | None
    weights: Packed
    extra: Packed | None
    context: Packed
    output: Packed


class WordLogit(Answer):
    """A word that the output layer predicts."""

    token: str
    id: int
    logit: float
    probability: float


class LensAnswer(Answer):
    """What the output layer makes of the state after one layer: the logit lens."""

    words: list[WordLogit]
    taken: float
    """The probability of the word that is output."""


class PathAnswer(Answer):
    """What lies before and after the attention of a query; null where a model has no such part."""

    query_input: Packed | None
    """What the query was made of."""
    key_inputs: Packed | None
    """What each key was made of."""
    mixed: Packed | None
    """What all heads give together, after the output map."""
    before: Packed | None
    """The residual stream that it is added to."""
    after: Packed | None
    words: list[WordLogit]
    """What the model predicts at this query, likeliest first; none where it leads to no word."""
    taken: int | None
    """The word that is output there."""
    lens: list[LensAnswer]
    """One for each layer."""


class LinearMap(Answer):
    """A linear map, as far as it belongs to one head."""

    name: str
    matrix: Packed
    """(outputs, inputs)."""
    bias: Packed | None


class HeadMaps(Answer):
    """The maps of one head: what makes queries, keys and values, and what takes the context."""

    query: LinearMap | None
    key: LinearMap | None
    value: LinearMap | None
    output: LinearMap | None


class ApartAnswer(Stages):
    """The stages of a model's query, with its words."""

    path: PathAnswer

    query_label: str
    key_labels: list[str]
    weights_recorded: Packed
    code: Code
