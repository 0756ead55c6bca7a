"""The sentence pairs of a run: read, cleaned, divided, and counted."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any, NamedTuple

from regard.config.data import Data
from regard.config.defaults import DataSize, hold_out_for
from regard.config.read import read_settings
from regard.data.builtin import corpus as builtin_corpus
from regard.data.cleaning import clean
from regard.data.corpus import AnyCorpus, find_corpus, read_pairs
from regard.data.pair import Link, Pair
from regard.data.report import Report
from regard.data.split import Fractions, drop_leaks, split
from regard.errors import ArgumentError, DataError


class Corpus(NamedTuple):
    """Pairs to train on, to validate on, and to test with, if any were held out for that."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]
    data: Data
    """The settings, with the shares that were held out."""
    reports: tuple[Report, ...]

    @property
    def size(self) -> DataSize:
        """How much there is to train on."""
        said = [pair.target.split() for pair in self.train]
        return DataSize(
            pairs=len(self.train),
            words=sum(map(len, said)),
            vocabulary=len(set().union(*said)),
            builtin=is_builtin(self.data.corpus),
            linked=any(pair.links for pair in self.train[:100]),
        )

    def fingerprint(self) -> str:
        """Give a checksum of all pairs, so that a run goes on with the data it began with or not at all."""
        digest = hashlib.sha256()
        for side in (self.train, self.valid):
            for pair in side:
                digest.update(f"{pair.source}\t{pair.target}\t{' '.join(map(str, pair.links))}\n".encode())
            digest.update(b"\f")
        return digest.hexdigest()


def is_builtin(name: str) -> bool:
    """Say whether a corpus is one of our own."""
    return name.startswith("builtin:")


def gather_pairs(table: Mapping[str, Any]) -> Corpus:
    """Read what the settings of `data` name."""
    data = read_settings(Data, table, at="data")
    if is_builtin(data.corpus):
        held_out = max(20, min(500, data.size // 10))
        train = builtin_corpus(data.corpus, split="train", size=data.size, seed=data.seed)
        valid, test = (
            builtin_corpus(data.corpus, split=side, size=held_out, seed=data.seed) for side in ("valid", "test")
        )
        if data.license == "unknown":
            data = replace(data, license="MIT, as regard itself")
        return Corpus(train, valid, test, data, ())
    if not data.corpus and not data.source:
        raise ArgumentError(
            "The data must be named; received nothing. Give two plain files (--source a.es --target a.en), or one "
            "corpus (--data pairs.tsv, --data builtin:es-en)."
        )
    reading, cleaning = Report(title="reading"), Report(title="cleaning")
    pairs = list(clean(_read(data, reading), data.clean, report=cleaning))
    if not pairs:
        raise DataError(f"The corpus must have at least one pair after cleaning; received none. {cleaning}")
    if data.valid or data.valid_source:
        found = _find(data.valid, data.valid_source, data.valid_target, data, split="validation")
        valid = list(read_pairs(found, bad=data.bad))
        leaks = Report(title="held out for validation")
        return Corpus(list(drop_leaks(pairs, valid, report=leaks)), valid, [], data, (reading, cleaning, leaks))
    chosen = table.get("hold_out", {})
    fractions = read_settings(Fractions, hold_out_for(len(pairs)), chosen, at="data.hold_out")
    data = read_settings(Data, table, {"hold_out": fractions}, at="data")
    return Corpus(*split(pairs, fractions), data, (reading, cleaning))


def _read(data: Data, report: Report) -> Iterator[Pair]:
    found = _find(data.corpus, data.source, data.target, data, split="train")
    if not data.links:
        return read_pairs(found, bad=data.bad, report=report)
    return _with_links(read_pairs(found, bad="refuse", report=report), data.links)


def _find(corpus: str, source: str, target: str, data: Data, *, split: str) -> AnyCorpus:
    if source:
        return find_corpus(source, target)
    return find_corpus(
        corpus,
        source=data.source_column or None,
        target=data.target_column or None,
        split=split,
        configuration=data.subset or None,
    )


def _with_links(pairs: Iterator[Pair], path: str) -> Iterator[Pair]:
    """Read links such as 0-0 1-2 beside the pairs, line by line, so no line may be left out."""
    with open(path, encoding="utf-8") as lines:
        for number, (pair, line) in enumerate(zip_longest(pairs, lines), start=1):
            if pair is None or line is None:
                short = "pairs" if pair is None else "lines of links"
                raise DataError(f"{path} must have one line for each pair; received fewer {short}, {number - 1}.")
            yield Pair(source=pair.source, target=pair.target, links=_parse_links(line, path, number))


def _parse_links(line: str, path: str, number: int) -> tuple[Link, ...]:
    links = []
    for item in line.split():
        for mark, sure in (("-", True), ("?", False)):
            source, found, target = item.partition(mark)
            if found and source.isdecimal() and target.isdecimal():
                links.append(Link(int(source), int(target), sure))
                break
        else:
            raise DataError(f"{path}, line {number}: a link must be such as 0-2 or 0?2; received {item!r}.")
    return tuple(links)
