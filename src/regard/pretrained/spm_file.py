"""A SentencePiece model, read from its bytes: the pieces with their scores, and how text is normalized before.

The file is a protocol buffer (sentencepiece_model.proto). Only the few fields that are needed are read; whatever is
damaged is one error that names the file.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from regard.errors import DataError
from regard.files import LARGE, read_bytes, unreadable

MOST_PIECES = 1 << 20
UNIGRAM = 1
"""The kind of model, `TrainerSpec.model_type`, that divides by the likeliest pieces."""
_KINDS = {1: "unigram", 2: "BPE", 3: "word", 4: "character"}
_NORMAL, _USER_DEFINED, _BYTE = 1, 4, 6


class Piece(NamedTuple):
    """One entry of the vocabulary."""

    text: str
    score: float
    kind: int
    """1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte."""

    @property
    def matches_text(self) -> bool:
        """Whether text is divided into it: not so a control symbol, or a byte, which only spells what is unknown."""
        return self.kind in (_NORMAL, _USER_DEFINED)


@dataclass(frozen=True, kw_only=True)
class SentencePieceModel:
    """What a .spm file holds."""

    pieces: tuple[Piece, ...]
    character_map: bytes
    """Replacements of characters, compiled: what `tokenizers.normalizers.Precompiled` reads; empty for none."""
    add_dummy_prefix: bool = True
    """Put a space before the text."""
    remove_extra_whitespaces: bool = True
    """Make runs of spaces one, and none at the ends."""
    byte_fallback: bool = False
    """Spell what is unknown in bytes."""


def read_sentencepiece(path: Path) -> SentencePieceModel:
    """Read a .spm file, which must be a unigram model."""
    try:
        content = read_bytes(path, most=LARGE)
    except OSError as error:
        raise unreadable(path, error) from error
    try:
        return _read(content, path)
    except (ValueError, struct.error, UnicodeDecodeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{path} must be a SentencePiece model; received: {error}.") from error


def _read(content: bytes, path: Path) -> SentencePieceModel:
    pieces, trainer, normalizer = [], b"", b""
    for number, value in _fields(content):
        if number == 1:
            pieces.append(_piece(_bytes(value)))
        elif number == 2:
            trainer = _bytes(value)
        elif number == 3:
            normalizer = _bytes(value)
        if len(pieces) > MOST_PIECES:
            raise DataError(f"{path} must have at most {MOST_PIECES:,} pieces; received more.")
    of_trainer, of_normalizer = dict(_fields(trainer)), dict(_fields(normalizer))
    kind = of_trainer.get(3, UNIGRAM)
    if kind != UNIGRAM or of_trainer.get(24, 0):
        named = "one with spaces behind words" if kind == UNIGRAM else _KINDS.get(int(kind), "another")
        raise DataError(f"{path} must be a unigram model with spaces before words; received {named}.")
    if not pieces:
        raise DataError(f"{path} must have pieces; received none.")
    return SentencePieceModel(
        pieces=tuple(pieces),
        character_map=_bytes(of_normalizer.get(2, b"")),
        add_dummy_prefix=bool(of_normalizer.get(3, True)),
        remove_extra_whitespaces=bool(of_normalizer.get(4, True)),
        byte_fallback=bool(of_trainer.get(35, False)),
    )


def _piece(content: bytes) -> Piece:
    text, score, kind = "", 0.0, _NORMAL
    for number, value in _fields(content):
        if number == 1:
            text = _bytes(value).decode()
        elif number == 2:
            (score,) = struct.unpack("<f", _bytes(value))
        elif number == 3:
            kind = int(value) if isinstance(value, int) else _NORMAL
    if not score == score or abs(score) == float("inf"):
        raise ValueError(f"a piece whose score is {score}")
    return Piece(text, score, kind)


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, bytes):
        return value
    raise ValueError("a number where text was expected")


def _fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Give the fields of a message: their numbers, with a whole number or the bytes of what they hold."""
    position = 0
    while position < len(content):
        key, position = _varint(content, position)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, position = _varint(content, position)
            yield number, value
            continue
        if kind == 2:
            length, position = _varint(content, position)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"a field of kind {kind}")
        if position + length > len(content):
            raise ValueError(f"a field of {length:,} bytes where {len(content) - position:,} are left")
        yield number, content[position : position + length]
        position += length


def _varint(content: bytes, position: int) -> tuple[int, int]:
    """Read a whole number, seven bits a byte, and give where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(content):
            raise ValueError("an end within a number")
        byte = content[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError("a number of more than ten bytes")
