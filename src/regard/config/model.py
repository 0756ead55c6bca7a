"""What to build: plain values, with their help under each field."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from regard.config.attention import (
    AdditiveSpec,
    AttentionSpec,
    CosineSpec,
    DotSpec,
    FixedVectorSpec,
    GaussianSpec,
    LocalSpec,
    LuongSpec,
    MultiHeadSpec,
)
from regard.config.checks import LAYERS, SIZES, check_choices, check_divides, check_least, check_most, check_shares
from regard.errors import ArgumentError

Tie: TypeAlias = Literal["none", "embeddings", "output", "all"]
Normalize: TypeAlias = Literal["softmax", "sparsemax", "entmax", "sigmoid"]


@dataclass(frozen=True, kw_only=True)
class RecurrentSpec:
    """An encoder and a decoder that carry a state from word to word."""

    kind: Literal["recurrent"] = "recurrent"
    cell: Literal["rnn", "lstm", "gru"] = "gru"
    """What carries the state."""
    direction: Literal["forward", "backward", "both"] = "both"
    """How the source is read; "backward" is Sutskever's reversed source."""
    embedding_size: int = 256
    """Width of the word vectors."""
    hidden_size: int = 256
    """Width of the decoder's state."""
    encoder_size: int | None = None
    """Width of the encoder's state in each direction; by default that of the decoder's, or half of it where both
    directions together must be as wide as the decoder's, to be compared with it."""
    num_layers: int = 1
    """Recurrent layers of the encoder, and of the decoder."""
    attention: AttentionSpec = field(default_factory=AdditiveSpec)
    """How the decoder attends to the source."""
    wiring: Literal["previous", "current"] = "previous"
    """Which state is the query: the previous one, and the context is an input of the step (Bahdanau); or the current
    one, and the context is an input of the output layer (Luong)."""
    input_feeding: bool = False
    """Give each step what attention decided at the one before (Luong); for wiring "current"."""
    start: Literal["map", "copy"] = "map"
    """How the decoder starts: from a learned map of the encoder's last state, or from that state itself."""
    output: Literal["maxout", "linear", "joined", "attentional", "state"] = "maxout"
    """What the next word is read from: a maxout layer over state, last word and context (Bahdanau), these three side by
    side, state and context side by side, Luong's attentional vector, or the state alone."""
    maxout_size: int | None = None
    """Width of the maxout layer; by default that of the word vectors."""
    normalize: Normalize = "softmax"
    """How scores become weights."""
    tie: Tie = "none"
    """Which matrices are one: source and target embeddings, target embeddings and output, or all three."""
    initialize: Literal["glorot", "uniform", "bahdanau"] = "glorot"
    """First parameters: Glorot and orthogonal; Luong's uniform ones; or those of Bahdanau's appendix B."""
    dropout: float = 0.0
    """Share dropped of embeddings, between layers, and of what the next word is read from."""
    dropout_mask: Literal["each-step", "shared"] = "each-step"
    """Drop anew at each step (Zaremba), or the same features all along a sentence (Gal and Ghahramani)."""
    word_dropout: float = 0.0
    """Share of words whose whole vector is dropped."""
    attention_dropout: float = 0.0
    """Share of attention weights dropped."""

    def __post_init__(self) -> None:
        check_choices(self)
        sizes = ("embedding_size", "hidden_size", "encoder_size", "num_layers", "maxout_size")
        check_least(self, 1, *sizes)
        check_most(self, LAYERS, "num_layers")
        check_most(self, SIZES, *sizes)
        check_shares(self, "dropout", "word_dropout", "attention_dropout")
        _check_wiring(self)
        _check_output(self)
        if self.start == "copy" and (self.direction == "both" or self.encoder_width != self.hidden_size):
            raise ArgumentError(
                '`start` must be "map" where encoder and decoder differ in width or the source is read in both '
                f'directions; received "copy" with direction "{self.direction}" and widths {self.encoder_width} and '
                f"{self.hidden_size}."
            )

    @property
    def encoder_width(self) -> int:
        """The encoder's state in each direction."""
        if self.encoder_size is not None:
            return self.encoder_size
        return self.hidden_size // 2 if self.direction == "both" and self.compares_widths else self.hidden_size

    @property
    def memory_size(self) -> int:
        """What the encoder gives for each word."""
        return self.encoder_width * (2 if self.direction == "both" else 1)

    @property
    def compares_widths(self) -> bool:
        """Return whether state and memory are compared as they are, and so must be equally wide."""
        match self.attention:
            case DotSpec() | GaussianSpec() | CosineSpec():
                return True
            case LuongSpec(score="dot" | "scaled-dot") | LocalSpec(score="dot" | "scaled-dot"):
                return True
        return False


