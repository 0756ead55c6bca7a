"""The work of one request: items computed together with those of others, or a text generated piece by piece."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

AHEAD = 64
"""Pieces that are generated before the client has read them; then the text waits for its reader."""


@runtime_checkable
class Call(Protocol):
    """What is computed, with its settings. Requests whose calls are equal are computed together."""

    batches: ClassVar[bool]
    """Whether items of several requests can be computed together."""

    def __call__(self, model: Any, items: Sequence[Any], /) -> list[Any]:
        """Give the result of each item, in order."""


class Job:
    """Items of one request."""

    def __init__(self, call: Call, items: Sequence[Any]) -> None:
        self.call, self.items, self.added = call, items, time.monotonic()
        self.future: Future[list[Any]] = Future()
        self.future.set_running_or_notify_cancel()  # who cancels it elsewhere cannot come between `done` and its result
        self.results: list[Any] = []
        self.taken = 0
        """Items that batches have taken so far."""
        self.cancelled = False

    @property
    def left(self) -> int:
        """Items that still wait."""
        return len(self.items) - self.taken

    def take(self, count: int) -> "Part":
        """Take the next items."""
        part = Part(self, self.items[self.taken : self.taken + count])
        self.taken += count
        return part

    def finish(self, results: Sequence[Any]) -> None:
        """Keep results, in the order of the items; the last complete the job."""
        self.results += results
        if len(self.results) == len(self.items) and not self.future.done():
            self.future.set_result(self.results)

    def fail(self, error: BaseException) -> None:
        """End the job with an error."""
        self.taken = len(self.items)
        if not self.future.done():
            self.future.set_exception(error)


class Part(NamedTuple):
    """Items of one request in a batch."""

    job: Job
    items: Sequence[Any]


class Stream:
    """A text in the making: pieces come from the model's thread and are read on the event loop."""

    def __init__(self, begin: Callable[[], Iterator[str]], *, resume: "Callable[[Stream], None]") -> None:
        self._begin, self._resume = begin, resume
        self._loop, self._ready = asyncio.get_running_loop(), asyncio.Event()
        self._pieces, self._lock = deque[str](), threading.Lock()
        self.parked = self.ended = self.cancelled = False
        self.error: BaseException | None = None
        self._iterator: Iterator[str] | None = None

    def advance(self, count: int) -> int:
        """Generate some pieces more, and tell how many; called by the model's thread."""
        made = 0
        try:
            self._iterator = self._iterator or self._begin()
            while made < count and not self.cancelled:
                self._pieces.append(next(self._iterator))
                made += 1
        except StopIteration:
            self.ended = True
        except BaseException as error:  # the thread must go on, whatever a package beneath raises
            self.error, self.ended = error, True
        with suppress(RuntimeError):  # the event loop is closed: nobody reads any more
            self._loop.call_soon_threadsafe(self._ready.set)
        return made

    def park(self) -> bool:
        """Tell whether the reader is so far behind that it must be waited for."""
        with self._lock:
            self.parked = len(self._pieces) >= AHEAD
            return self.parked

    async def read(self) -> AsyncIterator[str]:
        """Give the pieces as they come; an error of the model is raised."""
        while True:
            await self._ready.wait()
            self._ready.clear()
            ended = self.ended  # before the pieces are read, lest the last be lost
            while self._pieces:
                yield self._pieces.popleft()
                self._go_on()
            if ended and self.error is not None:
                raise self.error
            if ended:
                return

    def _go_on(self) -> None:
        with self._lock:
            wake = self.parked and len(self._pieces) < AHEAD // 2
            self.parked = self.parked and not wake
        if wake:
            self._resume(self)
