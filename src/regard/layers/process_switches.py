"""Settings of the whole process that several threads may want at once."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any

import torch


class SharedSwitch:
    """A context that many may be in: the first to come enters what `make` gives, and the last to leave leaves it.

    Were each to set a value of the whole process and put back what was there before, two threads that leave in the
    order they came would leave the value of the first for good.
    """

    def __init__(self, make: Callable[[], AbstractContextManager[Any]]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._inside = 0
        self._entered: AbstractContextManager[Any] | None = None

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                entered = self._make()
                entered.__enter__()
                self._entered = entered
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._entered is not None:
                self._entered.__exit__(None, None, None)
                self._entered = None


class _CudnnOff:
    """Turn cuDNN off. `torch.backends.cudnn.flags` would set the precision of products too, a setting of its own."""

    def __enter__(self) -> None:
        self.before = torch.backends.cudnn.enabled
        torch.backends.cudnn.enabled = False

    def __exit__(self, *error: object) -> None:
        torch.backends.cudnn.enabled = self.before


without_cudnn = SharedSwitch(_CudnnOff)
"""Leave recurrent networks to torch's own kernels: cuDNN computes no gradient of one in evaluation mode."""
eager = SharedSwitch(lambda: torch.compiler.set_stance("force_eager"))
"""Run compiled models uncompiled, as hooks must, for as long as anybody is inside."""


_CAPTURING = threading.RLock()


@contextmanager
def capturing(device: torch.device) -> Iterator[None]:
    """Capture a CUDA graph inside: one thread at a time, and one that fails leaves stream and random numbers alone.

    Torch's generator would else believe for good that it is being captured, and refuse to draw.
    """
    if device.type != "cuda":
        yield
        return
    stream = torch.cuda.current_stream(device)
    torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)  # a capture has a stream of its own
    with _CAPTURING, torch.cuda.device(device), torch.cuda.stream(stream), _random_numbers_kept(device):
        yield


@contextmanager
def _random_numbers_kept(device: torch.device) -> Iterator[None]:
    generator = torch.cuda.default_generators[device.index or 0]
    before = generator.clone_state()
    try:
        yield
    except BaseException:
        generator.graphsafe_set_state(before)
        raise
