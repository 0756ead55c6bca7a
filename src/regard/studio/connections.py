"""How the studio is served: connections on which nothing, or half a request, arrives are closed after some seconds.

uvicorn closes a connection that stays silent after an answer, but waits for ever for a request, or the rest of one.
"""

import asyncio

import h11  # uvicorn's own reader of HTTP
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Until the head of a request must have come, counted from the connection, or from its first byte after an answer."""
BODY_SECONDS = 60.0
"""Until the rest of it must have come."""
KEEP_ALIVE = 5
"""Seconds that a connection may stay silent after an answer."""
MAX_HEAD = 32 * 2**10
"""Bytes of a head."""


class PromptProtocol(H11Protocol):
    """uvicorn's protocol, with an end to waiting for a request."""

    head_seconds, body_seconds = HEAD_SECONDS, BODY_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a first request."""
        self._timer: asyncio.TimerHandle | None = None
        self._awaited: object = None
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on, and wait for what is still to come."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """Begin to wait where something else is awaited than before: what comes drop by drop gains no time."""
        state = self.conn.their_state
        if state is self._awaited and self._timer is not None:
            return
        self._stop_waiting()
        if state in (h11.IDLE, h11.SEND_BODY):
            seconds = self.head_seconds if state is h11.IDLE else self.body_seconds
            self._awaited, self._timer = state, self.loop.call_later(seconds, self._close)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        if self.conn.their_state is self._awaited and not self.transport.is_closing():
            self.transport.close()


def make_server(app: FastAPI, *, protocol: type[PromptProtocol] = PromptProtocol) -> uvicorn.Server:
    """Make a server for the studio, which learns where to listen when it is run."""
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        h11_max_incomplete_event_size=MAX_HEAD,
    )
    return uvicorn.Server(config)
