"""Word links in files, one line for each sentence pair: `0-0 1-2 2?3`, source before target.

`-` is a sure link; `?`, or `p` as in some gold sets, a possible one. Files that count words from 1 have the same
form. Read as if they counted from 0, every link shifts; where the numbers show it, the file is refused.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from regard.data.corpora.pair import Link
from regard.data.formats.lines import read_lines
from regard.data.formats.records import BadLine
from regard.errors import ArgumentError, DataError, brief

Base: TypeAlias = Literal[0, 1]
Links: TypeAlias = tuple[Link, ...]

_LINK = re.compile(r"([0-9]{1,9})([-?p])([0-9]{1,9})")


class Lengths(NamedTuple):
    """How many words a pair has on each side."""

    source: int
    target: int


def format_links(links: Iterable[Link]) -> str:
    """Write the links of a pair as a line, in order.

    >>> format_links([Link(1, 2, sure=False), Link(0, 0, sure=True)])
    '0-0 1?2'
    """
    return " ".join(map(str, sorted(links)))


def write_links(path: Path, alignments: Iterable[Iterable[Link]]) -> None:
    """Write one line for each pair, counted from 0."""
    path.write_text("".join(f"{format_links(links)}\n" for links in alignments), encoding="utf-8")


def parse_links(line: str, *, place: str) -> Links:
    """Read one line; a link given twice is sure if it is once.

    >>> parse_links("0-0 1?2 1p1", place="line 1")
    (Link(source=0, target=0, sure=True), Link(source=1, target=2, sure=False), Link(source=1, target=1, sure=False))
    """
    result: dict[tuple[int, int], bool] = {}
    for item in line.split():
        read = _LINK.fullmatch(item)
        if read is None:
            raise DataError(f"{place}: a link must be such as 0-2 or 0?2; received {brief(item)!r}.")
        where = int(read[1]), int(read[3])
        result[where] = read[2] == "-" or result.get(where, False)
    return tuple(Link(source, target, sure) for (source, target), sure in result.items())


def read_links(
    path: Path,
    *,
    base: Base | None = None,
    lengths: Sequence[Lengths] | None = None,
    swapped: bool = False,
    bad: Literal["refuse", "drop"] = "refuse",
    argument: str = "base",
) -> list[Links]:
    """Read a file of links, and give them counted from 0.

    - `base`: what the file counts from. By default 0, unless the file betrays that it counts from 1: then it is
      refused. It does where no link says 0 and some link says exactly as many words as the sentence has.
    - `lengths`: how many words each pair has, so that links beyond them are refused, or with `bad="drop"` left out.
    - `swapped`: the file has the target before the source, as aligners write that work in the other direction.
    - `argument`: what `base` is called where the user set it, for the error.
    """
    if base not in (None, 0, 1):
        raise ArgumentError(f"`{argument}` must be 0 or 1, what the first word is called; received {base}.")
    links = [_parse(line, path, number) for number, line in enumerate(read_lines(path), start=1)]
    if swapped:
        links = [tuple(Link(target, source, sure) for source, target, sure in line) for line in links]
    if lengths is not None and len(links) != len(lengths):
        raise DataError(
            f"{path} must have one line for each of the {len(lengths):,} pairs; received {len(links):,}. "
            "Has a line been lost, or does it belong to other sentences?"
        )
    if base is None and lengths is not None:
        _refuse_other_base(links, lengths, path, argument)
    if base == 1:
        links = [_count_from_0(line, path, number, argument) for number, line in enumerate(links, start=1)]
    return links if lengths is None else _within(links, lengths, path, bad, base or 0)


def has_zero(alignments: Iterable[Links]) -> bool:
    """Return whether any link names word 0, which proves that words are counted from 0."""
    return any(link.source == 0 or link.target == 0 for links in alignments for link in links)


def _parse(line: str | BadLine, path: Path, number: int) -> Links:
    if isinstance(line, BadLine):
        raise DataError(str(line))
    return parse_links(line, place=f"{path}, line {number}")


def _refuse_other_base(links: Sequence[Links], lengths: Sequence[Lengths], path: Path, argument: str) -> None:
    if has_zero(links):
        return
    for number, (line, (source, target)) in enumerate(zip(links, lengths, strict=True), start=1):
        for link in line:
            if link.source == source or link.target == target:
                raise DataError(
                    f"{path} must count words from 0; received no 0 anywhere, and {link} in line {number}, of {source} "
                    f"and {target} words: it seems to count from 1. Set `{argument}=1`."
                )


def _count_from_0(links: Links, path: Path, number: int, argument: str) -> Links:
    for link in links:
        if link.source == 0 or link.target == 0:
            raise DataError(
                f"{path}, line {number}: links must count from 1, as `{argument}=1` says; received {link}. "
                f"The file counts from 0: `{argument}=0`."
            )
    return tuple(Link(source - 1, target - 1, sure) for source, target, sure in links)


def _within(
    links: Sequence[Links], lengths: Sequence[Lengths], path: Path, bad: Literal["refuse", "drop"], base: int
) -> list[Links]:
    kept = []
    for number, (line, (source, target)) in enumerate(zip(links, lengths, strict=True), start=1):
        inside = tuple(link for link in line if link.source < source and link.target < target)
        if len(inside) < len(line) and bad == "refuse":
            first = next(link for link in line if link not in inside)
            written = Link(first.source + base, first.target + base, first.sure)
            raise DataError(
                f"{path}, line {number}: links must stay within {source} source and {target} target words; received "
                f"{written}. Are the sides exchanged, or the words counted in another way?"
            )
        kept.append(inside)
    return kept
