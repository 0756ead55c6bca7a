"""Open a file whatever it is compressed with, by its first bytes and not by its name.

gzip, xz and bzip2 come with Python; zstd needs the extra `regard[datasets]`. Anything else is read as it stands.
Memory stays constant, whatever a file unpacks to: it is unpacked a little at a time, a file that asks for a large
window is refused, and so is one that unpacks to more than any text or picture does.
"""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from regard.data.formats.paths import open_file
from regard.errors import DataError, MissingExtraError, describe

MOST_MEMORY = 256 * 2**20
"""Bytes that unpacking itself may take: xz -9 takes 65 MiB, zstd --ultra -22 takes 128 MiB."""
MOST_EXPANSION = 100
"""How many times its size a file may unpack to, beyond `FREE_EXPANSION` bytes; text packs to a third or a tenth."""
FREE_EXPANSION = 16 * 2**20

_GZIP, _BZIP2, _XZ, _ZSTD, _ZIP = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
_CHUNK = 1 << 16
_PIECE = 512
"""Bytes unpacked in one step of xz and zstd, of which zstd makes up to 16 MiB."""


@runtime_checkable
class Readable(Protocol):
    """What bytes are read from."""

    def read(self, size: int = ..., /) -> bytes:
        """Give `size` bytes, or those that are left."""


@contextmanager
def open_decompressed(path: Path) -> Iterator[io.BufferedReader]:
    """Open `path` for reading its plain bytes, in order, in constant memory.

    A file that breaks off or is damaged gives a `DataError`, at the point where the damage is met: what comes after it
    cannot be read at all, so that nothing could be skipped.
    """
    with open_file(path) as raw:
        unpack = _find_unpacker(raw, path)
        if unpack is None:
            yield raw
        else:
            # A BufferedReader finds line ends in C, which each decompressor alone does in Python.
            with io.BufferedReader(cast(Any, _Unpacked(raw, unpack, path)), _CHUNK) as plain:
                yield plain


def read_at_most(stream: Readable, most: int) -> bytearray:
    """Read `most` bytes or what there is; unlike `read`, it takes no memory for what is only promised."""
    data = bytearray()
    while len(data) < most and (chunk := stream.read(min(16 * _CHUNK, most - len(data)))):
        data += chunk
    return data


def _find_unpacker(raw: io.BufferedReader, path: Path) -> Callable[[], Any] | None:
    """Give what begins to unpack a file; None where it is plain."""
    start = raw.peek(6)
    if start.startswith(_GZIP):
        return lambda: gzip.GzipFile(fileobj=raw)
    if start.startswith(_BZIP2):
        return lambda: bz2.BZ2File(raw)
    if start.startswith(_XZ):
        return lambda: _Frames(raw, _begin_xz, lzma.LZMAError)
    if start.startswith(_ZSTD):
        package = _zstandard()
        decompressor = package.ZstdDecompressor(max_window_size=MOST_MEMORY)
        return lambda: _Frames(raw, decompressor.decompressobj, package.ZstdError)
    if start.startswith(_ZIP):
        raise DataError(
            f"{path} must be plain or compressed with gzip, xz, bzip2 or zstd; received a zip archive. Unpack it first."
        )
    return None


def _begin_xz() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY)


class _Unpacked(io.RawIOBase):
    """The plain bytes of a compressed file; damage, and more than a file of its size may hold, are errors."""

    def __init__(self, raw: io.BufferedReader, unpack: Callable[[], Any], path: Path) -> None:
        self._raw, self._unpack, self._path = raw, unpack, path
        self._stream, self._size = unpack(), 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._raw.seekable()

    def tell(self) -> int:
        return self._size

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go back to the beginning, and nowhere else."""
        if (offset, whence) != (0, io.SEEK_SET):
            raise io.UnsupportedOperation("only the beginning can be sought")
        self._raw.seek(0)
        self._stream, self._size = self._unpack(), 0
        return 0

    def readinto(self, buffer: Any) -> int:
        try:
            length = cast(int, self._stream.readinto(buffer))
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            raise DataError(self._damage(error)) from error
        self._size += length
        if self._size > FREE_EXPANSION and self._raw.seekable():
            self._check_expansion(self._raw.tell())
        return length

    def _check_expansion(self, consumed: int) -> None:
        if self._size > MOST_EXPANSION * consumed:
            raise DataError(
                f"{self._path} must unpack to at most {MOST_EXPANSION} times its size; received {self._size:,} bytes "
                f"from its first {consumed:,}. If it is meant to be so, unpack it first."
            )

    def _damage(self, error: Exception) -> str:
        if "memory" in str(error).lower():
            return (
                f"{self._path} must be compressed so that {MOST_MEMORY // 2**20} MiB suffice to unpack it; received "
                f"one that needs more ({describe(error)}). Compress it again with a lower level."
            )
        return (
            f"{self._path} must be a whole compressed file; received a damaged one ({describe(error)}). Fetch or "
            "compress it again."
        )


class _Frames(io.RawIOBase):
    """The plain bytes of an xz or zstd file of one or more frames.

    The packages' own readers know no limit of memory, and zstandard's takes a file cut short for one that ended.
    """

    def __init__(self, raw: io.BufferedReader, begin: Callable[[], Any], broken: type[Exception]) -> None:
        self._raw, self._begin, self._broken = raw, begin, broken
        self._frame: Any = None
        self._compressed = b""
        self._plain = memoryview(b"")

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
        """Unpack some more; nothing more is there where it says no."""
        compressed, self._compressed = self._compressed or self._raw.read(_PIECE), b""
        if not compressed:
            if self._frame is not None:
                raise EOFError("the last frame is incomplete")
            return False
        if self._frame is None:
            compressed = compressed.lstrip(b"\0")  # frames of xz may be padded
            self._frame = self._begin() if compressed else None
        if self._frame is not None:
            self._unpack(compressed)
        return True

    def _unpack(self, compressed: bytes) -> None:
        try:
            self._plain = memoryview(self._frame.decompress(compressed))
        except self._broken as error:
            raise OSError(str(error)) from error
        if self._frame.eof:
            self._compressed, self._frame = self._frame.unused_data, None


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise MissingExtraError(
            'Reading zstd files needs the package zstandard. Install it: pip install "regard[datasets]"'
        ) from error
    return zstandard
