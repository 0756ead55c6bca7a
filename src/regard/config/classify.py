"""What classifier to build: plain values, with their help under each field."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from regard.config.checks import LAYERS, SIZES, check_above, check_choices, check_least, check_most, check_shares
from regard.errors import ArgumentError

Cell: TypeAlias = Literal["rnn", "lstm", "gru"]
Direction: TypeAlias = Literal["forward", "both"]


@dataclass(frozen=True, kw_only=True)
class TfIdfSpec:
    """TF-IDF and logistic regression, fitted by scikit-learn: a word weighs more the rarer it is."""

    kind: Literal["tf-idf"] = "tf-idf"
    inverse_penalty: float | None = None
    """C of scikit-learn's LogisticRegression; not set, it is the one of 0.3, 1, 3, 10, 30 with the lowest validation
    loss."""
    iterations: int = 1000
    """Most steps of its solver."""

    def __post_init__(self) -> None:
        check_above(self, 0, "inverse_penalty")
        check_least(self, 1, "iterations")


@dataclass(frozen=True, kw_only=True)
class _Network:
    size: int = 128
    """Width of the word vectors."""
    dropout: float = 0.3
    """Share dropped of word vectors, and of what the label is read from."""
    word_dropout: float = 0.1
    """Share of words whose whole vector is dropped."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_least(self, 1, "size")
        check_most(self, SIZES, "size")
        check_shares(self, "dropout", "word_dropout")


@dataclass(frozen=True, kw_only=True)
class AverageSpec(_Network):
    """The mean of the word vectors: every word counts the same."""

    kind: Literal["average"] = "average"


@dataclass(frozen=True, kw_only=True)
class TokenWeightsSpec(_Network):
    """A mean weighed by one learned number for each word of the vocabulary, whatever stands beside it."""

    kind: Literal["token-weights"] = "token-weights"


@dataclass(frozen=True, kw_only=True)
class FeedForwardSpec(_Network):
    """The mean of the word vectors through a hidden layer: a deep averaging network (Iyyer et al., 2015)."""

    kind: Literal["feed-forward"] = "feed-forward"
    hidden_size: int = 128
    """Width of the hidden layer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, 1, "hidden_size")
        check_most(self, SIZES, "hidden_size")


@dataclass(frozen=True, kw_only=True)
class LastStateSpec(_Network):
    """The state after the last word: what a recurrent network still knows of the text at its end."""

    kind: Literal["last-state"] = "last-state"
    cell: Cell = "lstm"
    """What carries the state."""
    direction: Direction = "forward"
    """Read from the first word to the last, or both ways."""
    hidden_size: int = 128
    """Width of the state in each direction."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, 1, "hidden_size")
        check_most(self, SIZES, "hidden_size")


@dataclass(frozen=True, kw_only=True)
class AttentivePoolingSpec(_Network):
    """A mean of the word vectors weighed by attention: softmax of wᵀ tanh(W x) / √d."""

    kind: Literal["attentive-pooling"] = "attentive-pooling"
    attention_size: int = 64
    """Width of the layer that compares."""
    attention_dropout: float = 0.2
    """Share of attention weights dropped, so that not all hangs on one word."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, 1, "attention_size")
        check_most(self, SIZES, "attention_size")
        check_shares(self, "attention_dropout")


@dataclass(frozen=True, kw_only=True)
class RecurrentAttentionSpec(_Network):
    """The same attention over the states of a recurrent network, which know the words around each."""

    kind: Literal["recurrent-attention"] = "recurrent-attention"
    cell: Cell = "lstm"
    """What carries the state."""
    direction: Direction = "both"
    """Read from the first word to the last, or both ways."""
    hidden_size: int = 64
    """Width of the state in each direction."""
    attention_size: int = 64
    """Width of the layer that compares."""
    attention_dropout: float = 0.0
    """Share of attention weights dropped, so that not all hangs on one word."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, 1, "hidden_size", "attention_size")
        check_most(self, SIZES, "hidden_size", "attention_size")
        check_shares(self, "attention_dropout")


@dataclass(frozen=True, kw_only=True)
class StructuredSpec(_Network):
    """Several attention poolings of bidirectional states, kept apart by a penalty (Lin et al., 2017)."""

    kind: Literal["structured"] = "structured"
    cell: Cell = "lstm"
    """What carries the state."""
    hidden_size: int = 64
    """Width of the state in each direction."""
    attention_size: int = 64
    """Width of the layer that compares."""
    num_hops: int = 4
    """Attention poolings of the text (rows of the matrix A)."""
    penalty: float = 0.3
    """Weight in the loss of the overlap between poolings; 1 in the paper, whose texts are long: poolings of a few
    words cannot help but overlap."""
    output_size: int = 128
    """Width of the hidden layer between the poolings and the label."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, 1, "hidden_size", "attention_size", "num_hops", "output_size")
        check_most(self, SIZES, "hidden_size", "attention_size", "num_hops", "output_size")
        check_least(self, 0, "penalty")


@dataclass(frozen=True, kw_only=True)
class TransformerEncoderSpec(_Network):
    """Blocks of self-attention, then attention pooling by one learned query."""

    kind: Literal["transformer-encoder"] = "transformer-encoder"
    num_layers: int = 2
    """Blocks."""
    num_heads: int = 4
    """Attention heads in each block; must divide the width."""
    feed_forward_size: int = 256
    """Width of the hidden layer in each block."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, 1, "num_layers", "num_heads", "feed_forward_size")
        check_most(self, LAYERS, "num_layers")
        check_most(self, SIZES, "num_heads", "feed_forward_size")
        if self.size % self.num_heads or self.size % 2:
            raise ArgumentError(
                f"`size` must be even and a multiple of `num_heads`, {self.num_heads}; received {self.size}."
            )


ClassifierSpec: TypeAlias = (
    TfIdfSpec
    | AverageSpec
    | TokenWeightsSpec
    | FeedForwardSpec
    | LastStateSpec
    | AttentivePoolingSpec
    | RecurrentAttentionSpec
    | StructuredSpec
    | TransformerEncoderSpec
)


@dataclass(frozen=True, kw_only=True)
class SavedClassifier:
    """What config.json in a classifier's folder holds."""

    version: str
    """The version of regard that wrote it."""
    task: Literal["classify"]
    """What the model is for."""
    model: ClassifierSpec
    """What to build."""
    vocabulary_size: int
    """Tokens of the vocabulary."""
    num_labels: int
    """Labels to choose from."""
    max_length: int
    """Tokens that are read of a text."""

    def __post_init__(self) -> None:
        check_least(self, 1, "vocabulary_size", "num_labels", "max_length")
        check_most(self, SIZES, "max_length")
