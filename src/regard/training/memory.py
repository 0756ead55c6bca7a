"""How much memory a process has needed, and measuring within what there is."""

import sys
from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import torch

from regard.errors import TrainingError
from regard.training.failure import first_line, is_out_of_memory

Result = TypeVar("Result")


@runtime_checkable
class Portioned(Protocol):
    """A job that measures what is held out in portions."""

    at_once: int
    """How large a portion is, in a unit of the job's own; smaller ones give the same result."""


def peak_memory(device: torch.device) -> int:
    """Give the most bytes held so far: of the GPU where training is there, else of the process; 0 where unknown."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def free_memory() -> None:
    """Give back to the GPU what torch keeps of it for later."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def within_memory(job: object, measure: Callable[[], Result], *, noted: Callable[[str], None]) -> Result:
    """Measure; where the memory does not suffice, again in portions of half the size, until it does."""
    while True:
        try:
            return measure()
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            why = first_line(error)
        free_memory()  # outside the handler, where the tensors of the failed pass are free again
        if not isinstance(job, Portioned) or job.at_once <= 1:
            raise TrainingError(
                f"What is held out must fit into memory, one example at a time; it does not: {why}. The last "
                "checkpoint is kept. Hold out shorter examples, or take a smaller model, in a new folder."
            )
        job.at_once //= 2
        noted("Out of memory while measuring: from here on half as much is measured at once, with the same result.")
