"""Running text from files and folders: read line by line, divided into training, validation and test."""

import codecs
import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.builtin.sampling import Split
from regard.data.builtin.stories import stories
from regard.data.corpora.catalogue import check_builtin, held_out_size, is_builtin
from regard.data.corpora.token_stream import TokenStream
from regard.data.formats.compressed import open_decompressed
from regard.data.formats.lines import read_lines
from regard.data.formats.paths import is_file, is_folder, list_folder, open_file
from regard.data.formats.records import BadLine
from regard.data.formats.several import in_order, match_paths
from regard.data.text.special import END, UNKNOWN
from regard.data.text.text_tokenizer import TextTokenizer
from regard.errors import DataError
from regard.tasks.language.settings import TextData

_AT_ONCE = 4096
"""Lines encoded at once."""
_COUNTED = 1 << 22
"""Tokens counted at once."""
_SAMPLE_BYTES = 1 << 16
"""Bytes from which a file is known to be no text."""
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
        return _size(self)


def _size(text: Iterable[str]) -> TextSize:
    lines = characters = size = 0
    for line in text:
        lines, characters, size = lines + 1, characters + len(line) + 1, size + len(line.encode()) + 1
    return TextSize(lines, characters, size)


@dataclass(frozen=True, kw_only=True, eq=False)
class TextCorpus:
    """What to train on, to validate on, and to test with, if there is a test."""

    train: Text
    valid: Text
    test: Text | None
    fingerprint: str
    """Of all the text there is, that of validation and test too."""
    notes: tuple[str, ...] = ()
    """What the user should know of the division."""


def gather_text(data: TextData, *, count: Count | None = None) -> TextCorpus:
    """Find the files, and hold out what is to be held out.

    Files to validate on or to test with are not trained on, though they lie in the folder of the text.
    """
    if not data.text:
        raise DataError(
            "`data` must be a text file, a folder of them, or builtin:stories; received nothing. Such as: "
            '`data="text.txt"`.'
        )
    if is_builtin(data.text):
        return _draw_stories(data)
    result = [
        find_text([data.text, *data.more]),
        *(find_text([name] if name else []) for name in (data.valid, data.test)),
    ]
    held_out = [Text(files.paths) if files.paths else None for files in result[1:]]
    paths, notes = _apart(*(files.paths for files in result))
    notes = (*(files.note for files in result if files.note), *notes)
    lengths = array("q")
    lines = counted(Text(paths), "reading the text", count)
    digests = [_digest(lines, lengths), *(_digest(text) for text in held_out if text is not None)]
    train, (valid, test) = Text(paths), held_out
    if valid is None:
        mask = _held_out(np.frombuffer(lengths, dtype=np.int64), data)
        train, valid = Text(paths, ~mask), Text(paths, mask)
        _check_length(data, train=train, valid=valid)
    for name, text in (("train on", train), ("validate on", valid), ("test with", test)):
        if text is not None and not _has_words(text):
            raise DataError(f"The text to {name} must have at least one word; received none. Check data.")
    return TextCorpus(train=train, valid=valid, test=test, fingerprint="|".join(digests), notes=notes)


def _draw_stories(data: TextData) -> TextCorpus:
    """Draw the built-in text; files to validate on or to test with, where they are named, come before drawn ones."""
    check_builtin(data.text, "language")
    train, valid, test = (
        Text(find_text([name]).paths) if name else Text(lines=tuple(stories(split=split, size=size, seed=data.seed)))
        for split, name, size in _story_sides(data)
    )
    return TextCorpus(train=train, valid=valid, test=test, fingerprint="|".join(map(_digest, (train, valid, test))))


def _story_sides(data: TextData) -> list[tuple[Split, str, int]]:
    held_out = held_out_size(data.size)
    return [("train", "", data.size), ("valid", data.valid, held_out), ("test", data.test, held_out)]


class Files(NamedTuple):
    """Files of text, and others that lay beside them."""

    paths: tuple[Path, ...] = ()
    others: tuple[Path, ...] = ()

    @property
    def note(self) -> str:
        """Return which were left out, if any."""
        return f"Left out, since it is no text: {_named(self.others)}." if self.others else ""


