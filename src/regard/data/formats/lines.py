"""The lines of a text file, one at a time: UTF-8 with or without a byte-order mark, compressed or not."""

import codecs
import io
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from regard.data.formats.compressed import open_decompressed
from regard.data.formats.records import BadLine
from regard.errors import DataError

LONGEST_LINE = 16 * 2**20
"""Bytes of a line at most: a file without line breaks would fill any memory."""


def read_lines(path: Path) -> Iterator[str | BadLine]:
    r"""Give the text of each line, or a `BadLine` where it is not UTF-8.

    A line ends at "\n" and nowhere else: `str.splitlines` also breaks at "\x0b", "\x85" or U+2028, which occur inside
    sentences and would shift one file of a pair against the other. A "\r" before the "\n" is removed.
    """
    with open_decompressed(path) as stream:
        for number, raw in enumerate(raw_lines(stream, path), start=1):
            if number == 1:
                raw = _without_mark(raw, path)
            raw = raw.removesuffix(b"\n").removesuffix(b"\r")
            try:
                yield raw.decode("utf-8")
            except UnicodeDecodeError as error:
                yield BadLine(
                    "encoding",
                    f"{path}, line {number}",
                    "be UTF-8",
                    f"byte 0x{raw[error.start]:02x} at offset {error.start}",
                    raw[:400].decode("utf-8", errors="backslashreplace"),
                )


def raw_lines(stream: io.BufferedReader, path: Path) -> Iterator[bytes]:
    """Give the bytes of each line, with its end; one of more than `LONGEST_LINE` bytes is an error."""
    most = LONGEST_LINE + 1
    for number, raw in enumerate(iter(partial(stream.readline, most), b""), start=1):
        if len(raw) == most and not raw.endswith(b"\n"):
            raise DataError(
                f"{path}, line {number} must have at most {LONGEST_LINE:,} bytes; received more. If it is text, break "
                "it into lines, such as by fold -s."
            )
        yield raw


def _without_mark(raw: bytes, path: Path) -> bytes:
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(
            f"{path} must be UTF-8; received UTF-16, by its byte-order mark. "
            f"Convert it: iconv -f UTF-16 -t UTF-8 {path.name} > new-{path.name}"
        )
    return raw.removeprefix(codecs.BOM_UTF8)
