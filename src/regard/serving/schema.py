"""What requests and replies look like: the source of the OpenAPI description."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from regard.serving.limits import Limits

MAX_SEED = 2**63 - 1
LONGEST_NAME = 200


def check_unicode(text: str) -> str:
    """Refuse half a surrogate pair, which JSON can write and no encoding can."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"must be Unicode; received half a surrogate pair at index {error.start}") from error
    return text


Text = Annotated[str, AfterValidator(check_unicode)]
Whole = Annotated[int, Field(ge=1, le=10**6)]
Link = Annotated[list[int], Field(min_length=2, max_length=2)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")
    model: Text = Field("", max_length=LONGEST_NAME, description="A name of /v1/models; else the first that fits.")


class TranslateBody(_Body):
    """Sentences to translate."""

    text: list[Text] = Field(min_length=1, description="Sentences.")
    beam: Whole = Field(5, description="Hypotheses kept of each; 1 is greedy.")
    n_best: Whole = Field(1, description="Outputs of each, at most `beam`.")
    length_penalty: float = Field(1.0, ge=0, le=10, description="Exponent of the length that scores are divided by.")
    max_length: Whole | None = Field(None, description="Tokens of an output; else twice the source and twenty.")
    alignment: bool = Field(False, description="Give links between words, read off the attention.")
    markup: Literal["html", "xml", "placeholders"] | None = Field(
        None, description="What is carried along to the words that translate its own; see `with_marks`."
    )
    terms: dict[Text, Text] | None = Field(
        None, description="Translations that outputs must have where a sentence has the term."
    )


class PairBody(BaseModel):
    """A sentence and its translation."""

    model_config = ConfigDict(extra="forbid")
    source: Text
    target: Text


class AlignBody(_Body):
    """Sentence pairs whose words are linked."""

    pairs: list[PairBody] = Field(min_length=1)
    words: Literal["whitespace", "marks"] = Field("whitespace", description="What links count as a word.")


class GenerateBody(_Body):
    """A text to go on with."""

    text: Text = Field("", description="What the output follows.")
    max_tokens: Whole = 100
    temperature: float = Field(
        1.0, ge=0, le=100, description="Below 1 for likelier tokens; 0 for the likeliest, else at least 0.01."
    )
    top_k: int = Field(0, ge=0, le=10**6, description="Draw from so many of the likeliest; 0 for all.")
    top_p: float = Field(1.0, gt=0, le=1, description="Draw from the likeliest of this probability.")
    seed: int = Field(0, ge=0, le=MAX_SEED)
    stream: bool = Field(True, description="A JSON object a line as the text is generated; else one object.")


class ClassifyBody(_Body):
    """Texts to label, or pictures in base64; one of the two."""

    text: list[Text] | None = Field(None, min_length=1)
    image: list[str] | None = Field(None, min_length=1, description="PNG, JPEG or WebP, in base64.")


class AskBody(_Body):
    """Questions about a picture."""

    image: str = Field(description="PNG, JPEG or WebP, in base64.")
    questions: list[Text] = Field(min_length=1, description='For a model of captions, "" asks for a description.')


class AttentionBody(_Body):
    """A text whose attention is wanted."""

    text: Text
    target: Text | None = Field(None, description="What the model is made to output; else what it does.")


class Output(BaseModel):
    """One output for a sentence."""

    text: str
    score: float = Field(description="What search ranks by.")
    finished: bool = Field(description="False where the longest length came first.")
    with_marks: str | None = Field(None, description="The text with the tags or placeholders of its source.")
    alignment: list[Link] | None = Field(
        None, description="Source word and target word, from 0, between spaces, both without marks."
    )


class TranslationReply(Output):
    """The best output for a sentence, and the others where they were asked for."""

    read_as: dict[str, str] = Field(description="Words read with other accents or case.")
    cut: int = Field(description="Source tokens that were not read.")
    n_best: list[Output] | None = None


class TranslateReply(BaseModel):
    """Translations, in the order of the sentences."""

    model: str
    translations: list[TranslationReply]


class AlignmentReply(BaseModel):
    """The links of a pair."""

    source: list[str]
    target: list[str]
    links: list[Link]
    read_as: dict[str, str]
    cut: bool


class AlignReply(BaseModel):
    """Alignments, in the order of the pairs."""

    model: str
    alignments: list[AlignmentReply]


class Piece(BaseModel):
    """A line of a generated text; the last has `done`, or `error`."""

    text: str | None = None
    done: bool | None = None
    error: str | None = None


class GenerateReply(BaseModel):
    """A generated text."""

    model: str
    text: str


class DecisionReply(BaseModel):
    """The label of a text or picture."""

    label: str
    probabilities: dict[str, float]
    words: list[str] | None = None
    weights: list[float] | None = Field(None, description="The share of each word.")
    cut: int | None = None


class ClassifyReply(BaseModel):
    """Labels, in the order of the texts."""

    model: str
    decisions: list[DecisionReply]


class AnswerReply(BaseModel):
    """The answer to a question."""

    answer: str
    probability: float
    unknown: list[str] | None = Field(None, description="Words that the model was never trained on.")
    cut: int | None = None


class AskReply(BaseModel):
    """Answers, in the order of the questions."""

    model: str
    answers: list[AnswerReply]


class PackedReply(BaseModel):
    """A tensor."""

    shape: list[int]
    float32: str | None = Field(None, description="The numbers in row order, base64 of little-endian float32.")
    bytes: str | None = Field(None, description="Or each as a byte, a share of `scale`, deflated, in base64.")
    scale: float | None = None


class LayerReply(BaseModel):
    """The weights of one layer."""

    layer: str
    query: list[str]
    key: list[str]
    weights: PackedReply = Field(description="Heads, queries, keys.")


class AttentionReply(BaseModel):
    """What every layer and head attends to."""

    model: str
    text: str
    target: str | None
    tokens: list[str]
    target_tokens: list[str]
    target_probabilities: list[float]
    read_as: dict[str, str]
    layers: list[LayerReply]


class ModelReply(BaseModel):
    """A model that is served."""

    name: str
    endpoints: list[str]
    about: str


class ModelsReply(BaseModel):
    """The models, and what a request may ask for."""

    models: list[ModelReply]
    limits: dict[str, float]
    version: str


class StateReply(BaseModel):
    """How the server is."""

    state: str


class ErrorReply(BaseModel):
    """Why a request was refused, or failed."""

    error: str


def add_limits(description: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Write the limits of a server into its OpenAPI description."""
    bodies = description["components"]["schemas"]
    for name, field, key, most in (
        ("TranslateBody", "text", "maxItems", limits.sentences),
        ("TranslateBody", "beam", "maximum", limits.beam),
        ("TranslateBody", "n_best", "maximum", min(limits.n_best, limits.beam)),
        ("TranslateBody", "terms", "maxProperties", limits.terms),
        ("AlignBody", "pairs", "maxItems", limits.sentences),
        ("AskBody", "questions", "maxItems", limits.sentences),
        ("GenerateBody", "text", "maxLength", limits.characters),
        ("GenerateBody", "max_tokens", "maximum", limits.tokens),
        ("AttentionBody", "text", "maxLength", limits.characters),
    ):
        described = bodies[name]["properties"][field]
        described[key] = most
        if key == "maximum":
            described["default"] = min(described["default"], most)
    return description
