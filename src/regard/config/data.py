"""Where the sentence pairs come from: plain values, with their help under each field."""

from dataclasses import dataclass, field
from typing import Literal

from regard.data.corpora.cleaning import Cleaning
from regard.data.corpora.split import Fractions
from regard.errors import ArgumentError


@dataclass(frozen=True, kw_only=True)
class Data:
    """Which pairs to train and validate on."""

    corpus: str = ""
    """A TSV, JSON Lines, TMX or Parquet file, a folder, builtin:es-en, or hf:NAME from the Hugging Face hub."""
    source: str = ""
    """A plain file of source sentences, one a line, instead of `corpus`."""
    target: str = ""
    """The plain file of their translations."""
    source_column: str = ""
    """Column, key or language of the source in `corpus`, where it cannot be guessed."""
    target_column: str = ""
    """Column, key or language of the target."""
    subset: str = ""
    """Configuration of a data set of the Hugging Face hub."""
    links: str = ""
    """A file of word links, one line a pair, such as 0-0 1-2, for `train.guided_alignment`."""
    valid: str = ""
    """A corpus to validate on; without one, pairs are held out."""
    valid_source: str = ""
    """A plain file to validate on, instead of `valid`."""
    valid_target: str = ""
    """The plain file of its translations."""
    size: int = 10_000
    """Pairs drawn from a built-in corpus."""
    seed: int = 0
    """Which pairs are drawn from a built-in corpus."""
    bad: Literal["skip", "refuse"] = "skip"
    """What to do with a bad line: skip and count it, or stop."""
    tokenizer: str = ""
    """A tokenizer.json to use instead of learning one."""
    license: str = "unknown"
    """The license of the data, for the model card."""
    clean: Cleaning = field(default_factory=Cleaning)
    """Which pairs to leave out."""
    hold_out: Fractions = field(default_factory=Fractions)
    """How much to hold out where there is no `valid`."""

    def __post_init__(self) -> None:
        if bool(self.source) != bool(self.target) or bool(self.valid_source) != bool(self.valid_target):
            raise ArgumentError("`source` and `target` must be given together; received one of them. Give both files.")
        if self.corpus and self.source:
            raise ArgumentError(
                f"The data must be either one corpus or two plain files; received both {self.corpus} and {self.source}."
            )
        if not 10 <= self.size <= 1_000_000:
            raise ArgumentError(f"`size` must be from 10 to 1,000,000; received {self.size:,}.")

    @property
    def name(self) -> str:
        """What the data is called in a model card."""
        return self.corpus or f"{self.source} + {self.target}"