@dataclass(frozen=True, kw_only=True)
class TransformerSpec:
    """An encoder and a decoder of self-attention, and attention from the decoder to the encoder."""

    kind: Literal["transformer"] = "transformer"
    size: int = 256
    """Width of the word vectors and of every layer."""
    num_encoder_layers: int = 4
    """Blocks of the encoder."""
    num_decoder_layers: int = 4
    """Blocks of the decoder."""
    num_heads: int = 4
    """Attention heads in each block; must divide the width."""
    num_key_value_heads: int | None = None
    """Heads that keys and values have, each shared by a group of query heads; by default as many."""
    feed_forward_size: int = 1024
    """Width of the hidden layer in each block."""
    activation: Literal["relu", "gelu", "swish", "swiglu"] = "relu"
    """Nonlinearity of the feed-forward layer."""
    norm: Literal["pre", "post"] = "pre"
    """Normalize before each sublayer, which trains without a warm-up, or after it, as the paper does."""
    final_norm: bool | None = None
    """Normalize once more after the last block of encoder and decoder; by default where `norm` is "pre"."""
    position: Literal["sinusoidal", "sinusoidal-halves", "learned", "rotary", "relative", "alibi", "none"] = (
        "sinusoidal"
    )
    """How a word knows where it stands; "sinusoidal-halves" has all sines before all cosines, as Marian does."""
    max_length: int = 512
    """The longest sentence, which position "learned" must know."""
    reach: int = 16
    """The largest distance that position "relative" distinguishes."""
    score: Literal["scaled-dot", "dot", "additive", "bilinear", "gaussian", "cosine"] = "scaled-dot"
    """How queries and keys are compared."""
    normalize: Normalize = "softmax"
    """How scores become weights."""
    tie: Tie = "output"
    """Which matrices are one: source and target embeddings, target embeddings and output, or all three."""
    dropout: float = 0.1
    """Dropout probability of embeddings and of the output of each sublayer."""
    feed_forward_dropout: float = 0.0
    """Share dropped of the hidden layer in each block."""
    attention_dropout: float = 0.0
    """Share of attention weights dropped."""
    word_dropout: float = 0.0
    """Share of words whose whole vector is dropped."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, 1, "size", "num_encoder_layers", "num_decoder_layers", "num_heads", "num_key_value_heads")
        check_least(self, 1, "feed_forward_size", "max_length")
        check_least(self, 0, "reach")
        check_most(self, LAYERS, "num_encoder_layers", "num_decoder_layers")
        check_most(self, SIZES, "size", "num_heads", "num_key_value_heads", "feed_forward_size", "max_length", "reach")
        check_shares(self, "dropout", "feed_forward_dropout", "attention_dropout", "word_dropout")
        check_divides("num_heads", self.num_heads, "size", self.size)
        if self.num_key_value_heads is not None:
            check_divides("num_key_value_heads", self.num_key_value_heads, "num_heads", self.num_heads)
        even = {
            "sinusoidal": ("size", self.size),
            "sinusoidal-halves": ("size", self.size),
            "rotary": ("size // num_heads", self.size // self.num_heads),
        }
        name, width = even.get(self.position, ("size", 2))
        if width % 2:
            raise ArgumentError(f'`{name}` must be even for position "{self.position}"; received {width}.')
        if self.position == "relative" and self.score not in ("scaled-dot", "dot", "bilinear"):
            raise ArgumentError(
                f'`score` must be scaled-dot, dot or bilinear for position "relative"; received "{self.score}". '
                'Position "alibi" goes with every score.'
            )


@dataclass(frozen=True, kw_only=True)
class StatisticalSpec:
    """No network: words translated by counts (IBM Model 1), reordered by counts, and an n-gram language model."""

    kind: Literal["statistical"] = "statistical"
    order: int = 3
    """Words of the longest sequences that the language model counts."""
    iterations: int = 5
    """Rounds of expectation-maximization for the translations."""
    reach: int = 7
    """The largest distance between the sources of two neighboring words that is distinguished."""
    language_weight: float = 0.3
    """Share of the language model in the score of a word; the rest is the translation's."""
    coverage_weight: float = 0.5
    """How much source words that still lack a translation count against ending."""

    def __post_init__(self) -> None:
        check_least(self, 1, "order", "iterations", "reach")
        check_most(self, SIZES, "order", "iterations", "reach")
        check_least(self, 0, "coverage_weight")
        check_shares(self, "language_weight")


