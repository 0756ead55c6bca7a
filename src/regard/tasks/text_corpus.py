"""Running text from files and folders: read line by line, divided into training, validation and test."""

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.config.language import TextData
from regard.data.lines import read_lines
from regard.data.records import BadLine
from regard.data.special import END, UNKNOWN
from regard.data.text_tokenizer import TextTokenizer
from regard.data.token_stream import TokenStream
from regard.errors import DataError

_AT_ONCE = 4096
"""Lines encoded at once."""
_COUNTED = 1 << 22
"""Tokens counted at once."""
Count = Callable[[str, int], None]


class TextSize(NamedTuple):
    """How long a text is."""

    lines: int
    characters: int
    """Line breaks included."""
    bytes: int
    """Of UTF-8, line breaks included."""


@dataclass(frozen=True, eq=False)
class Text:
    """Lines that can be read again and again; `stays` tells which of the files' lines are meant, None all."""

    paths: tuple[Path, ...] = ()
    stays: NDArray[np.bool_] | None = None
    lines: tuple[str, ...] = ()
    """Lines that are in no file."""

    def __iter__(self) -> Iterator[str]:
        """Give one line after the other."""
        every = (_good(line) for path in self.paths for line in read_lines(path))
        yield from every if self.stays is None else compress(every, self.stays)
        yield from self.lines

    @cached_property
    def size(self) -> TextSize:
        """How long it is, by reading it."""
        lines = characters = size = 0
        for line in self:
            lines, characters, size = lines + 1, characters + len(line) + 1, size + len(line.encode()) + 1
        return TextSize(lines, characters, size)


@dataclass(frozen=True, kw_only=True, eq=False)
class TextCorpus:
    """What to train on, to validate on, and to test with, if there is a test."""

    train: Text
    valid: Text
    test: Text | None
    fingerprint: str


def gather_text(data: TextData, *, count: Count | None = None) -> TextCorpus:
    """Find the files, and hold out what is to be held out."""
    if not data.text:
        raise DataError("data.text: must name a text file or a folder of them; received nothing. Give --data.")
    paths = find_files(Path(data.text))
    digest, lengths = hashlib.sha256(), array("q")
    for line in counted(Text(paths), "reading the text", count):
        digest.update(line.encode() + b"\n")
        lengths.append(len(line) + 1)
    if data.valid:
        train, valid = Text(paths), Text(find_files(Path(data.valid)))
    else:
        held_out = _held_out(np.frombuffer(lengths, dtype=np.int64), data)
        train, valid = Text(paths, ~held_out), Text(paths, held_out)
    test = Text(find_files(Path(data.test))) if data.test else None
    for name, text in (("train on", train), ("validate on", valid), ("test with", test)):
        if text is not None and not any(line.strip() for line in text):
            raise DataError(f"The text to {name} must have at least one word; received none. Check data.")
    return TextCorpus(train=train, valid=valid, test=test, fingerprint=digest.hexdigest())


def find_files(path: Path) -> tuple[Path, ...]:
    """Give the file, or the files of the folder, hidden ones left out, by their names."""
    if not path.is_dir():
        return (path,)
    files = sorted(one for one in path.rglob("*") if one.is_file() and not one.name.startswith("."))
    if not files:
        raise DataError(f"{path} must hold text files; received an empty folder.")
    return tuple(files)


def _held_out(lengths: NDArray[np.int64], data: TextData) -> NDArray[np.bool_]:
    """Choose lines: those beyond a share of the characters, or blocks of them by lot."""
    if data.hold_out <= 0:
        raise DataError("data.hold_out: must be above 0 where data.valid names no text; received 0.")
    if data.division == "end":
        beyond: NDArray[np.bool_] = np.cumsum(lengths) > (1 - data.hold_out) * lengths.sum()
        return beyond
    blocks = -(-len(lengths) // data.block_lines)
    order = np.random.default_rng(blocks).permutation(blocks)
    chosen = np.isin(np.arange(blocks), order[: max(1, round(blocks * data.hold_out))])
    return np.repeat(chosen, data.block_lines)[: len(lengths)]


def counted(lines: Iterable[str], doing: str, count: Count | None) -> Iterator[str]:
    """Give the lines, and tell `count` now and then how many there were."""
    for number, line in enumerate(lines, start=1):
        if count is not None and number % _AT_ONCE == 0:
            count(doing, number)
        yield line


def encode_text(
    text: Iterable[str], tokenizer: TextTokenizer, *, file: TokenStream | None = None, mark: str = ""
) -> NDArray[np.int32]:
    """Give the tokens of a text, after a first `</s>`, from which its first token is predicted.

    With a `file` they are kept there and mapped into memory; one that is whole and has this `mark` is not made anew.
    """
    if file is None:
        return np.concatenate([*_portions(text, tokenizer)])
    found = file.open(mark=mark)
    if found is None:
        file.write(_portions(text, tokenizer), mark=mark)
        found = file.open(mark=mark)
    assert found is not None
    return found


def count_tokens(tokens: NDArray[np.integer], vocabulary_size: int) -> NDArray[np.int64]:
    """Count how often each token comes, a portion at a time.

    >>> count_tokens(np.array([1, 1, 3]), 4)
    array([0, 2, 0, 1])
    """
    counts = np.zeros(vocabulary_size, dtype=np.int64)
    for first in range(0, len(tokens), _COUNTED):
        counts += np.bincount(tokens[first : first + _COUNTED], minlength=vocabulary_size)
    return counts


def count_unknown(tokens: NDArray[np.integer]) -> int:
    """Count tokens that are not in the vocabulary."""
    return int((tokens == UNKNOWN).sum())


def _portions(text: Iterable[str], tokenizer: TextTokenizer) -> Iterator[NDArray[np.int32]]:
    yield np.array([END], dtype=np.int32)
    portion: list[str] = []
    for line in text:
        portion.append(line)
        if len(portion) == _AT_ONCE:
            yield tokenizer.encode_lines(portion).values
            portion = []
    yield tokenizer.encode_lines(portion).values


def _good(line: str | BadLine) -> str:
    if isinstance(line, BadLine):
        raise DataError(f"{line} Convert the file to UTF-8 first.")
    return line
