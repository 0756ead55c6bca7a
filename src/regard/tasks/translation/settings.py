"""A run on sentence pairs: its data, its training, and what suits the data where nothing is chosen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from regard.config.checks import check_least, check_shares
from regard.config.data_files import DataName, DataNames, FileName
from regard.config.model import ModelSpec, RecurrentSpec
from regard.config.read import chosen_whole, merge, read_settings
from regard.config.show import to_table
from regard.config.train import TokenTrain
from regard.data.corpora.catalogue import check_alone
from regard.data.corpora.cleaning import Cleaning
from regard.data.corpora.split import Fractions
from regard.data.text.tokenizer_training import TokenizerConfig
from regard.errors import ArgumentError
from regard.evaluation.scoring import ChosenCase, ChosenTokenize
from regard.tasks.translation.presets import named_model

FEW_PAIRS = 200_000
"""Below so many pairs the smallest Transformer suits, or, without a GPU, a recurrent model."""


@dataclass(frozen=True, kw_only=True)
class Data:
    """Which pairs to train and validate on."""

    corpus: DataName = ""
    """A TSV, CSV, JSON Lines, TMX or Parquet file, a folder or a pattern of them such as parts/*.tsv, builtin:es-en, or
    hf:NAME from the Hugging Face hub."""
    more: DataNames = ()
    """More files, folders or patterns of the same corpus: --data once more."""
    source: DataName = ""
    """A plain file of source sentences, one a line, instead of `corpus`."""
    target: DataName = ""
    """The plain file of their translations."""
    source_column: str = ""
    """Column, key or language of the source in `corpus`, where it cannot be guessed."""
    target_column: str = ""
    """Column, key or language of the target."""
    subset: str = ""
    """Configuration of a data set of the Hugging Face hub."""
    links: DataName = ""
    """A file of word links, one line a pair, such as 0-0 1-2, for `train.guided_alignment`."""
    valid: DataName = ""
    """A corpus to validate on; without one, pairs are held out."""
    valid_source: DataName = ""
    """A plain file to validate on, instead of `valid`."""
    valid_target: DataName = ""
    """The plain file of its translations."""
    test: DataName = ""
    """A corpus to test with; without one, and without one to validate on, pairs are held out."""
    test_source: DataName = ""
    """A plain file to test with, instead of `test`."""
    test_target: DataName = ""
    """The plain file of its translations."""
    size: int = 10_000
    """Pairs drawn from a built-in corpus."""
    seed: int = 0
    """Which pairs are drawn from a built-in corpus."""
    bad: Literal["skip", "refuse"] = "skip"
    """What to do with a bad line: skip and count it, or stop."""
    tokenizer: FileName = ""
    """A tokenizer.json to use instead of learning one."""
    license: str = "unknown"
    """The license of the data, for the model card."""
    clean: Cleaning = field(default_factory=Cleaning)
    """Which pairs to leave out."""
    hold_out: Fractions = field(default_factory=Fractions)
    """How much to hold out where there is no `valid`; nothing to test with where there is `test`."""

    def __post_init__(self) -> None:
        files = (self.source, self.target), (self.valid_source, self.valid_target), (self.test_source, self.test_target)
        if any(bool(source) != bool(target) for source, target in files):
            raise ArgumentError("`source` and `target` must be given together; received one of them. Give both files.")
        if self.corpus and self.source:
            raise ArgumentError(
                f"The data must be either one corpus or two plain files; received both {self.corpus} and {self.source}."
            )
        check_alone(self.corpus, self.more)
        if not 10 <= self.size <= 1_000_000:
            raise ArgumentError(f"`size` must be from 10 to 1,000,000; received {self.size:,}.")

    @property
    def name(self) -> str:
        """What the data is called in a model card."""
        return ", ".join([self.corpus, *self.more]) if self.corpus else f"{self.source} + {self.target}"


@dataclass(frozen=True, kw_only=True)
class TranslationTrain(TokenTrain):
    """How long, how fast, and what to keep; and what helps translators."""

    metric: Literal["bleu", "chrf", "loss"] = "bleu"
    valid_sentences: int = 500
    """Sentences translated at a validation, at most; the loss is always that of all."""
    tokenize: ChosenTokenize = "auto"
    """What BLEU's words are: 13a of plain text, none of tokenized text, which auto finds out; or words, intl, char,
    zh."""
    case: ChosenCase = "auto"
    """Whether case counts in BLEU and chrF: mixed, or lower, without it; auto is lower for lower-cased vocabularies."""
    samples: int = 3
    """Sentences whose translation is shown at each validation."""
    r_drop: float = 0.0
    """Weight of R-Drop: two passes with different dropout should agree; 0 is off, 5 is the paper's."""
    bpe_dropout: float = 0.0
    """Share of merges left out at random, anew in each epoch, for `tokenizer.kind = "bpe"`; 0 is off."""
    guided_alignment: float = 0.0
    """Weight of the loss that draws the attention to known word links; 0 is off."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, 1, "valid_sentences")
        check_least(self, 0, "samples", "r_drop", "guided_alignment")
        check_shares(self, "bpe_dropout")


@dataclass(frozen=True, kw_only=True)
class Config:
    """A run: data, tokenizer, model and training."""

    data: Data = field(default_factory=Data)
    """Which pairs to train and validate on."""
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    """The vocabulary to learn, where data.tokenizer names none."""
    model: ModelSpec = field(default_factory=RecurrentSpec)
    """What to build."""
    train: TranslationTrain = field(default_factory=TranslationTrain)
    """How long, how fast, and what to keep."""

    def __post_init__(self) -> None:
        if self.train.bpe_dropout and not self.data.tokenizer and self.tokenizer.kind != "bpe":
            raise ArgumentError(
                f'train.bpe_dropout: must be 0 for tokenizer.kind = "{self.tokenizer.kind}", which has no merges to '
                f'drop; received {self.train.bpe_dropout:g}. Set tokenizer.kind = "bpe".'
            )


class DataSize(NamedTuple):
    """How much there is to train on."""

    pairs: int
    words: int
    """Words of the targets, as white space divides them."""
    vocabulary: int = 0
    """Different words of the targets, where they were counted."""
    builtin: bool = False
    """Whether it is a built-in corpus: a few hundred words, all of them frequent, with links from word to word."""
    linked: bool = False
    """Whether word links are known."""

    @property
    def tokens(self) -> int:
        """About how many target tokens: subwords and marks make 1.4 of a word."""
        return int(self.words * (1.2 if self.builtin else 1.4)) + self.pairs


def compose(chosen: Mapping[str, Any], size: DataSize, *, name: str = "") -> Config:
    """Give the settings of a run on data of this `size`: those `chosen`, and for the rest the preset `name`'s.

    Without a name the model is a Transformer as large as the data allows, unless one is chosen; see `suited_preset`.

    >>> compose({"train": {"steps": 7}}, DataSize(pairs=1000, words=9000), name="bahdanau").train.steps
    7
    """
    named = name or suited_preset(chosen, size.pairs)
    below = to_table(named_model(named)) if named else {}
    read_settings(Config, {"model": below}, chosen)  # mistakes first
    tokenizer = read_settings(Config, defaults_for(size, chosen), {"tokenizer": chosen.get("tokenizer", {})}).tokenizer
    vocabulary = size.vocabulary if tokenizer.kind == "word" and size.vocabulary else tokenizer.vocabulary_size
    model = to_table(named_model(named, tokens=size.tokens, vocabulary=vocabulary)) if named else {}
    tables = merge({"model": model}, chosen)
    return read_settings(Config, defaults_for(size, tables), tables)


def suited_preset(chosen: Mapping[str, Any], pairs: int, *, gpu: bool = True) -> str:
    """Name a model for so many pairs, unless another kind is chosen.

    Without a GPU, few pairs are learned sooner by a recurrent model: on 20,000 of Tatoeba, at equal time on a CPU,
    `bahdanau` had BLEU 10.7 where the Transformer had 4.1.

    >>> suited_preset({}, 20_000), suited_preset({}, 20_000, gpu=False), suited_preset({}, 1_000_000, gpu=False)
    ('transformer-tiny', 'bahdanau', 'transformer-small')
    """
    model = chosen.get("model", {})
    if isinstance(model, Mapping) and str(model.get("kind", "transformer")) != "transformer":
        return ""
    if pairs < FEW_PAIRS:
        return "transformer-tiny" if gpu or model else "bahdanau"
    return "transformer-small" if pairs < 3_000_000 else "transformer-base"


def defaults_for(size: DataSize, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Give a table of settings for data of this size, to be laid under what the user has `chosen`.

    >>> defaults_for(DataSize(pairs=29_000, words=350_000), {})["train"]["batch_tokens"]
    2048
    """
    train = chosen.get("train", {})
    batch_tokens = chosen_whole(
        train, "batch_tokens", _by(size.pairs, {20_000: 1024, 100_000: 2048, 1_000_000: 4096}, 8192)
    )
    epochs = 6 if size.builtin else _by(size.pairs, {50_000: 15, 500_000: 10, 5_000_000: 5}, 3)
    accumulate = chosen_whole(train, "accumulate", 1)
    steps = int(epochs * size.tokens / (0.9 * batch_tokens * accumulate))  # a tenth is padding
    steps = chosen_whole(train, "steps", min(max(_round(steps), 200), 200_000))
    validate_every = chosen_whole(train, "validate_every", max(50, _round(steps // 15)))
    return {
        "tokenizer": _tokenizer(size),
        "train": {
            "steps": steps,
            "batch_tokens": batch_tokens,
            "validate_every": validate_every,
            "checkpoint_every": min(validate_every, 500),
            "log_every": max(1, min(50, _round(steps // 40))),
            "patience": 5,
            "schedule": {"warm_up": min(4000, max(1, steps // 10)), "rate": _rate(chosen)},
        },
    }


def hold_out_for(pairs: int) -> dict[str, float]:
    """Hold out about 200 pairs of a small corpus, at most a tenth, and at most 2,000 of a large one.

    >>> hold_out_for(1_000), hold_out_for(1_000_000)
    ({'valid': 0.1, 'test': 0.1}, {'valid': 0.002, 'test': 0.002})
    """
    share = round(min(0.1, max(200 / pairs, min(0.02, 2000 / pairs))), 4) if pairs else 0.1
    return {"valid": share, "test": share}


def _tokenizer(size: DataSize) -> dict[str, Any]:
    if size.builtin:
        return {"kind": "word", "joint": False, "min_frequency": 1}
    vocabulary = _by(size.pairs, {3_000: 1000, 30_000: 4000, 300_000: 8000, 3_000_000: 16_000}, 32_000)
    return {"kind": "bpe", "vocabulary_size": vocabulary}


def _rate(chosen: Mapping[str, Any]) -> float:
    model = chosen.get("model", {})
    wide = max(chosen_whole(model, "size", 0), chosen_whole(model, "hidden_size", 0))
    if str(model.get("kind", "recurrent")) == "transformer":
        return 5e-4 if wide > 256 else 2e-3
    return 4e-3 if wide <= 128 else 2e-3 if wide <= 512 else 1e-3


def _by(count: int, limits: dict[int, int], beyond: int) -> int:
    return next((value for limit, value in limits.items() if count < limit), beyond)


def _round(number: int) -> int:
    """Round to two digits, up: 1,234 is 1,300.

    >>> _round(1234), _round(7), _round(200)
    (1300, 7, 200)
    """
    unit: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // unit) * unit
