"""Pairs to evaluate on: those a run held out, made again, or any that are named."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from regard.config.show import to_table
from regard.data.builtin import Split
from regard.data.builtin import corpus as builtin_corpus
from regard.data.corpora.catalogue import held_out_size, is_builtin
from regard.data.corpora.corpus import find_corpus
from regard.data.corpora.pair import Pair
from regard.data.corpora.report import Report
from regard.data.formats import HuggingFace, SavedDataset
from regard.data.formats.lines import read_lines
from regard.data.formats.paths import is_folder
from regard.data.formats.records import BadLine, Corpus
from regard.errors import ArgumentError, DataError, near_miss
from regard.tasks.translation.data import gather_pairs
from regard.tasks.translation.settings import Config, Data
from regard.training.run_folder import RunFolder

HUB = "hf:"
"""What the name of a dataset on the Hugging Face hub begins with."""
_SIDES = ("test", "valid", "train")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which pairs to evaluate on; nothing for those that the run held out."""

    corpus: str = ""
    """A corpus: file, folder, hf:NAME for a data set of the Hugging Face hub, or builtin:es-en."""
    source: str = ""
    """A plain file of source sentences, one a line, instead of `corpus`."""
    target: str = ""
    """The plain file of their references."""
    split: str = ""
    """Which part of the run's data, of a dataset, or of a built-in corpus, there several with commas: test,long."""
    size: int = 500
    """Pairs drawn from each split of a built-in corpus that is not the run's own test."""
    seed: int = 0
    """Which pairs are drawn from a built-in corpus."""
    source_column: str = ""
    """Column, key or language of the source in `corpus`, where it cannot be guessed."""
    target_column: str = ""
    """Column, key or language of the target."""
    trust: bool = False
    """Open the files, or fetch the dataset, that the run's config.toml names, although it was not made here."""

    def __post_init__(self) -> None:
        Data(corpus=self.corpus, source=self.source, target=self.target)  # which refuses both, and half of two files
        if self.source and self.split:
            raise ArgumentError(f"`split` must be left out with two plain files; received {self.split}.")


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldOut:
    """Pairs to evaluate on, and which they are."""

    pairs: list[Pair]
    name: str
    report: Report | None = None
    """What was left out on reading."""
    lines: tuple[int, ...] = ()
    """Which line of its file each pair was, from 0, where lines were left out."""

    @property
    def sources(self) -> list[str]:
        """What to translate."""
        return [pair.source for pair in self.pairs]

    @property
    def references(self) -> list[str]:
        """What it should become."""
        return [pair.target for pair in self.pairs]

    @property
    def fingerprint(self) -> str:
        """The start of a checksum of all pairs: two evaluations with the same can be compared."""
        digest = hashlib.sha256(json.dumps([[pair.source, pair.target] for pair in self.pairs]).encode())
        return digest.hexdigest()[:12]


def find_held_out(choice: Choice, run: str | Path | None = None) -> HeldOut:
    """Read the pairs that are named, or make again those that the run held out."""
    if choice.source:
        return _read(find_corpus(choice.source, choice.target), f"{choice.source} + {choice.target}")
    if is_builtin(choice.corpus):
        return _draw(Data(corpus=choice.corpus, seed=choice.seed), choice)
    if choice.corpus:
        result = find_corpus(
            choice.corpus,
            source=choice.source_column or None,
            target=choice.target_column or None,
            split=choice.split or "test",
        )
        if choice.split and not isinstance(result, HuggingFace | SavedDataset) and not is_folder(choice.corpus):
            raise ArgumentError(
                f"`split` must be left out with a file, which is read whole; received {choice.split} with "
                f"{choice.corpus}."
            )
        return _read(result, choice.corpus)
    if run is None:
        raise ArgumentError(
            "The test set must be named; received nothing. Give two plain files, "
            '`source="a.es"` and `target="a.en"`, or one corpus: `data="pairs.tsv"`, `data="builtin:es-en"`.'
        )
    return _of_run(run, choice)


def _of_run(run: str | Path, choice: Choice) -> HeldOut:
    folder = run_of(run)
    if folder is None:
        raise ArgumentError(
            f"The test set must be named for a model without its run; {run} has no config.toml beside it. Give "
            "`data`, or `source` and `target`."
        )
    data = folder.read_settings(Config).data
    if is_builtin(data.corpus):
        if choice.split in ("", "test"):
            return HeldOut(pairs=_own_test(data), name=f"{data.corpus}, split test, as in {folder.path}")
        return _draw(data, choice)
    side = choice.split or "test"
    if side not in _SIDES:
        raise ArgumentError(
            f"`split` must be one of {', '.join(_SIDES)} for the data of a run; received {side}."
            f"{near_miss(side, _SIDES)}"
        )
    check_trusted(folder, named_data(data), trust=choice.trust)
    return HeldOut(pairs=_again(folder, data, side), name=f"{data.name.strip(' +')}, {side} pairs of {folder.path}")


