"""Open a file whatever it is compressed with, by its first bytes and not by its name.

gzip, xz and bzip2 come with Python; zstd needs the extra `regard[datasets]`. Anything else is read as it stands.
"""

import bz2
import difflib
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from regard.errors import DataError, MissingExtraError

_GZIP, _BZIP2, _XZ, _ZSTD, _ZIP = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
_CHUNK = 1 << 16
_PACKED = (".gz", ".xz", ".bz2", ".zst")
_OFFERED = 8
"""Files that are named at most."""


@contextmanager
def open_decompressed(path: Path) -> Iterator[io.BufferedReader]:
    """Open `path` for reading its plain bytes, in order, in constant memory.

    A file that breaks off or is damaged gives a `DataError`, at the point where the damage is met: what comes after it
    cannot be read at all, so that nothing could be skipped.
    """
    if not path.is_file() and not path.is_fifo() and not path.is_char_device():
        raise DataError(missing_file(path))
    with path.open("rb") as raw, _decompress(raw, raw.peek(6), path) as plain:
        try:
            yield plain
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            if plain is raw:
                raise
            raise DataError(
                f"{path} must be a whole compressed file; received a damaged one ({error}). Fetch or compress it again."
            ) from error


def missing_file(path: Path, *, kinds: Sequence[str] = ()) -> str:
    """Say that `path` is not a file, and which one beside it was probably meant.

    Files are offered whose names end as `kinds` say, such as ".png"; where none are given, as the path itself ends.
    """
    if elsewhere := name_of_none(path):
        return f"{path} must be a file; received {elsewhere}"
    if path.is_dir():
        return f"{path} must be a file; received a folder. Name a file in it."
    if not path.parent.is_dir():
        return f"{path} must be a file; received a path in a folder that does not exist, {path.parent}. Check the path."
    beside = sorted(entry.name for entry in path.parent.iterdir() if entry.is_file())
    wanted = kinds or ([file_kind(path)] if file_kind(path) else [])
    alike = [name for name in beside if not wanted or file_kind(Path(name)) in wanted]
    return f"{path} must be a file; received a path where there is none. {offer(path.name, alike, beside)}"


def name_of_none(path: Path) -> str:
    """Say what a name is that no file can have, an address or a built-in corpus, and what to do; else nothing.

    >>> name_of_none(Path("builtin:es-en")), name_of_none(Path("a.txt"))
    ('a built-in corpus of another task: builtin:es-en is for translators, builtin:shapes for questions.', '')
    """
    if str(path).startswith(("http:/", "https:/", "ftp:/")):
        return "an address, and nothing is downloaded here. Fetch the file first, and name it."
    if str(path).startswith("builtin:"):
        return "a built-in corpus of another task: builtin:es-en is for translators, builtin:shapes for questions."
    return ""


def file_kind(path: Path) -> str:
    """Give the ending of a file's name, that of compression left out.

    >>> file_kind(Path("reviews.CSV.gz")), file_kind(Path("train.es"))
    ('.csv', '.es')
    """
    return (Path(path.stem) if path.suffix.lower() in _PACKED else path).suffix.lower()


def offer_folders(path: Path, *, kinds: Sequence[str]) -> str:
    """Name a folder beside `path` that was probably meant, or a file whose name ends as `kinds` say."""
    beside = sorted(path.parent.iterdir()) if path.parent.is_dir() else []
    folders = [f"{one.name}/" for one in beside if one.is_dir() and not one.name.startswith(".")]
    return offer(path.name, folders + [one.name for one in beside if one.is_file() and file_kind(one) in kinds])


def offer(name: str, alike: Sequence[str], others: Sequence[str] = ()) -> str:
    """Name the file that was probably meant, or some of those that are `alike`; one of the `others` if it is close.

    >>> offer("reviws.csv", ["films.csv", "reviews.csv"])
    'Did you mean reviews.csv?'
    >>> offer("x.csv", ["films.csv", "reviews.csv"]), offer("x.csv", [])
    ('Choose one of films.csv, reviews.csv.', 'Check the path.')
    """
    near = [one for one in difflib.get_close_matches(name, alike, n=3) if _stem_near(name, one)]
    if close := near or difflib.get_close_matches(name, others, n=1, cutoff=0.7):
        return f"Did you mean {close[0]}?"
    more = ", …" if len(alike) > _OFFERED else ""
    return f"Choose one of {', '.join(alike[:_OFFERED])}{more}." if alike else "Check the path."


def _stem_near(name: str, other: str) -> bool:
    """Compare names without their endings, which alone can make short ones alike."""
    first, second = (one.rstrip("/").partition(".")[0] or one for one in (name, other))
    return difflib.SequenceMatcher(None, first, second).ratio() >= 0.6


def _decompress(raw: io.BufferedReader, start: bytes, path: Path) -> io.BufferedReader:
    if start.startswith(_GZIP):
        return _buffered(gzip.GzipFile(fileobj=raw))
    if start.startswith(_BZIP2):
        return _buffered(bz2.BZ2File(raw))
    if start.startswith(_XZ):
        return _buffered(lzma.LZMAFile(raw))
    if start.startswith(_ZSTD):
        return _buffered(_ZstdFile(raw))
    if start.startswith(_ZIP):
        raise DataError(
            f"{path} must be plain or compressed with gzip, xz, bzip2 or zstd; received a zip archive. Unpack it first."
        )
    return raw


def _buffered(stream: object) -> io.BufferedReader:
    # A BufferedReader finds line ends in C, which each decompressor alone does in Python.
    return io.BufferedReader(cast(io.RawIOBase, stream), _CHUNK)


class _ZstdFile(io.RawIOBase):
    """The plain bytes of a zstd file of one or more frames.

    The package's own stream reader takes a file cut short for one that ended; here it is an error.
    """

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw = raw
        self._package = _zstandard()
        self._frame = self._package.ZstdDecompressor().decompressobj()
        self._compressed = b""
        self._plain = memoryview(b"")
        self._inside = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._plain:
            if not self._refill():
                return 0
        length = min(len(buffer), len(self._plain))
        buffer[:length] = self._plain[:length]
        self._plain = self._plain[length:]
        return length

    def _refill(self) -> bool:
        if self._frame.eof:
            self._frame = self._package.ZstdDecompressor().decompressobj()
            self._inside = False
        compressed = self._compressed or self._raw.read(_CHUNK)
        if not compressed:
            if self._inside:
                raise EOFError("the last frame is incomplete")
            return False
        self._inside = True
        try:
            self._plain = memoryview(self._frame.decompress(compressed))
        except self._package.ZstdError as error:
            raise OSError(str(error)) from error
        self._compressed = self._frame.unused_data if self._frame.eof else b""
        return True


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise MissingExtraError(
            'Reading zstd files needs the package zstandard. Install it: pip install "regard[datasets]"'
        ) from error
    return zstandard
