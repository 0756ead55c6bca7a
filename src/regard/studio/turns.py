"""Whose turn it is with a model: one visitor at a time, in the order they came; who hangs up leaves.

A visitor waits without a thread. A question whose visitor has gone is cancelled: before its turn it leaves the queue,
in its turn it ends where the model calls a layer next, since nobody will read the answer and others wait for the model.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from torch import nn

from regard.layers.fused.choose import Interruption

MAX_WAITING = 64
"""Questions that wait for one model; who comes then is answered 503."""
PAUSE = 0.02
"""Seconds between two checks whether it is one's turn, and whether the visitor is still there."""
RETRY = 5
"""Seconds after which to ask again."""
Answer = TypeVar("Answer")


class VisitorGone(Exception):  # noqa: N818 (nobody did anything wrong)
    """Nobody waits for the answer any more."""


class Turns:
    """The queue before one model."""

    def __init__(self, name: str, *, most: int = MAX_WAITING) -> None:
        self._name, self._most = name, most
        self._changed, self._tickets = threading.Condition(), deque[object]()

    async def ask(self, request: Request, work: Callable[[], Answer], *, model: object = None) -> Answer:
        """Wait for a turn, let a thread do the work, and give the answer; `model` is where it can be cancelled."""
        ticket = self._join()
        try:
            while not self.is_first(ticket):
                await _check_there(request)
                await asyncio.sleep(PAUSE)
            await _check_there(request)
            return await _answer(request, work, model)
        finally:
            self._leave(ticket)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Take a turn in a thread that may wait: that of a program, not of a visitor."""
        ticket = object()
        with self._changed:
            self._tickets.append(ticket)
            self._changed.wait_for(lambda: self.is_first(ticket))
        try:
            yield
        finally:
            self._leave(ticket)

    def is_first(self, ticket: object) -> bool:
        """Return whether it is the turn of a ticket."""
        return self._tickets[0] is ticket

    def _join(self) -> object:
        with self._changed:
            if len(self._tickets) > self._most:
                raise HTTPException(
                    503,
                    f"At most {self._most} questions may wait for {self._name}, and so many do. Ask again in a moment.",
                    headers={"retry-after": str(RETRY)},
                )
            ticket = object()
            self._tickets.append(ticket)
            return ticket

    def _leave(self, ticket: object) -> None:
        with self._changed:
            self._tickets.remove(ticket)
            self._changed.notify_all()


async def _check_there(request: Request) -> None:
    if await request.is_disconnected():
        raise VisitorGone


async def _answer(request: Request, work: Callable[[], Answer], model: object) -> Answer:
    gone = threading.Event()

    def run() -> Answer:
        with cancelled(model, gone):
            return work()

    task = asyncio.ensure_future(run_in_threadpool(run))
    try:
        while not (await asyncio.wait({task}, timeout=PAUSE))[0]:
            if await request.is_disconnected():
                gone.set()
        return task.result()
    finally:
        if not task.done():  # the server ends: the model is in use until the thread has left it
            gone.set()
            await asyncio.wait({task})


@contextmanager
def cancelled(model: object, gone: threading.Event) -> Iterator[None]:
    """End the work of a model, where it calls one of its layers next, once `gone` is set.

    A search by captured steps calls none, and ends by itself.
    """

    def check() -> None:
        if gone.is_set():
            raise VisitorGone

    layers = list(model.modules()) if isinstance(model, nn.Module) else []
    handles = [layer.register_forward_pre_hook(Interruption(check)) for layer in layers]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
