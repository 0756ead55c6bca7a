"""One entry of a corpus file: a usable pair, or a bad line that says what is wrong with it."""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from regard.data.corpora.pair import Pair
from regard.data.corpora.report import shorten

BadKind: TypeAlias = Literal["encoding", "columns", "json", "language", "empty"]
"""encoding: not UTF-8, or a NUL or lone surrogate; columns: a column or key is missing, surplus or not text;
json: not JSON; language: a translation unit lacks one; empty: a side is blank."""

_UNUSABLE = re.compile("[\0\ud800-\udfff]")
_BREAK = re.compile(r"[ \t\r]*\n[ \t\r\n]*")


class BadLine(NamedTuple):
    """A line that gives no pair: `<place> must <expected>; received <received>: <text>`."""

    kind: BadKind
    place: str
    expected: str
    received: str
    text: str

    def __str__(self) -> str:
        shown = f": {shorten(self.text)!r}" if self.text else ""
        return f"{self.place} must {self.expected}; received {self.received}{shown}."


Record: TypeAlias = Pair | BadLine


@runtime_checkable
class Corpus(Protocol):
    """Anything that streams records: the formats here, the built-in corpora, or a class of your own."""

    def records(self) -> Iterator[Record]:
        """Start at the beginning and give one record per line, row or translation unit."""
        ...


def make_record(source: object, target: object, place: str) -> Record:
    """Turn two sides as they stand in a file into a pair, or say what is wrong with them.

    White space around a side is stripped, and a line break inside one (JSON, XML and Parquet can hold them) becomes a
    space, so that a side is always one line.

    >>> make_record(" Ein Hund ", "A dog", "train.tsv, line 1")
    Pair(source='Ein Hund', target='A dog', links=())
    >>> print(make_record("Ein Hund", " ", "train.tsv, line 2"))
    train.tsv, line 2 must have text on both sides; received an empty target: 'Ein Hund'.
    """
    if not isinstance(source, str) or not isinstance(target, str):
        side, value = ("target", target) if isinstance(source, str) else ("source", source)
        result = f"a {side} of type {type(value).__name__}"
        shown = str(value) if isinstance(value, int | float) else ""
        return BadLine("columns", place, "have text on both sides", result, shown)
    source, target = _one_line(source), _one_line(target)
    for side, text, other in (("source", source, target), ("target", target, source)):
        if not text:
            return BadLine("empty", place, "have text on both sides", f"an empty {side}", other)
        if (_UNUSABLE.search(text)) is not None:
            return BadLine("encoding", place, "hold no NUL and no lone surrogate", f"one in the {side}", text)
    return Pair(source=source, target=target)


def _one_line(text: str) -> str:
    text = text.strip()
    return _BREAK.sub(" ", text) if "\n" in text else text
