"""Files that are whole or not there, and the small files of strangers, read with limits.

What is written appears at once, under its name, with the permissions that the umask leaves; links are replaced, never
followed. What is read as JSON or TOML is bounded in size, depth and digits, and knows where it came from: a mistake is
named by its file and its dotted key.
"""

import contextlib
import hashlib
import json
import math
import os
import shutil
import stat
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from regard.errors import DataError, brief

SMALL = 1 << 24
"""Bytes of a file of settings, labels or figures, at most."""
LARGE = 1 << 27
"""Bytes of a file that holds a vocabulary, at most."""
DEPTH = 100
"""Tables and lists within one another, at most."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # Windows has none


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let a file appear at once, whole, or leave what was there; `write` is given the name of a file beside it.

    That name has the same ending, in lower case. A link under either name is replaced.
    """
    aside = path.with_name(f".{path.stem}.writing{path.suffix.lower()}")
    remove(aside)  # what an interrupted call has left, or a link to somewhere else
    created = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o666)
    mode = stat.S_IMODE(os.fstat(created).st_mode)
    os.close(created)
    try:
        write(aside)
        os.chmod(aside, mode)  # some writers put a file of their own there, which nobody else may read
        flush(aside)
        aside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
    flush(path.parent)


def write_text(path: Path, text: str) -> None:
    """Write a small file so that it is the old or the new one, never half."""
    write_whole(path, lambda aside: aside.write_text(text, encoding="utf-8"))


