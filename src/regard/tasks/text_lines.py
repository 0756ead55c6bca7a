r"""The lines of a stream of bytes, as they come: a line ends at "\n" and nowhere else, and none is ever lost.

Unlike a corpus to learn from (`regard.data.formats.lines`), where a broken line is left out, every line has its answer
here.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol, runtime_checkable

LONGEST = 1 << 20
"""Bytes that are kept of one line."""
_BLOCK = 1 << 16
_ESCAPED = re.compile("[\udc80-\udcff]")


@runtime_checkable
class ByteStream(Protocol):
    """What bytes come from: a file opened with "rb", a pipe, `io.BytesIO`."""

    def read1(self, size: int = ..., /) -> bytes:
        """Give what is there, at most `size`; wait where there is nothing; nothing means the end."""


@runtime_checkable
class ByteSink(Protocol):
    """Where bytes go."""

    def write(self, content: bytes, /) -> int:
        """Take some."""

    def flush(self) -> None:
        """Hand on what was taken."""


class RawLine(NamedTuple):
    """A line before its bytes are understood."""

    content: bytes
    """Without its end, and at most `LONGEST` bytes of it."""
    size: int
    """How many bytes it has, with its end."""


class TextLine(NamedTuple):
    """A line of text."""

    text: str
    broken: int
    """Bytes that were not UTF-8; U+FFFD stands in their place."""
    shortened: bool
    """Whether it had more than `LONGEST` bytes."""


def split_lines(stream: ByteStream, *, longest: int = LONGEST) -> Iterator[list[RawLine]]:
    """Give the lines that are there, in lists, each as soon as its end has come; the last needs none.

    Of a slow stream a list has a line, of a quick one as many as 64 KiB hold. Memory is bounded, whatever the stream.
    """
    held, size = bytearray(), 0
    while block := stream.read1(_BLOCK):
        *ended, rest = block.split(b"\n")
        result = []
        for piece in ended:
            held += piece[: longest - len(held)]
            result.append(RawLine(bytes(held), size + len(piece) + 1))
            held.clear()
            size = 0
        held += rest[: longest - len(held)]
        size += len(rest)
        if result:
            yield result
    if size:
        yield [RawLine(bytes(held), size)]


def gather_lines(
    lines: Iterable[list[RawLine]], *, most_lines: int, most_bytes: int = LONGEST
) -> Iterator[list[RawLine]]:
    """Put lines together until there are `most_lines`, or `most_bytes`: always the same for the same lines."""
    held: list[RawLine] = []
    size = 0
    for some in lines:
        for line in some:
            held.append(line)
            size += len(line.content)
            if len(held) >= most_lines or size >= most_bytes:
                yield held
                held, size = [], 0
    if held:
        yield held


def understand(line: RawLine, *, first: bool = False) -> TextLine:
    r"""Decode a line. A "\r" at its end is not part of it, nor is a byte-order mark at the start of the `first`.

    >>> understand(RawLine(b"caf\xe9\r", 6))
    TextLine(text='caf�', broken=1, shortened=False)
    """
    shortened = line.size > len(line.content) + 1
    content = line.content if shortened else line.content.removesuffix(b"\r")
    if first:
        content = content.removeprefix(codecs.BOM_UTF8)
    try:
        return TextLine(content.decode(), 0, shortened)
    except UnicodeDecodeError:
        # A line that was shortened may end inside a character, which is not broken: wait for the rest of it.
        decoder = codecs.getincrementaldecoder("utf-8")(errors="surrogateescape")
        escaped = decoder.decode(content, final=not shortened)
        replaced = codecs.getincrementaldecoder("utf-8")(errors="replace").decode(content, final=not shortened)
        return TextLine(replaced, len(_ESCAPED.findall(escaped)), shortened)
