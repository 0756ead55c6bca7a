"""The sentence pairs of a run: read, cleaned, divided, and counted."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.config.read import read_settings
from regard.data.builtin import corpus as builtin_corpus
from regard.data.corpora.catalogue import check_builtin, held_out_size, is_builtin, license_of
from regard.data.corpora.corpus import AnyCorpus, find_corpus, read_pairs
from regard.data.corpora.pair import Pair, words
from regard.data.corpora.report import Report
from regard.data.corpora.split import TRAIN, Fractions, HeldOut, check_sides, choose_sides
from regard.data.corpora.streamed import Pairs, StreamedPairs
from regard.data.formats.lines import read_lines
from regard.data.formats.paths import is_file, missing_file
from regard.data.formats.pharaoh import Links, parse_links
from regard.data.formats.records import BadLine
from regard.data.text.word_spans import compose
from regard.errors import ArgumentError, DataError
from regard.tasks.translation.first_pass import Intake, pair_bytes
from regard.tasks.translation.settings import Data, DataSize, hold_out_for

IN_MEMORY = 250_000
"""Pairs that are held as they are, about 100 MiB; more are read again from their files whenever they are needed."""


class Corpus(NamedTuple):
    """Pairs to train on, to validate on, and to test with, if any were held out for that."""

    train: Pairs
    valid: list[Pair]
    test: list[Pair]
    data: Data
    """The settings, with the shares that were held out."""
    reports: tuple[Report, ...]

    @property
    def size(self) -> DataSize:
        """How much there is to train on."""
        train = self.train
        if not isinstance(train, StreamedPairs):
            target_words = [pair.target.split() for pair in train]
            words, vocabulary = sum(map(len, target_words)), len(set().union(*target_words))
            linked = any(pair.links for pair in islice(train, 100))
        else:
            words, vocabulary, linked = train.words, train.vocabulary, train.linked
        return DataSize(len(train), words, vocabulary, builtin=is_builtin(self.data.corpus), linked=linked)

    def fingerprint(self) -> str:
        """Give a checksum of all pairs, so that a run goes on with the data it began with or not at all."""
        digest = hashlib.sha256()
        for side in (self.train, self.valid, self.test):
            if isinstance(side, StreamedPairs):
                digest.update(side.digest.encode())
            else:
                for pair in side:
                    digest.update(pair_bytes(pair))
            digest.update(b"\f")
        return digest.hexdigest()


def gather_pairs(
    table: Mapping[str, Any],
    *,
    in_memory: int = IN_MEMORY,
    count: Callable[[int], None] | None = None,
    change: Callable[[Pair], Pair] | None = None,
) -> Corpus:
    """Read what the settings of `data` name, telling `count` now and then how many pairs there are so far.

    Every pair that is read is what `change` makes of it.
    """
    data = read_settings(Data, table, at="data")
    if is_builtin(data.corpus):
        if data.links:
            raise ArgumentError(
                f"data.links: must be left out for a built-in corpus, which has gold links; received {data.links}."
            )
        return _draw(data, change)
    if not data.corpus and not data.source:
        raise ArgumentError(
            "The data must be named; received nothing. Give two plain files, "
            '`source="a.es"` and `target="a.en"`, or one corpus: `data="pairs.tsv"`, `data="builtin:es-en"`.'
        )
    valid, test = _read_held_out(data, change)
    intake = Intake(data.clean, salt=data.hold_out.salt, held_out=[*valid, *test], in_memory=in_memory)
    reading = Report(title="reading")
    intake.read(_read(data, reading, change), count=count)
    reports = (reading, *intake.reports)
    if not len(intake.hashes):
        problems = ", ".join(report.summary() for report in reports if report.dropped) or "nothing was read"
        raise DataError(
            f"{data.name} must have at least one pair to train on; received none: {problems}. Check the files "
            "and the settings of data.clean."
        )
    if valid:
        sides = np.full(len(intake.hashes), TRAIN, dtype=np.int8)
    else:
        below = hold_out_for(len(intake.hashes))
        above = {"test": 0.0} if test else {}
        fractions = read_settings(Fractions, below, table.get("hold_out", {}), above, at="data.hold_out")
        data = read_settings(Data, table, {"hold_out": fractions}, at="data")
        sides = choose_sides(intake.hashes, fractions)
        check_sides(sides, fractions)
    result = intake.divide(sides, lambda: _read(data, Report(), change))
    return Corpus(result.train, valid or result.valid, test or result.test, data, reports)


def _draw(data: Data, change: Callable[[Pair], Pair] | None) -> Corpus:
    """Draw from a built-in corpus."""
    check_builtin(data.corpus, "translate")
    held_out = held_out_size(data.size)
    drawn = (
        builtin_corpus(data.corpus, split="train", size=data.size, seed=data.seed),
        builtin_corpus(data.corpus, split="valid", size=held_out, seed=data.seed),
        builtin_corpus(data.corpus, split="test", size=held_out, seed=data.seed),
    )
    train, valid, test = (list(_changed(pairs, change)) for pairs in drawn)
    named = _read_held_out(data, change)
    if any(named):
        named_pairs = HeldOut([*named[0], *named[1]])
        train = [pair for pair in train if not named_pairs.shares(pair)]
    data = replace(data, license=license_of(data.corpus, data.license))
    return Corpus(train, named[0] or valid, named[1] or test, data, ())


def _read_held_out(data: Data, change: Callable[[Pair], Pair] | None = None) -> tuple[list[Pair], list[Pair]]:
    """Read the pairs to validate on and to test with, as far as files are named; no sentence is among both."""
    valid, test = (list(_changed(_read_side(data, side), change)) for side in ("valid", "test"))
    known = HeldOut(test)
    apart = [pair for pair in valid if not known.shares(pair)]
    if valid and not apart:
        raise DataError(
            "data.valid: must have pairs besides those of data.test; received none of "
            f"{len(valid):,}. Name another file to validate on, or none: then pairs are held out."
        )
    return apart, test


def _read_side(data: Data, side: str) -> list[Pair]:
    """Read the pairs to validate on or to test with, where the settings name some."""
    named = (data.valid, data.valid_source, data.valid_target)
    if side == "test":
        named = (data.test, data.test_source, data.test_target)
    if not any(named):
        return []
    corpus = _find(*named, data, split="validation" if side == "valid" else "test")
    pairs = list(read_pairs(corpus, bad=data.bad))
    if not pairs:
        raise DataError(
            f"{named[0] or named[1]} must hold at least one pair to {'validate on' if side == 'valid' else 'test with'}"
            "; received none. Name another, or none: then pairs are held out."
        )
    return pairs


def _changed(pairs: Iterable[Pair], change: Callable[[Pair], Pair] | None) -> Iterable[Pair]:
    return pairs if change is None else map(change, pairs)


def _read(data: Data, report: Report, change: Callable[[Pair], Pair] | None) -> Iterator[Pair]:
    corpus = _find(data.corpus, data.source, data.target, data, split="train", more=data.more)
    if not data.links:
        return iter(_changed(read_pairs(corpus, bad=data.bad, report=report), change))
    return iter(_changed(_with_links(read_pairs(corpus, bad="refuse", report=report), data.links), change))


def _find(corpus: str, source: str, target: str, data: Data, *, split: str, more: Sequence[str] = ()) -> AnyCorpus:
    if source:
        return find_corpus(source, target)
    return find_corpus(
        corpus,
        more=more,
        source=data.source_column or None,
        target=data.target_column or None,
        split=split,
        configuration=data.subset or None,
    )


def _with_links(pairs: Iterator[Pair], path: str) -> Iterator[Pair]:
    """Read links such as 0-0 1-2 beside the pairs, line by line, so no line may be left out."""
    if not is_file(path):
        raise DataError(f"data.links: {missing_file(Path(path))}")
    lines = read_lines(Path(path))
    for number, (pair, line) in enumerate(zip_longest(pairs, lines), start=1):
        if pair is None or line is None:
            short = "pairs" if pair is None else "lines of links"
            raise DataError(f"{path} must have one line for each pair; received fewer {short}, {number - 1}.")
        if isinstance(line, BadLine):
            raise DataError(str(line))
        links = parse_links(line, place=f"{path}, line {number}")
        _check_links(pair, links, place=f"{path}, line {number}")
        yield Pair(source=pair.source, target=pair.target, links=links)


def _check_links(pair: Pair, links: Links, *, place: str) -> None:
    """Raise where a link is beyond the last word of a side."""
    most = [max((getattr(link, side) for link in links), default=-1) for side in ("source", "target")]
    if all(last < len(text.split()) for last, text in zip(most, (pair.source, pair.target), strict=True)):
        return  # there are no fewer words and marks than words between spaces
    counts = [len(words(compose(text))) for text in (pair.source, pair.target)]
    beyond = next((link for link in links if link.source >= counts[0] or link.target >= counts[1]), None)
    if beyond is not None:
        raise DataError(
            f"{place}: a link must be within the {counts[0]} words and marks of the source and the {counts[1]} of the "
            f"target, counted from 0; received {beyond.source}-{beyond.target}. `regard align --words marks` counts so."
        )
