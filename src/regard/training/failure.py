"""What can go wrong while training, by kind, so that each gets its own answer."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from regard.errors import DataError, RegardError, TrainingError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error means that the disk is full, or may not hold so large a file.

    A library that is not Python's own, such as safetensors, gives the number of the error in words.
    """
    text = str(error)
    return getattr(error, "errno", None) in _FULL or any(f"(os error {number})" in text for number in _FULL)


def is_file_limit(error: BaseException) -> bool:
    """Return whether it is a limit on the size of a file that is reached (`ulimit -f`, or the file system's)."""
    return getattr(error, "errno", None) == errno.EFBIG or f"(os error {errno.EFBIG})" in str(error)


def disk_full_reason(error: BaseException) -> str:
    """Describe why a file does not fit, after the name of its folder, and what to do.

    >>> disk_full_reason(OSError(errno.ENOSPC, "No space left on device"))
    'is full. Make room'
    """
    if is_file_limit(error):
        return "takes no file so large (a limit such as `ulimit -f`, or of the file system). Raise the limit"
    return "is full. Make room"


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that a tensor found no memory, on the GPU or the CPU."""
    if isinstance(error, RegardError):
        return False
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and ("out of memory" in text or "can't allocate memory" in text)


def first_line(error: BaseException) -> str:
    """Give the first line of what an error says, without its full stop; its kind where it says nothing.

    >>> first_line(RuntimeError("Out of memory.\\nMore.")), first_line(MemoryError())
    ('Out of memory', 'MemoryError')
    """
    lines = str(error).strip().splitlines()
    return lines[0].removesuffix(".") if lines else type(error).__name__


def reason(error: BaseException) -> str:
    """Give an error in one line: our own in its words, any other with its kind.

    >>> reason(KeyError("a")), reason(TrainingError("It is full."))
    ("KeyError: 'a'", 'It is full')
    """
    if isinstance(error, RegardError) or not str(error):
        return first_line(error)
    return f"{type(error).__name__}: {first_line(error)}"


@contextmanager
def needing_space(path: Path) -> Iterator[None]:
    """Describe what to do where the disk is full as the model is written."""
    try:
        yield
    except Exception as error:
        if not is_disk_full(error):
            raise
        raise TrainingError(
            f"The disk of {path} must have space for the model; it "
            f"{disk_full_reason(error)}, and give the same command again: "
            "it goes on from the last checkpoint."
        ) from error


@contextmanager
def using(path: Path) -> Iterator[None]:
    """Name a file or folder of a run that cannot be used, and why.

    A full disk and a folder that is gone are left to those who know what to do then.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, RegardError | FileNotFoundError) or is_disk_full(error):
            raise
        raise DataError(
            f"{path} must be the run's to read and to write; it is not ({error.strerror or error}). Mend that and give "
            "the same command again: it goes on from the last checkpoint."
        ) from error