def open_to_append(path: Path) -> BinaryIO:
    """Open a file to append to or to lock, made where there is none; a link is an error."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _NO_LINK, 0o666), "ab")


def remove(path: Path, *, best_effort: bool = False) -> None:
    """Remove a file, a folder with all it holds, or a link alone; what is not there is fine.

    With `best_effort` what cannot be removed stays, without an error.
    """
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=best_effort)
        return
    with contextlib.suppress(*[OSError] if best_effort else []):
        path.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Make sure that a file or a folder is on the disk."""
    if os.name == "nt" and path.is_dir():  # where folders cannot be opened
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def digest(path: Path) -> str:
    """Give the SHA-256 checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def finite(value: Any) -> Any:
    """Put null in place of NaN and infinity, which JSON has no word for, in whatever lists and tables hold them.

    >>> finite({"scores": [1.5, float("nan")], "name": "a"})
    {'scores': [1.5, None], 'name': 'a'}
    """
    match value:
        case dict():
            return {key: finite(inner) for key, inner in value.items()}
        case list() | tuple():
            return [finite(inner) for inner in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def json_text(value: Any, *, indent: int | None = None) -> str:
    r"""Write JSON: null for what is not finite, letters as they are, and no character that a terminal obeys.

    >>> print(json_text({"é\x9b31m": float("inf")}))
    {"é\u009b31m": null}
    """
    text = json.dumps(finite(value), ensure_ascii=False, allow_nan=False, indent=indent)
    return text.translate(_ESCAPED)


_ESCAPED = {number: f"\\u{number:04x}" for number in (*range(0x7F, 0xA0), 0x2028, 0x2029)}


@dataclass(frozen=True, eq=False)
class Entry:
    """A value of a JSON file, with the file and the dotted key it stands under."""

    value: Any
    path: str | Path
    key: str = ""

    def __getitem__(self, name: str) -> "Entry":
        """Give what a table holds under a name, which must be there."""
        if name not in self.table():
            raise self.refuse(f"must have the key {name}")
        return Entry(self.value[name], self.path, f"{self.key}.{name}".removeprefix("."))

    def get(self, name: str, default: Any = None) -> "Entry":
        """Give what a table holds under a name, or the default."""
        return Entry(self.table().get(name, default), self.path, f"{self.key}.{name}".removeprefix("."))

    def table(self) -> dict[str, Any]:
        """Give the value as a table."""
        if isinstance(self.value, dict):
            return self.value
        raise self.refuse("must hold a table of settings" if not self.key else "must be a table")

    def items(self) -> list["Entry"]:
        """Give the entries of a list."""
        if not isinstance(self.value, list):
            raise self.refuse("must hold a list" if not self.key else "must be a list")
        return [Entry(item, self.path, f"{self.key}[{number}]") for number, item in enumerate(self.value)]

    def text(self) -> str:
        """Give the value as text."""
        if isinstance(self.value, str):
            return self.value
        raise self.refuse("must be text")

    def flag(self) -> bool:
        """Give the value as true or false."""
        if isinstance(self.value, bool):
            return self.value
        raise self.refuse("must be true or false")

    def whole(self, *, least: int = 0, most: int = 2**63 - 1) -> int:
        """Give the value as a whole number in a range."""
        if type(self.value) is int and least <= self.value <= most:
            return self.value
        raise self.refuse(f"must be a whole number from {least:,} to {most:,}")

    def texts(self, *, count: int | None = None) -> list[str]:
        """Give a list of texts, all different; `count` is how many there must be."""
        texts = [entry.text() for entry in self.items()]
        if count is not None and len(texts) != count:
            raise self.refuse(f"must have {count:,} entries", f"{len(texts):,}")
        if twice := [text for text, times in Counter(texts).items() if times > 1]:
            raise self.refuse("must not have an entry twice", _shown(twice[0]))
        return texts

    def refuse(self, expected: str, received: str = "") -> DataError:
        """Make the error that names the file, the key and what was expected."""
        name = f"{self.path}: {self.key}" if self.key else str(self.path)
        return DataError(f"{name} {expected}; received {received or _shown(self.value)}.")


def read_json(path: Path, *, most: int = SMALL) -> Entry:
    """Read a JSON file of at most so many bytes."""
    try:
        return parse_json(read_bytes(path, most=most), path)
    except OSError as error:
        raise unreadable(path, error) from error


def parse_json(text: str | bytes, path: str | Path) -> Entry:
    """Read JSON that came from `path`: UTF-8, not too deep, with numbers of a sane length."""
    try:
        return Entry(load_json(text.decode() if isinstance(text, bytes) else text), path)
    except _DepthError as error:
        raise _too_deep(path, "JSON") from error
    except ValueError as error:
        raise DataError(f"{path} must be JSON; received: {error}.") from error


class _DepthError(ValueError):
    """JSON has more than `DEPTH` tables and lists in one another; `msg` is named as in `json.JSONDecodeError`."""

    def __init__(self) -> None:
        self.msg = f"more than {DEPTH} tables and lists in one another"
        super().__init__(self.msg)


def load_json(text: str | bytes | bytearray) -> Any:
    """Read JSON of at most `DEPTH` tables and lists in one another; anything else is a `ValueError`.

    Python's own limit differs between versions: 3.14 reads thousands of lists in one another, which other functions may
    not be able to write.

    >>> load_json('{"a": [1]}')
    {'a': [1]}
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise _DepthError from error
    opened = text.count("[") + text.count("{") if isinstance(text, str) else text.count(b"[") + text.count(b"{")
    if opened > DEPTH and _depth(value) > DEPTH:
        raise _DepthError
    return value


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; what the system refuses is an `OSError`, anything else a `DataError`."""
    content = read_bytes(path, most=SMALL)
    try:
        table = tomllib.loads(content.decode("utf-8-sig"))
    except RecursionError as error:
        raise _too_deep(path, "TOML") from error
    except ValueError as error:
        raise DataError(f"{path} must be TOML; received: {error}.") from error
    if _depth(table) > DEPTH:
        raise _too_deep(path, "TOML")
    return table


def read_bytes(path: Path, *, most: int) -> bytes:
    """Read a plain file of at most so many bytes; nothing waits for a pipe that has this name."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise DataError(f"{path} must be a plain file; received something else.")
    with os.fdopen(handle, "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise DataError(f"{path} must have at most {most:,} bytes; received {max(status.st_size, len(content)):,}.")
    return content


def read_text(path: Path, *, most: int = SMALL) -> str:
    """Read a text of at most so many bytes, which must be UTF-8."""
    try:
        return read_bytes(path, most=most).decode()
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} must be text in UTF-8; received: {error}.") from error


def unreadable(path: Path, error: OSError) -> DataError:
    """Make the error of a file that the system does not let us read."""
    return DataError(f"{path} must be a file that can be read; received: {error.strerror}.")


def _shown(value: Any) -> str:
    """Show a value of any size in a few letters.

    >>> _shown("a" * 100)[-5:], _shown({"a": 1}), _shown(None)
    ('aaaa…', 'a table of 1', 'null')
    """
    if isinstance(value, dict | list):
        return f"{'a table' if isinstance(value, dict) else 'a list'} of {len(value):,}"
    return brief(value if type(value) is int else json.dumps(value, ensure_ascii=False))


def _depth(value: Any) -> int:
    """Count how deep tables and lists are in one another, without going into them by calls."""
    depth, level = 0, [value]
    while level:
        depth += 1
        if depth > DEPTH:
            break
        level = [
            inner
            for holder in level
            if isinstance(holder, dict | list)
            for inner in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(inner, dict | list)
        ]
    return depth


def _too_deep(path: str | Path, kind: str) -> DataError:
    return DataError(f"{path} must be {kind} of at most {DEPTH} tables and lists in one another; received more.")
