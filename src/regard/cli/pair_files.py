"""Sentence pairs and gold links, read from files line by line: every line counts, empty ones too."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from regard.errors import ArgumentError, DataError, near_miss

if TYPE_CHECKING:
    from regard.data.corpora.pair import Pair
    from regard.data.formats.pharaoh import Base, Lengths
    from regard.data.text.word_spans import Division


def read_two_files(source: Path, target: Path) -> "list[Pair]":
    """Read two files, line n of one the translation of line n of the other."""
    from regard.data.corpora.pair import Pair

    pairs, counts = [], [0, 0]
    for sides in zip_longest(_read(source), _read(target)):
        counts = [count + (side is not None) for count, side in zip(counts, sides, strict=True)]
        if counts[0] == counts[1]:
            pairs.append(Pair(source=sides[0], target=sides[1]))
    if counts[0] != counts[1]:
        raise DataError(
            f"{target} must have a line for each of the {counts[0]:,} lines of {source}; received {counts[1]:,}. Has a "
            "line been lost?"
        )
    return pairs


def _read(path: Path) -> Iterator[str]:
    from regard.data.formats.lines import read_lines
    from regard.data.formats.records import BadLine

    for line in read_lines(path):
        if isinstance(line, BadLine):
            raise DataError(str(line))
        yield line


def read_division(words: str) -> "Division":
    """Read `--words`."""
    from regard.data.text.word_spans import Division

    known: tuple[Division, ...] = get_args(Division)
    for item in known:
        if item == words:
            return item
    raise ArgumentError(f"`--words` must be {' or '.join(known)}; received {words}.{near_miss(words, known)}")


def read_base(base: int | None, *, flag: str = "--base") -> "Base | None":
    """Read `--base`."""
    match base:
        case None | 0 | 1:
            return base
    raise ArgumentError(f"`{flag}` must be 0 or 1, what the first word is called; received {base}.")


def lengths_of(pairs: "Sequence[Pair]", words: "Division") -> "list[Lengths]":
    """Count the words of each pair."""
    from regard.data.formats.pharaoh import Lengths
    from regard.data.text.word_spans import divide

    return [Lengths(len(divide(pair.source, words)), len(divide(pair.target, words))) for pair in pairs]


def read_gold(pairs: "Sequence[Pair]", path: Path, *, base: "Base | None", words: "Division") -> "list[Pair]":
    """Put the links of a file to their pairs."""
    from regard.data.formats.pharaoh import read_links

    links = read_links(path, base=base, lengths=lengths_of(pairs, words))
    return [replace(pair, links=own) for pair, own in zip(pairs, links, strict=True)]
