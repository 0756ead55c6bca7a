"""A language model and its training: plain values, with their help under each field."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from regard.config.checks import LAYERS, SIZES, check_choices, check_least, check_most, check_shares
from regard.config.data_files import DataName, DataNames
from regard.config.read import merge, read_settings
from regard.config.show import to_table
from regard.config.train import Cosine, Train
from regard.data.corpora.catalogue import check_alone
from regard.data.text.text_tokenizer import TextTokenizerConfig
from regard.errors import ArgumentError, nearest


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
class TextData:
    """Which text to train on, and how it is cut."""

    text: DataName = ""
    """A text file, a folder of them, or a pattern such as parts/*.txt; they may be compressed. Or builtin:stories."""
    more: DataNames = ()
    """More files, folders or patterns of the same text: --data once more."""
    size: int = 10_000
    """Stories, one a line, that builtin:stories draws to train on."""
    seed: int = 0
    """Which stories are drawn."""
    valid: DataName = ""
    """Text to validate on; empty holds some out."""
    test: DataName = ""
    """Text to test with; empty is none."""
    hold_out: float = 0.1
    """Share of the text held out for validation, where there is no file of it."""
    division: Literal["end", "blocks"] = "end"
    """Hold out the end of the text, or blocks of lines from all over it."""
    block_lines: int = 100
    """Lines of such a block."""
    length: int = 32
    """Tokens of a window: how far gradients go back. A Transformer's is its context, at most; by default 64."""
    stride: int = 0
    """Tokens that each window adds when a model without a state is measured; 0 is the whole window."""
    license: str = "unknown"
    """Under which the text may be used; it goes into the model's card."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_shares(self, "hold_out")
        check_least(self, 1, "size", "block_lines", "length")
        check_least(self, 0, "stride")
        check_alone(self.text, self.more)

    @property
    def name(self) -> str:
        """What the text is called in a model card."""
        return ", ".join([self.text, *self.more])


def _train() -> Train:
    return Train(
        steps=2400,
        batch_tokens=512,
        label_smoothing=0.0,
        metric="loss",
        beta2=0.99,
        validate_every=400,
        checkpoint_every=200,
        schedule=Cosine(rate=4e-3, warm_up=100, final=0.05),
    )


@dataclass(frozen=True, kw_only=True)
class LanguageConfig:
    """A run: text, tokenizer, model and training."""

    data: TextData = field(default_factory=TextData)
    """Which text to train on."""
    tokenizer: TextTokenizerConfig = field(default_factory=TextTokenizerConfig)
    """What a token is."""
    model: LanguageSpec = field(default_factory=RecurrentLanguageSpec)
    """What to build."""
    train: Train = field(default_factory=_train)
    """How long, how fast, and what to keep. A batch is batch_tokens / length stretches of text."""

    def __post_init__(self) -> None:
        if self.train.metric != "loss":
            raise ArgumentError(f"train.metric: must be loss for a language model; received {self.train.metric}.")
        for name in ("r_drop", "bpe_dropout", "guided_alignment"):
            if getattr(self.train, name):
                raise ArgumentError(
                    f"train.{name}: must be 0 for a language model; received {getattr(self.train, name):g}."
                )
        if self.data.stride and not isinstance(self.model, TransformerLanguageSpec):
            raise ArgumentError(
                f"data.stride: must be 0 for a model that reads a text from beginning to end; received "
                f"{self.data.stride}. It is for Transformers."
            )
        if isinstance(self.model, TransformerLanguageSpec) and self.data.length > self.model.context:
            raise ArgumentError(
                f"data.length: must be at most model.context, {self.model.context}; received {self.data.length}."
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


#: Named models, in sizes that learn some megabytes of text in a few minutes on one CPU core.
LANGUAGE_PRESETS: Mapping[str, Callable[[], LanguageSpec]] = {
    "bag": BagSpec,
    "ngram": NGramSpec,
    "feed-forward": FeedForwardLanguageSpec,
    "rnn": lambda: RecurrentLanguageSpec(cell="rnn"),
    "lstm": lambda: RecurrentLanguageSpec(cell="lstm"),
    "gru": lambda: RecurrentLanguageSpec(cell="gru"),
    "rnn-attention": lambda: RecurrentLanguageSpec(cell="rnn", attention_span=64),
    "gru-attention": lambda: RecurrentLanguageSpec(cell="gru", attention_span=64),
    "lstm-attention": lambda: RecurrentLanguageSpec(cell="lstm", attention_span=64),
    "transformer": TransformerLanguageSpec,
}


_SUBWORDS, _WORDS = 2000, 20_000
"""Most tokens of a vocabulary, by default: of parts of words, and of words or characters."""


def language_preset(name: str) -> LanguageSpec:
    """Give a named model.

    >>> language_preset("gru-attention").attention_span
    64
    >>> language_preset("lstn")
    Traceback (most recent call last):
    regard.errors.ArgumentError: `preset` must be the name of a language model; received "lstn". Did you mean lstm?
    """
    if name not in LANGUAGE_PRESETS:
        near = nearest(name, LANGUAGE_PRESETS)
        raise ArgumentError(f'`preset` must be the name of a language model; received "{name}". {near}')
    return LANGUAGE_PRESETS[name]()


def compose_language(chosen: Mapping[str, Any], *, name: str = "") -> LanguageConfig:
    """Give the settings of a run: those `chosen`, and for the rest the preset `name`'s; without a name, an LSTM.

    >>> compose_language({"train": {"steps": 7}}, name="transformer").train.steps
    7
    """
    model = to_table(language_preset(name)) if name else {}
    tokenizer = {"vocabulary_size": _SUBWORDS if _kind(chosen, "tokenizer", "bpe") in ("bpe", "unigram") else _WORDS}
    windows = _kind(chosen, "model", str(model.get("kind"))) == "transformer"
    below = {"data": {"length": 64 if windows else 32}, "model": model, "tokenizer": tokenizer}
    below |= {"train": to_table(_train())}
    return read_settings(LanguageConfig, merge(below, chosen))


def _kind(chosen: Mapping[str, Any], part: str, otherwise: str) -> str:
    table = chosen.get(part, {})
    return str(table.get("kind", otherwise)) if isinstance(table, Mapping) else otherwise