NetworkSpec: TypeAlias = RecurrentSpec | TransformerSpec
ModelSpec: TypeAlias = RecurrentSpec | TransformerSpec | StatisticalSpec


@dataclass(frozen=True, kw_only=True)
class SavedModel:
    """What config.json in a model folder holds."""

    version: str
    """The version of regard that wrote it."""
    model: ModelSpec
    """What to build."""
    source_vocabulary: int
    """Tokens of the source."""
    target_vocabulary: int
    """Tokens of the target."""
    guided_head: int | None = None
    """Head of the last decoder layer but one, or of the only one, that was trained on word links
    (train.guided_alignment): alignments are read from it."""

    def __post_init__(self) -> None:
        check_least(self, 1, "source_vocabulary", "target_vocabulary")
        check_least(self, 0, "guided_head")
        heads = self.model.num_heads if isinstance(self.model, TransformerSpec) else 0
        if self.guided_head is not None and self.guided_head >= heads:
            raise ArgumentError(f"`guided_head` must be below the model's {heads} heads; received {self.guided_head}.")


def _check_wiring(spec: RecurrentSpec) -> None:
    """Raise where attention and wiring do not go together."""
    if spec.compares_widths and spec.memory_size != spec.hidden_size:
        raise ArgumentError(
            f'`attention` "{spec.attention.kind}" compares vectors of equal width: `hidden_size` must be that of the '
            f"memory, {spec.memory_size}; received {spec.hidden_size}. "
            'Attention "bilinear" or "additive" takes unequal widths.'
        )
    if isinstance(spec.attention, MultiHeadSpec):
        check_divides("num_heads", spec.attention.num_heads, "hidden_size", spec.hidden_size)
    if isinstance(spec.attention, FixedVectorSpec):
        if spec.input_feeding:
            raise ArgumentError('`input_feeding` must be false for attention "fixed"; received true.')
        return
    if spec.wiring == "previous":
        if isinstance(spec.attention, LuongSpec | LocalSpec):
            raise ArgumentError(
                f'`wiring` must be "current" for attention "{spec.attention.kind}", whose attentional vector is made '
                'of the state after the step; received "previous".'
            )
        if spec.num_layers > 1:
            raise ArgumentError(f'`num_layers` must be 1 for wiring "previous"; received {spec.num_layers}.')
        if spec.input_feeding:
            raise ArgumentError(
                '`input_feeding` must be false for wiring "previous", where every gate reads the context; received '
                "true."
            )


def _check_output(spec: RecurrentSpec) -> None:
    """Raise where the output wants what there is not, or ignores the context."""
    wanted: tuple[str, ...]
    match spec.attention:
        case FixedVectorSpec(context="initial"):
            wanted, why = ("state",), 'attention "fixed" with context "initial"'
        case FixedVectorSpec():
            wanted, why = ("maxout", "linear", "joined", "state"), 'attention "fixed"'
        case LuongSpec() | LocalSpec():
            wanted, why = ("attentional",), f'attention "{spec.attention.kind}"'
        case _ if spec.wiring == "previous":
            wanted, why = ("maxout", "linear", "joined", "attentional", "state"), 'wiring "previous"'
        case _ if spec.input_feeding:
            wanted, why = ("attentional",), "input feeding"
        case _:
            wanted, why = ("maxout", "linear", "joined", "attentional"), 'wiring "current"'
    if spec.output not in wanted:
        raise ArgumentError(f'`output` must be {" or ".join(wanted)} for {why}; received "{spec.output}".')
    if spec.tie not in ("output", "all"):
        return
    width = {
        "maxout": spec.maxout_size or spec.embedding_size,
        "linear": spec.hidden_size + spec.embedding_size + spec.memory_size,
        "joined": spec.hidden_size + spec.memory_size,
        "attentional": spec.hidden_size,
        "state": spec.hidden_size,
    }[spec.output]
    if width != spec.embedding_size:
        raise ArgumentError(
            f'`embedding_size` must be the width of what output "{spec.output}" reads, {width}, for tie "{spec.tie}"; '
            f"received {spec.embedding_size}."
        )
