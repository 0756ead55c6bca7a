"""Files of lines, divided into blocks: always the same blocks for the same files, whoever computes them and when.

A block is some chunks of lines, each as `regard translate` of one process would take it. So the output does not depend
on the engine. Several files go side by side: line n of one belongs to line n of the others.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from regard.errors import ArgumentError, DataError
from regard.tasks.text_lines import RawLine, gather_lines, split_lines
from regard.tasks.translation.files import CHUNK_LINES

MOST_BLOCKS = 10_000
"""Blocks of a job, about: a larger file has larger blocks."""
_CHUNK_BYTES = 1 << 17
"""What a chunk of short lines has, about."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """The lines of a block in one of the files."""

    offset: int
    size: int
    digest: str
    """A checksum of the lines."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """Some lines that are computed, and recorded, as one."""

    number: int
    first: int
    """Lines before it."""
    chunks: tuple[int, ...]
    """How many lines each of its chunks has."""
    parts: tuple[Part, ...]
    """Where they are, in each of the files."""

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return sum(self.chunks)

    @property
    def digest(self) -> str:
        """A checksum of what is to be computed."""
        return hashlib.sha256(" ".join(part.digest for part in self.parts).encode()).hexdigest()

    def to_table(self) -> dict[str, Any]:
        """Give plain values."""
        return asdict(self)

    @classmethod
    def from_table(cls, table: dict[str, Any]) -> "Block":
        """Read what `to_table` gave."""
        parts = tuple(Part(**part) for part in table["parts"])
        return cls(number=table["number"], first=table["first"], chunks=tuple(table["chunks"]), parts=parts)


def plan_blocks(paths: Sequence[Path], *, chunk_lines: int = CHUNK_LINES, chunks: int = 0) -> Iterator[Block]:
    """Divide files into blocks of `chunks` chunks; by default as many as make no more than some thousand blocks."""
    chunks = chunks or max(1, paths[0].stat().st_size // (MOST_BLOCKS * _CHUNK_BYTES))
    files = [_Reader(path) for path in paths]
    try:
        yield from _plan(files, chunk_lines, chunks)
    finally:
        for file in files:
            file.close()


def _plan(files: "list[_Reader]", chunk_lines: int, chunks: int) -> Iterator[Block]:
    number = first = 0
    gathered = gather_lines(files[0].lists(), most_lines=chunk_lines)
    for chunk in gathered:
        counts, sides = [len(chunk)], [_Side(file.done) for file in files]
        sides[0].add(chunk)
        while len(counts) < chunks and (chunk := next(gathered, [])):
            counts.append(len(chunk))
            sides[0].add(chunk)
        for file, side in zip(files[1:], sides[1:], strict=True):
            side.add(file.take(sum(counts), files[0].path))
        files[0].done += sides[0].size
        parts = tuple(side.part() for side in sides)
        yield Block(number=number, first=first, chunks=tuple(counts), parts=parts)
        number, first = number + 1, first + sum(counts)
    for file in files[1:]:
        file.check_end(first, files[0].path)


def read_block(paths: Sequence[Path], block: Block) -> list[list[RawLine]]:
    """Read the lines of a block, of each file a list, which must be those that were planned."""
    sides = []
    for path, part in zip(paths, block.parts, strict=True):
        with path.open("rb") as file:
            lines = [line for some in split_lines(_Stretch(file, part)) for line in some]
        side = _Side(part.offset)
        side.add(lines)
        if len(lines) != block.lines or side.part() != part:
            raise DataError(
                f"{path} must stay as it was when the work began; its lines from {block.first + 1:,} on have changed. "
                "Put it back to go on, or begin anew with `overwrite=True`."
            )
        sides.append(lines)
    return sides


def check_input(path: Path) -> None:
    """Raise unless a file can be divided: plain, not compressed, and no pipe."""
    from regard.data.formats.paths import PACKED

    if not path.is_file():
        raise ArgumentError(f"{path} must be a plain file for this engine; received none. Write it to one.")
    if path.suffix in PACKED:
        raise ArgumentError(
            f"{path} must not be compressed for this engine; received {path.suffix}. Decompress it first."
        )


class _Side:
    """Lines of a block in one file, as they come."""

    def __init__(self, offset: int) -> None:
        self.offset, self.size, self._digest = offset, 0, hashlib.sha256()

    def add(self, lines: Sequence[RawLine]) -> None:
        self.size += sum(line.size for line in lines)
        self._digest.update(b"".join([line.content + b"\n" for line in lines]))

    def part(self) -> Part:
        return Part(offset=self.offset, size=self.size, digest=self._digest.hexdigest())


class _Reader:
    """A file of which lines are taken, some at a time."""

    def __init__(self, path: Path) -> None:
        self.path, self.done = path, 0
        self._file = path.open("rb")
        self._lists, self._held = split_lines(self._file), list[RawLine]()

    def close(self) -> None:
        self._file.close()

    def lists(self) -> Iterator[list[RawLine]]:
        return self._lists

    def take(self, count: int, beside: Path) -> list[RawLine]:
        while len(self._held) < count:
            more = next(self._lists, [])
            if not more:
                raise _uneven(self.path, beside, "fewer")
            self._held += more
        lines, self._held = self._held[:count], self._held[count:]
        self.done += sum(line.size for line in lines)
        return lines

    def check_end(self, lines: int, beside: Path) -> None:
        if self._held or next(self._lists, []):
            raise _uneven(self.path, beside, f"more than {lines:,}")


def _uneven(path: Path, beside: Path, received: str) -> DataError:
    return DataError(f"{path} must have a line for each line of {beside}; received {received}. Has a line been lost?")


class _Stretch:
    """Some bytes of a file as a stream, which keeps none of them in memory."""

    def __init__(self, file: BinaryIO, part: Part) -> None:
        self._file, self._left = file, part.size
        file.seek(part.offset, os.SEEK_SET)

    def read1(self, size: int = -1, /) -> bytes:
        content = self._file.read(min(size, self._left) if size >= 0 else self._left)
        self._left -= len(content)
        return content
