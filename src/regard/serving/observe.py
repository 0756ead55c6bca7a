"""Around every request: its number, its line in the log, its count, and an answer where the server itself fails."""

import logging
import secrets
import time
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serving.logs import LOGGER, where
from regard.serving.metrics import Metrics

OTHER = "other"
"""What paths are called that are no endpoint: they may hold anything."""
NOTED = ("model", "items", "characters")
"""What an endpoint notes of a request, for the log."""


class Observe:
    """Log and count each request; neither text nor keys are logged, nor where it came from."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, paths: frozenset[str]) -> None:
        self.app, self._metrics, self._paths = app, metrics, paths
        self._logger = logging.getLogger(LOGGER)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        number, begun, status = secrets.token_hex(8), time.monotonic(), 0
        scope["state"] = noted = {**scope.get("state", {})}

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", number.encode())]
            await send(message)

        try:
            await self.app(scope, receive, observed)
        except Exception as error:
            self._logger.error("the server failed", extra={"id": number, **where(error)})
            if status:  # the reply has begun: closing the connection says that it is not whole
                raise ConnectionError("the reply is not whole") from None
            failure = {"error": f"The server failed; this is a defect of it. Report it with the number {number}."}
            await JSONResponse(failure, 500)(scope, receive, observed)
        finally:
            self._note(scope, number, status, time.monotonic() - begun, noted)

    def _note(self, scope: Scope, number: str, status: int, seconds: float, noted: dict[str, Any]) -> None:
        endpoint = scope["path"] if scope["path"] in self._paths else OTHER
        self._metrics.add_request(endpoint, status, seconds)
        about = {name: noted[name] for name in NOTED if name in noted}
        extra = {"id": number, "method": scope["method"][:10], "path": endpoint, "status": status}
        self._logger.info("request", extra={**extra, "ms": round(1000 * seconds, 1), **about})
