"""Everything a run is made of, in one value: what config.toml holds."""

from dataclasses import dataclass, field

from regard.config.data import Data
from regard.config.model import ModelSpec, RecurrentSpec
from regard.config.train import Train
from regard.data.text.tokenizer_training import TokenizerConfig
from regard.errors import ArgumentError


@dataclass(frozen=True, kw_only=True)
class Config:
    """A run: data, tokenizer, model and training."""

    data: Data = field(default_factory=Data)
    """Which pairs to train and validate on."""
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    """The vocabulary to learn, where data.tokenizer names none."""
    model: ModelSpec = field(default_factory=RecurrentSpec)
    """What to build."""
    train: Train = field(default_factory=Train)
    """How long, how fast, and what to keep."""

    def __post_init__(self) -> None:
        if self.train.metric not in ("bleu", "chrf", "loss"):
            raise ArgumentError(
                f"train.metric: must be bleu, chrf or loss for a translator; received {self.train.metric}."
            )
        if self.train.bpe_dropout and not self.data.tokenizer and self.tokenizer.kind != "bpe":
            raise ArgumentError(
                f'train.bpe_dropout: must be 0 for tokenizer.kind = "{self.tokenizer.kind}", which has no merges to '
                f'drop; received {self.train.bpe_dropout:g}. Set tokenizer.kind = "bpe".'
            )
        if self.train.bpe_dropout and self.train.guided_alignment:
            raise ArgumentError(
                "train.guided_alignment: must be 0 with train.bpe_dropout, under which tokens change in every epoch "
                f"and links with them; received {self.train.guided_alignment:g}."
            )
