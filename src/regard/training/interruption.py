"""Ctrl-C and SIGTERM: the first asks for a stop after the step, the second stops at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interruption:
    """Whether a stop was asked for, and by which signal."""

    def __init__(self) -> None:
        self.signal = 0

    def ask(self, number: int, frame: FrameType | None = None) -> None:
        """Ask for a stop; asking again stops at once."""
        del frame
        if self.signal:
            raise KeyboardInterrupt
        self.signal = number


@contextmanager
def listening() -> Iterator[Interruption]:
    """Listen to the two signals, and leave the handlers as they were."""
    interruption = Interruption()
    before = {number: signal.signal(number, interruption.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
