"""One request and its work: whoever hangs up, or waits too long, frees it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Sequence
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from regard.errors import RegardError
from regard.files import json_text
from regard.serving.calls import Generate
from regard.serving.job import Call
from regard.serving.models import Served
from regard.studio.turns import VisitorGone

DISCONNECTED, TIMEOUT = "disconnected", "timeout"
LINES = "application/x-ndjson"
Result = TypeVar("Result")


async def compute(request: Request, served: Served, call: Call, items: Sequence[Any]) -> list[Any]:
    """Let the model compute the items, and give the results; 504 where it takes too long."""
    limits = served.worker.limits
    job = served.worker.submit(call, items)
    result = asyncio.wrap_future(job.future)
    leaving = asyncio.ensure_future(wait_for_end(request))
    reason = DISCONNECTED  # also where the server ends before the work does
    try:
        ends: set[asyncio.Future[Any]] = {result, leaving}
        await asyncio.wait(ends, timeout=limits.timeout, return_when=asyncio.FIRST_COMPLETED)
        if result.done():
            return result.result()
        if leaving.done():
            raise VisitorGone
        reason = TIMEOUT
        raise too_late(limits.timeout)
    finally:
        served.worker.give_up(job, reason)
        leaving.cancel()
        if not result.done():
            result.cancel()


async def wait_for_end(request: Request) -> None:
    """Wait until the client hangs up; the body of its request was read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def generate(served: Served, call: Generate) -> AsyncGenerator[str]:
    """Give the pieces of a text as they are generated. Whoever stops reading frees the work."""
    worker, reason = served.worker, DISCONNECTED
    stream = worker.stream(call)
    end = asyncio.get_running_loop().time() + worker.limits.timeout
    pieces = stream.read()
    try:
        while True:
            try:
                async with asyncio.timeout_at(end):
                    piece = await anext(pieces)
            except StopAsyncIteration:
                return
            yield piece
    except TimeoutError:
        reason = TIMEOUT
        raise too_late(worker.limits.timeout) from None
    finally:
        worker.give_up(stream, reason)


class TextLines(StreamingResponse):
    """A text as it is generated, a JSON object a line; its work is freed however the reply ends."""

    def __init__(self, pieces: AsyncGenerator[str], first: str) -> None:
        super().__init__(as_lines(pieces, first), media_type=LINES)
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the lines."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._pieces.aclose()


async def as_lines(pieces: AsyncIterator[str], first: str) -> AsyncIterator[bytes]:
    """Write the pieces of a text: the last line says that it is whole, or why not."""
    yield _line({"text": first})
    try:
        async for piece in pieces:
            yield _line({"text": piece})
    except (RegardError, HTTPException) as error:
        yield _line({"error": error.detail if isinstance(error, HTTPException) else str(error)})
    else:
        yield _line({"done": True})


async def first_of(pieces: AsyncIterator[str]) -> str:
    """Give the first piece, or nothing where there is none."""
    return await anext(pieces, "")


async def whole(pieces: AsyncIterator[str]) -> str:
    """Give all pieces in one."""
    return "".join([piece async for piece in pieces])


async def unless_gone(request: Request, work: Awaitable[Result]) -> Result:
    """Give a result; nobody waits for it where the client has hung up."""
    task, leaving = asyncio.ensure_future(work), asyncio.ensure_future(wait_for_end(request))
    try:
        ends: set[asyncio.Future[Any]] = {task, leaving}
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise VisitorGone
    finally:
        leaving.cancel()
        task.cancel()
        await asyncio.wait({task})


def too_late(seconds: float) -> HTTPException:
    """Make the error of a request that took too long."""
    return HTTPException(
        504, f"A request must be answered within {seconds:g} s; this was not. Ask for less. The limit is `timeout`."
    )


def _line(value: dict[str, Any]) -> bytes:
    return json_text(value).encode() + b"\n"
