"""Paths of data: what is there, why it cannot be read, and which file was probably meant."""

import difflib
import errno
import io
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from regard.errors import DataError, brief, describe

PACKED = (".gz", ".xz", ".bz2", ".zst")
"""Endings of names that say how a file is compressed."""
_OFFERED = 8
"""Files that are named at most."""
_LONGEST_NAME = 255
_FORBIDDEN = "one that you may not read"
_COMPARED = 5_000
"""Names in a folder that are compared with one that is not there."""


def is_file(path: str | Path) -> bool:
    """Return whether a path names a file; one that no file can have, or that may not be read, does not."""
    return os.path.isfile(path)


def is_folder(path: str | Path) -> bool:
    """Return whether a path names a folder, likewise."""
    return os.path.isdir(path)


def open_file(path: Path, *, kinds: Sequence[str] = ()) -> io.BufferedReader:
    """Open a file, a pipe or a device for reading; where that cannot be, a `DataError` says why.

    `kinds` are the endings of names that are offered where there is no such file.
    """
    try:
        return path.open("rb")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError) as error:
        raise DataError(missing_file(path, kinds=kinds)) from error
    except (OSError, ValueError) as error:
        raise DataError(f"{shown(path)} must be a file; received {_reason(path, error)}. Check the path.") from error


def list_folder(folder: Path) -> list[Path]:
    """List what a folder holds, by name; one that may not be read is an error."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise DataError(
            f"{folder} must be a folder that can be read; received one that cannot ({error.strerror}). Check the path "
            "and its permissions."
        ) from error


def missing_file(path: Path, *, kinds: Sequence[str] = ()) -> str:
    """Report that `path` is not a file, and which one beside it was probably meant.

    Files are offered whose names end as `kinds` say, such as ".png"; where none are given, as the path itself ends.
    """
    if elsewhere := name_of_none(path):
        return f"{shown(path)} must be a file; received {elsewhere}"
    if is_folder(path):
        return f"{shown(path)} must be a file; received a folder. Name a file in it."
    beside = [entry.name for entry in _entries(path.parent) if is_file(entry)]
    wanted = kinds or ([file_kind(path)] if file_kind(path) else [])
    alike = [name for name in beside if not wanted or file_kind(Path(name)) in wanted]
    there = what_is_there(path)
    advice = "Allow it, or copy it." if there == _FORBIDDEN else offer(path.name, alike, beside)
    return f"{shown(path)} must be a file; received {there}. {advice}"


def what_is_there(path: Path) -> str:
    """Describe what is under a path that names no file, or none that can be read."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        missing = f"a path in a folder that does not exist, {shown(path.parent)}"
        return "a path where there is none" if is_folder(path.parent) else missing
    except (OSError, ValueError) as error:
        return _reason(path, error)
    return _FORBIDDEN if is_file(path) else "something that is neither a file nor a folder"


def _reason(path: Path, error: OSError | ValueError) -> str:
    """Describe why a path could not be opened."""
    if isinstance(error, PermissionError):
        return _FORBIDDEN
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"a name of {_longest(path):,} letters, more than any file has"
    return f"one that cannot be read ({error.strerror if isinstance(error, OSError) else describe(error)})"


def shown(path: Path) -> str:
    r"""Write a path in a message, on one line; of one with a name that is longer than any file's, the beginning.

    >>> shown(Path("a\nb.png")), shown(Path("x" * 300, "b.png"))[-4:]
    ('a b.png', 'xxx…')
    """
    text = " ".join(str(path).split("\n"))
    return text if _longest(path) <= _LONGEST_NAME else brief(text)


def _longest(path: Path) -> int:
    return max(map(len, path.parts), default=0)


def name_of_none(path: Path) -> str:
    """Describe a name that no file can have, an address or a data set of another kind, and what to do; else nothing.

    >>> name_of_none(Path("builtin:es-en")), name_of_none(Path("a.txt"))
    ('a built-in corpus, which is no file. Those of each task: regard train --data list.', '')
    """
    if str(path).startswith(("http:/", "https:/", "ftp:/")):
        return "an address, and nothing is downloaded here. Fetch the file first, and name it."
    if str(path).startswith("builtin:"):
        return "a built-in corpus, which is no file. Those of each task: regard train --data list."
    if str(path).startswith("hf:"):
        return "a data set of the Hugging Face hub, which is read as sentence pairs for translators only."
    return ""


def file_kind(path: Path) -> str:
    """Give the ending of a file's name, that of compression left out.

    >>> file_kind(Path("reviews.CSV.gz")), file_kind(Path("train.es"))
    ('.csv', '.es')
    """
    return (Path(path.stem) if path.suffix.lower() in PACKED else path).suffix.lower()


def offer_folders(path: Path, *, kinds: Sequence[str]) -> str:
    """Name a folder beside `path` that was probably meant, or a file whose name ends as `kinds` say."""
    beside = _entries(path.parent)
    folders = [f"{entry.name}/" for entry in beside if is_folder(entry) and not entry.name.startswith(".")]
    files = [entry.name for entry in beside if is_file(entry) and file_kind(entry) in kinds]
    return offer(path.name, folders + files)


def offer(name: str, alike: Sequence[str], others: Sequence[str] = ()) -> str:
    """Name the file that was probably meant, or some of those that are `alike`; one of the `others` if it is close.

    >>> offer("reviws.csv", ["films.csv", "reviews.csv"])
    'Did you mean reviews.csv?'
    >>> offer("x.csv", ["films.csv", "reviews.csv"]), offer("x.csv", [])
    ('Choose one of films.csv, reviews.csv.', 'Check the path.')
    """
    if len(name) > _LONGEST_NAME:
        return "Check the path."
    near = [other for other in difflib.get_close_matches(name, alike, n=3) if _stem_near(name, other)]
    if close := near or difflib.get_close_matches(name, others, n=1, cutoff=0.7):
        return f"Did you mean {close[0]}?"
    more = ", …" if len(alike) > _OFFERED else ""
    return f"Choose one of {', '.join(alike[:_OFFERED])}{more}." if alike else "Check the path."


def _stem_near(name: str, other: str) -> bool:
    """Compare names without their endings, which alone can make short ones alike."""
    first, second = (text.rstrip("/").partition(".")[0] or text for text in (name, other))
    return difflib.SequenceMatcher(None, first, second).ratio() >= 0.6


def _entries(folder: Path) -> list[Path]:
    """List what to offer from a folder: nothing where it cannot be read, and not all of very many."""
    try:
        return sorted(islice(folder.iterdir(), _COMPARED))
    except OSError:
        return []