def find_text(names: Sequence[str]) -> Files:
    """Give the files that names mean, patterns such as parts/*.txt and folders too, in the order of their names."""
    files = [find_files(path) for name in names for path in match_paths(name)]
    others = in_order(path for part in files for path in part.others)
    return Files(tuple(in_order(path for part in files for path in part.paths)), tuple(others))


def find_files(path: Path) -> Files:
    """Give the file, or the files of the folder, by their names; hidden ones and those that are no text are left out.

    One that begins with text in another encoding than UTF-8 is kept, so that reading it tells what to do.
    """
    if not is_folder(path):
        return Files((path,))
    list_folder(path)  # which says so where it may not be read
    files = sorted(item for item in path.rglob("*") if is_file(item) and not item.name.startswith("."))
    texts = tuple(item for item in files if _may_be_text(item))
    if not texts:
        received = f"{len(files):,} that are none, such as {files[0].name}" if files else "an empty folder"
        raise DataError(f"{path} must hold text files; received {received}.")
    return Files(texts, tuple(item for item in files if item not in texts))


def _may_be_text(path: Path) -> bool:
    """Read how a file begins: pictures, archives and programs have bytes of zero, which text has in UTF-16 alone."""
    with open_file(path) as raw:
        start = raw.read(4)
    if start.startswith((b"PK\x03\x04", b"%PDF")):
        return False
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return True
    with open_decompressed(path) as stream:
        return b"\0" not in stream.read(_SAMPLE_BYTES)


def _check_length(data: TextData, *, train: Text, valid: Text) -> None:
    """Raise where a text has words, and holding some of it out leaves one side with none."""
    sides = [name for name, text in (("train on", train), ("validate on", valid)) if not _has_words(text)]
    if len(sides) == 1:
        size = train.size.characters + valid.size.characters
        raise DataError(
            f"The text must be long enough to hold out {data.hold_out:g} of its characters, in whole lines; received "
            f"{size:,} characters, too short to hold out any: nothing is left to {sides[0]}. Give a longer text, or "
            "one to validate on, data.valid."
        )


def _has_words(text: Text) -> bool:
    return any(line.strip() for line in text)


def _digest(lines: Iterable[str], lengths: "array[int] | None" = None) -> str:
    """Read all, and add how long each line is to `lengths`."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode() + b"\n")
        if lengths is not None:
            lengths.append(len(line) + 1)
    return digest.hexdigest()


def _apart(
    paths: tuple[Path, ...], valid: tuple[Path, ...], test: tuple[Path, ...]
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Leave the files of validation and test out of the text to train on, and say so."""
    held_out = {path.resolve() for path in (*valid, *test)}
    kept = tuple(path for path in paths if path.resolve() not in held_out)
    if not kept:
        raise DataError(
            f"data.text: must have text besides that of data.valid and data.test; received {_named(paths)} alone, "
            "which would be measured on what was trained on. Name another text, or leave data.valid out."
        )
    notes = []
    if left_out := [path for path in paths if path.resolve() in held_out]:
        notes.append(f"Not trained on, since it is validated on or tested with: {_named(left_out)}.")
    visited = {path.resolve() for path in valid}
    if both := [path for path in test if path.resolve() in visited]:
        notes.append(
            f"data.valid and data.test share {_named(both)}: training chooses its best step by it, so the test will "
            "look too good."
        )
    return kept, tuple(notes)


def _named(paths: Sequence[Path]) -> str:
    more = f" and {len(paths) - 3:,} more" if len(paths) > 3 else ""
    return ", ".join(map(str, paths[:3])) + more


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
    result = file.open(mark=mark)
    if result is None:
        file.write(_portions(text, tokenizer), mark=mark)
        result = file.open(mark=mark)
    assert result is not None
    return result


def measure_kept(text: Iterable[str], tokenizer: TextTokenizer) -> tuple[TextSize, int]:
    """Measure how long the text is as its tokens have it, and how many of its lines are written otherwise.

    >>> measure_kept(["to  be", "or"], TextTokenizer("space", ["to", "be", "or"]))
    (TextSize(lines=2, characters=9, bytes=9), 1)
    """
    altered = 0

    def kept() -> Iterator[str]:
        nonlocal altered
        for line in text:
            result = tokenizer.kept(line)
            altered += result != line
            yield result

    return _size(kept()), altered


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
