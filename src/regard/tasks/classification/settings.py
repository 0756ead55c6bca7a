"""A run on labeled texts: its data, its training, its named classifiers, and what suits the data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from regard.config.checks import check_least
from regard.config.classify import (
    AttentivePoolingSpec,
    AverageSpec,
    ClassifierSpec,
    FeedForwardSpec,
    LastStateSpec,
    RecurrentAttentionSpec,
    StructuredSpec,
    TfIdfSpec,
    TokenWeightsSpec,
    TransformerEncoderSpec,
)
from regard.config.data_files import DataName, DataNames
from regard.config.read import chosen_whole, merge, read_settings
from regard.config.show import to_table
from regard.config.train import TokenTrain
from regard.data.corpora.catalogue import check_alone, check_languages
from regard.data.corpora.split import Fractions
from regard.data.text.tokenizer_training import TokenizerConfig
from regard.tasks.task import find_preset


@dataclass(frozen=True, kw_only=True)
class LabeledData:
    """Which texts to train and validate on."""

    corpus: DataName = ""
    """A CSV, TSV, JSON Lines or Parquet file of texts and labels, compressed or not, a folder or a pattern of them such
    as parts/*.csv; builtin:topics or builtin:opinions."""
    more: DataNames = ()
    """More files, folders or patterns of the same corpus: --data once more."""
    size: int = 4000
    """Texts that a built-in corpus draws to train on."""
    seed: int = 0
    """Which texts are drawn."""
    text: str = "text"
    """Column or key of the text, by name, or by number from 1 in a file without a header; title+body joins two."""
    label: str = "label"
    """Column or key of the label."""
    valid: DataName = ""
    """A file to validate on; without one, texts are held out."""
    test: DataName = ""
    """A file to test with; without one, texts are held out."""
    bad: Literal["skip", "refuse"] = "skip"
    """What to do with a bad line: skip and count it, or stop."""
    max_length: int = 512
    """Tokens that are read of a text; the rest of a longer one is left out."""
    license: str = "unknown"
    """The license of the data, for the model card."""
    languages: tuple[str, ...] = ()
    """Codes of its languages, such as ["es"], for the model card."""
    hold_out: Fractions = field(default_factory=lambda: Fractions(valid=0.1, test=0.1))
    """How much to hold out where no file is named."""

    def __post_init__(self) -> None:
        check_least(self, 1, "size", "max_length")
        check_alone(self.corpus, self.more)
        check_languages(self.languages)

    @property
    def name(self) -> str:
        """What the data is called in a model card."""
        return ", ".join([self.corpus, *self.more])


@dataclass(frozen=True, kw_only=True)
class ClassifyTrain(TokenTrain):
    """How long, how fast, and what to keep."""

    metric: Literal["loss", "accuracy", "macro_f1"] = "loss"


@dataclass(frozen=True, kw_only=True)
class ClassifyConfig:
    """A run: data, tokenizer, classifier and training."""

    data: LabeledData = field(default_factory=LabeledData)
    """Which texts to train and validate on."""
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    """The vocabulary to learn."""
    model: ClassifierSpec = field(default_factory=RecurrentAttentionSpec)
    """What to build."""
    train: ClassifyTrain = field(default_factory=ClassifyTrain)
    """How long, how fast, and what to keep."""


CLASSIFIERS: dict[str, ClassifierSpec] = {
    "tf-idf": TfIdfSpec(),
    "average": AverageSpec(),
    "token-weights": TokenWeightsSpec(),
    "feed-forward": FeedForwardSpec(),
    "rnn": LastStateSpec(cell="rnn"),
    "lstm": LastStateSpec(cell="lstm"),
    "gru": LastStateSpec(cell="gru"),
    "attentive-pooling": AttentivePoolingSpec(),
    "rnn-attention": RecurrentAttentionSpec(cell="rnn"),
    "lstm-attention": RecurrentAttentionSpec(),
    "structured": StructuredSpec(),
    "transformer": TransformerEncoderSpec(),
}


class LabeledSize(NamedTuple):
    """How much there is to train on."""

    texts: int
    words: int


def compose_classifier(chosen: Mapping[str, Any], size: LabeledSize, *, name: str = "") -> ClassifyConfig:
    """Give the settings of a run: those `chosen`, for the rest the preset `name`'s, and what suits the data.

    >>> config = compose_classifier({}, LabeledSize(texts=5_000, words=50_000), name="lstm")
    >>> config.model.kind, config.train.metric, config.tokenizer.kind
    ('last-state', 'loss', 'word')
    """
    below = to_table(find_preset(name, CLASSIFIERS, of="a classifier")) if name else {}
    tables = merge({"model": below}, chosen) if below else dict(chosen)
    read_settings(ClassifyConfig, tables)  # mistakes first
    return read_settings(ClassifyConfig, _defaults(size, tables), tables)


def _defaults(size: LabeledSize, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Take words as tokens, some twenty epochs, and stop where the validation loss no longer falls."""
    train = chosen.get("train", {})
    average = size.words / max(size.texts, 1)
    batch_tokens = chosen_whole(train, "batch_tokens", 1024 if average < 50 else 8192)
    epoch = max(1, round(size.words / (0.9 * batch_tokens)))
    steps = chosen_whole(train, "steps", max(1000, 20 * epoch))
    validate_every = chosen_whole(train, "validate_every", max(10, min(epoch, steps // 5)))
    return {
        "tokenizer": {"kind": "word", "vocabulary_size": 30_000, "min_frequency": 2, "lowercase": True},
        "train": {
            "steps": steps,
            "batch_tokens": batch_tokens,
            "validate_every": validate_every,
            "checkpoint_every": validate_every,
            "keep_checkpoints": 1,
            "log_every": max(1, min(50, steps // 20)),
            "label_smoothing": 0.0,
            "patience": 5,
            "beta2": 0.99,
            "schedule": {"kind": "cosine", "rate": _rate(chosen), "warm_up": max(1, steps // 20), "final": 0.1},
        },
    }


def _rate(chosen: Mapping[str, Any]) -> float:
    """Give recurrent networks and Transformers a lower learning rate than averages."""
    kind = str(chosen.get("model", {}).get("kind", "recurrent-attention"))
    means = dict.fromkeys(("average", "token-weights", "feed-forward", "attentive-pooling"), 5e-3)
    return {**means, "last-state": 1e-3, "transformer-encoder": 5e-4}.get(kind, 2e-3)
