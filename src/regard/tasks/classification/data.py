"""Gather the texts of a run: read, hold out, and keep what is held out from being trained on."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regard.data.builtin.labeled_texts import labeled_texts
from regard.data.corpora.catalogue import check_builtin, held_out_size, is_builtin
from regard.data.corpora.report import Report
from regard.data.corpora.split import Fractions
from regard.data.formats.labeled import (
    Labeled,
    LabeledSplits,
    drop_held_out,
    find_labels,
    number_labels,
    read_labeled,
    split_labeled,
)
from regard.data.formats.paths import is_folder
from regard.data.formats.several import find_in_folder, in_order, match_paths
from regard.data.formats.tables import FORMATS, is_table
from regard.errors import ArgumentError, DataError
from regard.tasks.classification.settings import LabeledData, LabeledSize


@dataclass(frozen=True, kw_only=True)
class Side:
    """Texts with the numbers of their labels."""

    texts: list[str]
    labels: list[int]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, kw_only=True)
class LabeledCorpus:
    """What a classifier is trained, validated and tested on."""

    train: Side
    valid: Side
    test: Side
    labels: tuple[str, ...]
    reports: tuple[Report, ...] = ()

    @property
    def size(self) -> LabeledSize:
        """How much there is to train on."""
        return LabeledSize(texts=len(self.train), words=sum(len(text.split()) for text in self.train.texts))

    def fingerprint(self) -> str:
        """Give a number for all texts and labels, in their order."""
        digest = hashlib.blake2b("\0".join(self.labels).encode(), digest_size=16)
        for side in (self.train, self.valid, self.test):
            for text, label in zip(side.texts, side.labels, strict=True):
                digest.update(f"\0{label}\0{text}".encode(errors="replace"))
            digest.update(b"\1")
        return digest.hexdigest()


def gather_texts(data: LabeledData) -> LabeledCorpus:
    """Read the files that `data` names. A text of a validation or test file is never trained on."""
    if not data.corpus:
        raise ArgumentError(
            "`data` must be a CSV, TSV, JSON Lines or Parquet file of texts and labels, or builtin:opinions; "
            'received nothing. Such as: `data="reviews.csv"`, with '
            '`settings={"data.text": "review", "data.label": "stars"}`.'
        )
    reports: list[Report] = []
    drawn = _draw(data) if is_builtin(data.corpus) else None
    train = drawn.train if drawn else _read([data.corpus, *data.more], data, reports)
    _find_labels(train, reports)  # mistakes first
    valid = _read([data.valid], data, reports, split="validation") if data.valid else drawn.valid if drawn else []
    test = _read([data.test], data, reports, split="test") if data.test else drawn.test if drawn else []
    if valid or test:
        report = Report(title="texts that are held out elsewhere")
        train = drop_held_out(train, [*valid, *test], report=report)
        valid = drop_held_out(valid, test) if test else valid
        reports.append(report)
    sides = _held_out(data)
    if drawn is None and (sides.valid or sides.test):
        split = split_labeled(train, sides)
        train, valid, test = split.train, valid or split.valid, test or split.test
    if not train or not valid:
        raise DataError(
            f"The data must leave texts to train and to validate on; received {len(train):,} and {len(valid):,}. Give "
            "more texts, or change data.hold_out."
        )
    labels = _find_labels(train, reports)
    numbered = [
        Side(texts=[item.text for item in side], labels=number_labels(side, labels, side=name))
        for name, side in (("training", train), ("validation", valid), ("test", test))
    ]
    return LabeledCorpus(
        train=numbered[0], valid=numbered[1], test=numbered[2], labels=tuple(labels), reports=tuple(reports)
    )


def read_measured_texts(source: str, *, text: str, label: str) -> list[Labeled]:
    """Read labeled texts to measure a classifier on: a table, or the test of a built-in corpus."""
    if is_builtin(source):
        return _draw(LabeledData(corpus=source)).test
    records = list(read_labeled(Path(source), text=text, label=label))
    if not records:
        raise DataError(f"{source} must have at least one text with a label; received none.")
    return records


def _draw(data: LabeledData) -> LabeledSplits:
    """Draw a built-in corpus."""
    check_builtin(data.corpus, "classify")
    held_out, seed = held_out_size(data.size), data.seed
    return LabeledSplits(
        labeled_texts(data.corpus, split="train", size=data.size, seed=seed),
        labeled_texts(data.corpus, split="valid", size=held_out, seed=seed),
        labeled_texts(data.corpus, split="test", size=held_out, seed=seed),
    )


def _find_labels(train: list[Labeled], reports: list[Report]) -> list[str]:
    """List the labels; where there are too few, say also which lines were left out."""
    try:
        return find_labels(train)
    except DataError as error:
        left_out = ", ".join(report.summary() for report in reports if report.dropped)
        raise DataError(f"{error} Left out: {left_out}." if left_out else str(error)) from error


def _held_out(data: LabeledData) -> Fractions:
    """Hold out only what no file is given for."""
    return replace(
        data.hold_out,
        valid=0.0 if data.valid else data.hold_out.valid,
        test=0.0 if data.test else data.hold_out.test,
    )


def _read(names: Sequence[str], data: LabeledData, reports: list[Report], *, split: str = "train") -> list[Labeled]:
    """Read the tables that names mean, one after the other."""
    title = ", ".join(names)
    report = Report(title=title)
    texts: list[Labeled] = []
    for path in in_order(table for name in names for table in _find_tables(name, split)):
        texts += read_labeled(path, text=data.text, label=data.label, split=split, bad=data.bad, report=report)
    reports.append(report)
    if not texts:
        because = f" Left out: {report.summary()}." if report.dropped else ""
        raise DataError(f"{title} must have at least one text with a label; received none.{because}")
    return texts


def _find_tables(name: str, split: str) -> list[Path]:
    """Give the tables that a name means; a folder without any stays, and is refused when it is read."""
    return [
        table
        for path in match_paths(name)
        for table in ([path] if is_table(path) else _in_folder(path, split) or [path])
    ]


def _in_folder(path: Path, split: str) -> list[Path]:
    return find_in_folder(path, kinds=FORMATS, split=split) if is_folder(path) else []
