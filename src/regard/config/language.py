"""What language model to build: plain values, with their help under each field."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from regard.config.checks import LAYERS, SIZES, check_choices, check_least, check_most, check_shares
from regard.errors import ArgumentError


@dataclass(frozen=True, kw_only=True)
class BagSpec:
    """Every word as likely as it is frequent."""

    kind: Literal["bag"] = "bag"
    smoothing: float = 0.1
    """What each word is counted as besides."""

    def __post_init__(self) -> None:
        if not self.smoothing > 0:
            raise ArgumentError(f"`smoothing` must be above 0; received {self.smoothing:g}.")


@dataclass(frozen=True, kw_only=True)
class NGramSpec:
    """Counts of word sequences, smoothed as Kneser and Ney."""

    kind: Literal["ngram"] = "ngram"
    order: int = 5
    """Words of the longest sequences."""

    def __post_init__(self) -> None:
        check_least(self, 1, "order")
        check_most(self, LAYERS, "order")


@dataclass(frozen=True, kw_only=True)
class FeedForwardLanguageSpec:
    """The last words, side by side, through a hidden layer (Bengio et al. 2003)."""

    kind: Literal["feed-forward"] = "feed-forward"
    context: int = 5
    """Tokens it reads before the next one."""
    embedding_size: int = 64
    """Width of a word's vector."""
    hidden_size: int = 256
    """Width of the hidden layer."""
    direct: bool = False
    """Connect the vectors with the output, past the hidden layer."""
    dropout: float = 0.1
    """Share of features dropped."""

    def __post_init__(self) -> None:
        check_least(self, 1, "context", "embedding_size", "hidden_size")
        check_most(self, SIZES, "context", "embedding_size", "hidden_size")
        check_shares(self, "dropout")


@dataclass(frozen=True, kw_only=True)
class RecurrentLanguageSpec:
    """A recurrent network, which may attend to its last states."""

    kind: Literal["recurrent"] = "recurrent"
    cell: Literal["rnn", "lstm", "gru"] = "lstm"
    """The recurrence."""
    embedding_size: int = 128
    """Width of a word's vector."""
    hidden_size: int = 256
    """Width of the layers; the last is as wide as the embedding where they are tied."""
    num_layers: int = 2
    """How many layers."""
    tie: bool = True
    """One matrix for embedding and output."""
    attention_span: int = 0
    """Past states it attends to; 0 is none."""
    num_heads: int = 1
    """Attention heads."""
    dropout: float = 0.1
    """Share of features dropped before the output, the same all along a stretch."""
    input_dropout: float = 0.0
    """The same, of the words' vectors."""
    layer_dropout: float = 0.0
    """The same, between layers."""
    weight_dropout: float = 0.0
    """Share of connections from state to state dropped."""
    word_dropout: float = 0.0
    """Share of words dropped whole."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, 1, "embedding_size", "hidden_size", "num_layers", "num_heads")
        check_least(self, 0, "attention_span")
        check_most(self, LAYERS, "num_layers")
        check_most(self, SIZES, "embedding_size", "hidden_size", "num_heads", "attention_span")
        check_shares(self, "dropout", "input_dropout", "layer_dropout", "weight_dropout", "word_dropout")
        if self.attention_span and self.sizes[-1] % self.num_heads:
            raise ArgumentError(
                f"`num_heads` must divide the width of the last layer, {self.sizes[-1]}; received {self.num_heads}."
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The width of the words' vectors and of each layer."""
        last = self.embedding_size if self.tie else self.hidden_size
        return (self.embedding_size, *[self.hidden_size] * (self.num_layers - 1), last)


@dataclass(frozen=True, kw_only=True)
class TransformerLanguageSpec:
    """Causal self-attention within a window: a decoder-only Transformer."""

    kind: Literal["transformer"] = "transformer"
    size: int = 128
    """Width of the blocks."""
    num_layers: int = 4
    """How many blocks."""
    num_heads: int = 4
    """Attention heads in each block; must divide the width."""
    feed_forward_size: int = 512
    """Width of the hidden layer of a block."""
    activation: Literal["relu", "gelu", "swiglu"] = "gelu"
    """Nonlinearity of the feed-forward layer."""
    position: Literal["sinusoidal", "learned", "rotary"] = "rotary"
    """How it knows where a word stands."""
    context: int = 128
    """Most tokens it attends to."""
    dropout: float = 0.1
    """Share of features dropped, after each half of a block and of the words' vectors."""
    attention_dropout: float = 0.0
    """Share of weights dropped."""
    tie: bool = True
    """One matrix for embedding and output."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, 1, "size", "num_layers", "num_heads", "feed_forward_size")
        check_least(self, 2, "context")
        check_most(self, LAYERS, "num_layers")
        check_most(self, SIZES, "size", "num_heads", "feed_forward_size", "context")
        check_shares(self, "dropout", "attention_dropout")
        if self.size % self.num_heads:
            raise ArgumentError(f"`num_heads` must divide `size`, {self.size}; received {self.num_heads}.")
        if self.position == "sinusoidal" and self.size % 2:
            raise ArgumentError(f'`size` must be even for position "sinusoidal"; received {self.size}.')


CountingSpec: TypeAlias = BagSpec | NGramSpec
NetworkSpec: TypeAlias = FeedForwardLanguageSpec | RecurrentLanguageSpec | TransformerLanguageSpec
LanguageSpec: TypeAlias = (
    RecurrentLanguageSpec | TransformerLanguageSpec | FeedForwardLanguageSpec | NGramSpec | BagSpec
)


@dataclass(frozen=True, kw_only=True)
class SavedLanguageModel:
    """What a model folder's config.json holds."""

    version: str
    """Of regard, when it was written."""
    task: Literal["language"] = "language"
    """What the model is for."""
    model: LanguageSpec
    """What to build."""
    vocabulary_size: int
    """How many tokens it knows."""
    length: int = 128
    """Tokens of a window in training."""

    def __post_init__(self) -> None:
        check_least(self, 1, "vocabulary_size", "length")
        check_most(self, SIZES, "length")
