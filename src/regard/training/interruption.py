"""Ctrl-C and SIGTERM: the first asks for a stop after the step, the second stops at once; after training, the first.

While a checkpoint is written, every signal waits until it is whole.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Whether a stop was requested, and by which signal."""

    def __init__(self) -> None:
        self.signal = 0
        self._at_once = self._holding = self._held = False

    def request(self, number: int, frame: FrameType | None = None) -> None:
        """Request a stop; a second request stops at once."""
        del frame
        again, self.signal = bool(self.signal), number
        if self._holding:
            self._held = self._held or again
        elif again or self._at_once:
            raise KeyboardInterrupt

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let what is done within be finished before a second signal stops the process."""
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
        if self._held:
            self._held = False
            raise KeyboardInterrupt

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Stop at the first time of asking, also where that was before: there are no steps to wait for."""
        self._at_once = True
        try:
            if self.signal:
                raise KeyboardInterrupt
            yield
        finally:
            self._at_once = False


@contextmanager
def listening() -> Iterator[Interruption]:
    """Listen to the two signals, and leave the handlers as they were."""
    interruption = Interruption()
    before = {number: signal.signal(number, interruption.request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
