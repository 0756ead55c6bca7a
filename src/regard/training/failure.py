"""What can go wrong while training, told apart so that each gets its own answer."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from regard.errors import TrainingError


def is_disk_full(error: BaseException) -> bool:
    """Say whether an error means that there is no room left; safetensors tells only in words."""
    numbers = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return getattr(error, "errno", None) in numbers or any(f"os error {one})" in str(error) for one in numbers)


def is_out_of_memory(error: BaseException) -> bool:
    """Say whether an error means that a tensor found no memory, on the GPU or the CPU."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and ("out of memory" in text or "can't allocate memory" in text)


@contextmanager
def needing_room(path: Path) -> Iterator[None]:
    """Say what to do where the disk is full as the model is written."""
    try:
        yield
    except Exception as error:
        if not is_disk_full(error):
            raise
        raise TrainingError(
            f"The disk of {path} must have room for the model; it is full. Make room, and give the same command again: "
            "it goes on from the last checkpoint."
        ) from error
