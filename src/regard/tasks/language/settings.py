"""A run on text: its data, its training, its named language models, and what suits them where nothing is chosen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from regard.config.checks import check_choices, check_least, check_shares
from regard.config.data_files import DataName, DataNames
from regard.config.language import (
    BagSpec,
    FeedForwardLanguageSpec,
    LanguageSpec,
    NGramSpec,
    RecurrentLanguageSpec,
    TransformerLanguageSpec,
)
from regard.config.read import merge, read_settings
from regard.config.show import to_table
from regard.config.train import Cosine, Schedule, TokenTrain
from regard.data.corpora.catalogue import check_alone, check_languages
from regard.data.text.text_tokenizer import TextTokenizerConfig
from regard.errors import ArgumentError
from regard.tasks.task import find_preset


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
    languages: tuple[str, ...] = ()
    """Codes of its languages, such as ["es"], for the model card."""

    def __post_init__(self) -> None:
        check_choices(self)
        check_shares(self, "hold_out")
        check_least(self, 1, "size", "block_lines", "length")
        check_least(self, 0, "stride")
        check_alone(self.text, self.more)
        check_languages(self.languages)

    @property
    def name(self) -> str:
        """What the text is called in a model card."""
        return ", ".join([self.text, *self.more])


@dataclass(frozen=True, kw_only=True)
class LanguageTrain(TokenTrain):
    """How long, how fast, and what to keep."""

    steps: int = 2400
    batch_tokens: int = 512
    """Tokens that one process takes at once, in stretches of `data.length`."""
    label_smoothing: float = 0.0
    metric: Literal["loss"] = "loss"
    beta2: float = 0.99
    validate_every: int = 400
    checkpoint_every: int = 200
    samples: int = 3
    """Continuations of the held-out text that are shown at each validation."""
    schedule: Schedule = field(default_factory=lambda: Cosine(rate=4e-3, warm_up=100, final=0.05))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, 0, "samples")


@dataclass(frozen=True, kw_only=True)
class LanguageConfig:
    """A run: text, tokenizer, model and training."""

    data: TextData = field(default_factory=TextData)
    """Which text to train on."""
    tokenizer: TextTokenizerConfig = field(default_factory=TextTokenizerConfig)
    """What a token is."""
    model: LanguageSpec = field(default_factory=RecurrentLanguageSpec)
    """What to build."""
    train: LanguageTrain = field(default_factory=LanguageTrain)
    """How long, how fast, and what to keep."""

    def __post_init__(self) -> None:
        if self.data.stride and not isinstance(self.model, TransformerLanguageSpec):
            raise ArgumentError(
                f"data.stride: must be 0 for a model that reads a text from beginning to end; received "
                f"{self.data.stride}. It is for Transformers."
            )
        if isinstance(self.model, TransformerLanguageSpec) and self.data.length > self.model.context:
            raise ArgumentError(
                f"data.length: must be at most model.context, {self.model.context}; received {self.data.length}."
            )


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


def compose_language(chosen: Mapping[str, Any], *, name: str = "") -> LanguageConfig:
    """Give the settings of a run: those `chosen`, and for the rest the preset `name`'s; without a name, an LSTM.

    >>> compose_language({"train": {"steps": 7}}, name="transformer").train.steps
    7
    """
    model = to_table(find_preset(name, LANGUAGE_PRESETS, of="a language model")()) if name else {}
    tokenizer = {"vocabulary_size": _SUBWORDS if _kind(chosen, "tokenizer", "bpe") in ("bpe", "unigram") else _WORDS}
    windows = _kind(chosen, "model", str(model.get("kind"))) == "transformer"
    below = {"data": {"length": 64 if windows else 32}, "model": model, "tokenizer": tokenizer}
    below |= {"train": to_table(LanguageTrain())}
    return read_settings(LanguageConfig, merge(below, chosen))


def _kind(chosen: Mapping[str, Any], part: str, otherwise: str) -> str:
    table = chosen.get(part, {})
    return str(table.get("kind", otherwise)) if isinstance(table, Mapping) else otherwise
