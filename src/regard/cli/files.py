"""What a user gives: text that must be Unicode, and names of files that are to be written."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

from regard.errors import ArgumentError, DataError
from regard.files import write_whole


def check_unicode(name: str, text: str | None) -> None:
    r"""Refuse bytes that are no UTF-8, which Python reads as halves of surrogate pairs.

    >>> check_unicode("TEXT", "Canadá")
    >>> check_unicode("TEXT", "Canad\udce1")
    Traceback (most recent call last):
    regard.errors.ArgumentError: `TEXT` must be text in UTF-8; received a byte that is none at index 5. Convert it.
    """
    try:
        (text or "").encode()
    except UnicodeEncodeError as error:
        raise ArgumentError(
            f"`{name}` must be text in UTF-8; received a byte that is none at index {error.start}. Convert it."
        ) from error


def is_file(name: str) -> bool:
    """Return whether a text is the name of a file; one that no file can have is none."""
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long, or with a character that no name has
        return False


def check_file(path: Path, *, option: str) -> None:
    """Refuse a file that cannot be written, before anything is computed. Folders that are missing can be made."""
    above = next((item for item in path.absolute().parents if os.path.exists(item)), Path("/"))
    if path.is_dir():
        raise _unwritable(path, option, "Is a directory")
    if not above.is_dir():
        raise _unwritable(path, option, "Not a directory")
    if not os.access(above, os.W_OK):
        raise _unwritable(path, option, "Permission denied")


def check_page(path: Path, *, option: str) -> None:
    """Refuse a page that is not called one or cannot be written, before anything is computed."""
    if path.suffix.lower() != ".html":
        raise ArgumentError(f"`{option}` must end in .html; received {path}. Rename it.")
    check_file(path, option=option)


def write_file(path: Path, write: Callable[[Path], object], *, option: str) -> None:
    """Let a file appear at once, whole, or not at all, in a folder that is made where it is missing.

    `write` is given the name of a file beside it, of the same ending in lower case.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, write)
    except (OSError, DataError) as error:  # the library tells of the name beside, which nobody gave
        cause = error if isinstance(error, OSError) else error.__cause__
        raise _unwritable(path, option, getattr(cause, "strerror", None) or str(error)) from error
    print(f"regard: wrote {path}", file=sys.stderr)


def write_page(path: Path, page: str, *, option: str) -> None:
    """Write a page, whole or not at all."""
    write_file(path, lambda aside: aside.write_text(page, encoding="utf-8"), option=option)


def _unwritable(path: Path, option: str, why: str | None) -> ArgumentError:
    return ArgumentError(f"`{option}` must be a file to write; {path} cannot be written ({why}).")