def named_data(data: Data) -> list[str]:
    """List what settings of pairs name, files and datasets."""
    held_out = (data.valid, data.valid_source, data.valid_target, data.test, data.test_source, data.test_target)
    sides = (data.corpus, *data.more, data.source, data.target, data.links, *held_out)
    return [name for name in sides if name and not is_builtin(name)]


_INSTEAD = "Name a test set otherwise: `data`, or `source` and `target`."


def check_trusted(folder: RunFolder, names: Sequence[str], *, trust: bool, instead: str = _INSTEAD) -> None:
    """Raise where a run of a stranger would have us open files, and any run fetch a dataset, that nobody has named.

    Who trained here has named its data then; see `RunFolder.made_here`. `instead` says what else can be done.
    """
    fetched = [name for name in names if name.startswith(HUB)]
    if trust or not names or (not fetched and folder.made_here()):
        return
    what = "fetched" if fetched else "opened"
    why = "" if fetched else ", since the run was not made here or has changed since"
    raise DataError(
        f"`trust` must be given before what {folder.config} names is {what}{why}; received none, for "
        f"{', '.join(fetched or names)}. Give it if that is yours: `trust=True`. {instead}"
    )


def _own_test(data: Data) -> list[Pair]:
    """Draw what `gather_pairs` draws to test with, without all it draws to train on; a test holds the two together."""
    return builtin_corpus(data.corpus, split="test", size=held_out_size(data.size), seed=data.seed)


def _again(folder: RunFolder, data: Data, side: str) -> list[Pair]:
    """Read the data of a run again, which must give the same pairs, and take one side of it."""
    try:
        corpus = gather_pairs(to_table(data))
    except (DataError, OSError) as error:
        raise DataError(
            f"The data of {folder.path} must be there again to test on what was held out; received: {error} Name a "
            "test set: `data`, or `source` and `target`."
        ) from error
    fingerprint = corpus.fingerprint()
    if (folder.fingerprint() or fingerprint) != fingerprint:
        raise DataError(
            f"The data of {folder.path} must be what it was trained on; it has changed since, so pairs of the test may "
            "have been seen in training. Put the old data back, or name a test set: `data`, or `source` and `target`."
        )
    pairs = list(getattr(corpus, side))
    if not pairs:
        raise DataError(
            f"The run in {folder.path} must have held out {side} pairs; received none. Name a test set: `data`, or "
            '`source` and `target`; or take the validation pairs: `split="valid"`.'
        )
    return pairs


def run_of(path: str | Path) -> RunFolder | None:
    """Find the run folder that a path is, or whose model folder it is."""
    location = Path(path)
    for folder in (RunFolder(location), RunFolder(location.parent)):
        if folder.config.is_file() and location in (folder.path, folder.model):
            return folder
    return None


def _draw(data: Data, choice: Choice) -> HeldOut:
    splits = [split.strip() for split in (choice.split or "test").split(",")]
    pairs: list[Pair] = []
    for split in splits:
        size = None if split == "lectures" else choice.size
        pairs += builtin_corpus(data.corpus, split=cast(Split, split), size=size, seed=data.seed)
    return HeldOut(pairs=pairs, name=f"{data.corpus}, split {' and '.join(splits)}, seed {data.seed}")


def _read(corpus: Corpus, name: str) -> HeldOut:
    """Read a corpus, leaving out bad lines but remembering which were good."""
    pairs, lines, report = [], [], Report(title="reading")
    first_bad: BadLine | None = None
    for number, record in enumerate(corpus.records()):
        if isinstance(record, Pair):
            report.keep()
            pairs.append(record)
            lines.append(number)
        else:
            report.drop(record.kind, place=record.place, text=record.text or record.received)
            first_bad = first_bad or record
    if not pairs:
        raise DataError(f"The test set must have at least one usable pair; received none. {first_bad or name}")
    return HeldOut(pairs=pairs, name=name, report=report if report.dropped else None, lines=tuple(lines))


def read_hypotheses(path: str | Path, held_out: HeldOut) -> list[str]:
    """Read the output of any system, one line for each pair; lines whose pair was left out are left out too."""
    total = held_out.report.total if held_out.report else len(held_out.pairs)
    texts, count = [], 0
    for line in read_lines(Path(path)):
        if isinstance(line, BadLine):
            raise DataError(f"{line} Hypotheses must be plain text, one line for each source.")
        count += 1
        if count <= total:
            texts.append(line.strip())
    if count == len(held_out.pairs):
        return texts
    if count == total:
        return [texts[number] for number in held_out.lines]
    raise DataError(
        f"{path} must have one line for each of the {total:,} sources; received {count:,}. Is it the output for "
        f"{held_out.name}?"
    )
