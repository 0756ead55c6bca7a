"""How requests arrive: connections on which nothing comes, or whose reader has stopped reading, are closed."""

import asyncio

import uvicorn
from fastapi import FastAPI

from regard.serving.limits import Limits
from regard.studio.connections import KEEP_ALIVE, MAX_HEAD, PromptProtocol

BODY_SECONDS = 20.0
"""Until the whole request must have come."""
READ_SECONDS = 20.0
"""Until a client that has stopped reading must go on."""
BACKLOG = 1024
GRACE = 10
"""Seconds beyond the timeout of a request in which replies may be sent while the server ends."""


class ServerProtocol(PromptProtocol):
    """The studio's protocol, which also ends a connection whose client does not read the reply."""

    body_seconds, read_seconds = BODY_SECONDS, READ_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a first request."""
        self._reader: asyncio.TimerHandle | None = None
        super().connection_made(transport)

    def pause_writing(self) -> None:
        """Wait for the reader, but not for ever."""
        super().pause_writing()
        self._reader = self.loop.call_later(self.read_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on."""
        self._stop_reader()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        self._stop_reader()
        super().connection_lost(exc)

    def _stop_reader(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None


def make_server(app: FastAPI, limits: Limits, *, protocol: type[ServerProtocol] = ServerProtocol) -> uvicorn.Server:
    """Make a server, which is given its socket when it is run. Asked to end, it finishes what it took."""
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        limit_concurrency=limits.connections,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=int(limits.timeout) + GRACE,
        h11_max_incomplete_event_size=MAX_HEAD,
    )
    return uvicorn.Server(config)
