"""A run that trains an aligner: its data, its training, its named models, and what suits the data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from regard.config.align import MaskAlignSpec
from regard.config.checks import check_least, check_shares
from regard.config.read import chosen_whole, merge, read_settings
from regard.config.show import to_table
from regard.config.train import TokenTrain
from regard.data.text.tokenizer_training import TokenizerConfig
from regard.errors import ArgumentError
from regard.tasks.task import find_preset
from regard.tasks.translation.settings import FEW_PAIRS, Data, DataSize, defaults_for

ALIGNERS: dict[str, MaskAlignSpec] = {
    "mask-align-tiny": MaskAlignSpec(
        size=128, num_encoder_layers=2, num_decoder_layers=2, feed_forward_size=256, dropout=0.1
    ),
    "mask-align-small": MaskAlignSpec(),
    "mask-align": MaskAlignSpec(size=512, feed_forward_size=1024),
}
MANY_PAIRS = 1_000_000
"""From so many pairs on, the model of the paper suits."""


@dataclass(frozen=True, kw_only=True)
class AlignTrain(TokenTrain):
    """How long, how fast, and what to keep; and what makes two directions agree."""

    metric: Literal["loss", "agreement"] = "loss"
    valid_sentences: int = 500
    """Pairs linked at a validation, at most; the loss is always that of all."""
    agreement: float = 5.0
    """Weight of the squared difference between the attention of both directions; 0 trains each by itself."""
    entropy: float = 1.0
    """Weight of the entropy of the attention, which makes it decide; 0 is off."""
    even: float = 0.05
    """What is added to each weight before its entropy is taken, lest the first to be large take all."""
    bpe_dropout: float = 0.0
    """Share of merges left out at random, anew in each epoch, for `tokenizer.kind = "bpe"`; 0 is off."""
    guided_alignment: float = 0.0
    """Weight of the loss that draws the attention of both directions to known word links; 0 is off."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_least(self, 1, "valid_sentences")
        check_least(self, 0, "agreement", "entropy", "even", "guided_alignment")
        check_shares(self, "bpe_dropout")


@dataclass(frozen=True, kw_only=True)
class AlignConfig:
    """A run: data, tokenizer, model and training."""

    data: Data = field(default_factory=Data)
    """Which pairs to train and validate on."""
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    """The vocabulary to learn, where data.tokenizer names none."""
    model: MaskAlignSpec = field(default_factory=MaskAlignSpec)
    """What to build."""
    train: AlignTrain = field(default_factory=AlignTrain)
    """How long, how fast, and what to keep."""

    def __post_init__(self) -> None:
        if self.data.links and not self.train.guided_alignment:
            raise ArgumentError(
                "data.links: must be left out for an aligner that learns without links; received "
                f"{self.data.links}. To learn from them: train.guided_alignment=1."
            )
        if self.train.bpe_dropout and not self.data.tokenizer and self.tokenizer.kind != "bpe":
            raise ArgumentError(
                f'train.bpe_dropout: must be 0 for tokenizer.kind = "{self.tokenizer.kind}", which has no merges to '
                f'drop; received {self.train.bpe_dropout:g}. Set tokenizer.kind = "bpe".'
            )


def compose_aligner(chosen: Mapping[str, Any], size: DataSize, *, name: str = "") -> AlignConfig:
    """Give the settings of a run: those `chosen`, for the rest the preset `name`'s, and what suits the data.

    >>> compose_aligner({"train": {"steps": 7}}, DataSize(pairs=1000, words=9000)).train.steps
    7
    """
    named = find_preset(name or suited_aligner(size.pairs), ALIGNERS, of="an aligner")
    tables = merge({"model": to_table(named)}, chosen)
    read_settings(AlignConfig, tables)  # mistakes first
    return read_settings(AlignConfig, _defaults(size, tables), tables)


def suited_aligner(pairs: int) -> str:
    """Name a model for so many pairs.

    >>> suited_aligner(10_000), suited_aligner(200_000), suited_aligner(2_000_000)
    ('mask-align-tiny', 'mask-align-small', 'mask-align')
    """
    if pairs < FEW_PAIRS // 4:
        return "mask-align-tiny"
    return "mask-align-small" if pairs < MANY_PAIRS else "mask-align"


def _defaults(size: DataSize, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Give what suits a translator on this data, but for the tokens, which are of lower case, and the rate."""
    below = defaults_for(size, {**chosen, "model": {}})
    below["tokenizer"] |= {"lowercase": True}
    wide = chosen_whole(chosen.get("model", {}), "size", 0)
    below["train"]["schedule"] |= {"rate": 5e-4 if wide > 256 else 1e-3 if wide > 128 else 2e-3}
    return below
