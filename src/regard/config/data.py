"""Where the sentence pairs come from: plain values, with their help under each field."""

from dataclasses import dataclass, field
from typing import Literal

from regard.config.data_files import DataName, DataNames, FileName
from regard.data.corpora.catalogue import check_alone
from regard.data.corpora.cleaning import Cleaning
from regard.data.corpora.split import Fractions
from regard.errors import ArgumentError


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
