"""Who may ask: this machine alone, from the studio's own page, and not without end, nor too many at once.

A stranger's page, open in the same browser, can send requests to loopback too. So a request must name loopback as its
host, which a stranger's domain that resolves to 127.0.0.1 does not, and where a browser says which page it comes from,
that must be the studio.
"""

import asyncio
import threading
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.studio.turns import PAUSE, RETRY

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
MAX_BODY = 8 * 2**20
"""Bytes of a request; a picture is the largest there is."""
MAX_OPEN = 8 * MAX_BODY
"""Bytes of all requests that are being answered; those that come then wait."""
PATIENCE = 5.0
"""Seconds that a request waits for others to be answered, until it is asked to come again."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Bytes:
    """Bytes of all requests that are in memory, counted; it serves event loops of several threads."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._taken, self._lock = 0, threading.Lock()

    async def take(self, size: int, *, patience: float) -> bool:
        """Wait until there are so many left, and take them; give up after some seconds, and say so."""
        end = time.monotonic() + patience
        while not self._try(size):
            if time.monotonic() >= end:
                return False
            await asyncio.sleep(PAUSE)
        return True

    def give_back(self, size: int) -> None:
        """Let others have them."""
        with self._lock:
            self._taken -= size

    def _try(self, size: int) -> bool:
        with self._lock:
            fits = self._taken + size <= self.most
            self._taken += size if fits else 0
            return fits


class Guard:
    """Let through what `hosts` may ask, refuse the rest, and put the safety headers on every answer."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Iterable[str] = LOOPBACK,
        max_body: int = MAX_BODY,
        max_open: int = MAX_OPEN,
        patience: float = PATIENCE,
    ) -> None:
        self.app, self.hosts, self.max_body = app, frozenset(hosts), max_body
        self._bytes, self._patience = Bytes(max_open), patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        status, refusal = self.refuse(scope["method"], headers)
        if refusal:
            await JSONResponse({"error": refusal}, status, HEADERS)(scope, receive, send)
            return
        size = self._size(headers)
        if not await self._bytes.take(size, patience=self._patience):
            busy = HEADERS | {"retry-after": str(RETRY)}
            await JSONResponse({"error": self._too_many()}, 503, busy)(scope, receive, send)
            return
        try:
            await self._answer(scope, receive, send)
        finally:
            self._bytes.give_back(size)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await self._read(receive)
        except ClientDisconnect:
            return
        if body is None:
            await JSONResponse({"error": self._too_large()}, 413, HEADERS)(scope, receive, send)
            return
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Message:
            return messages.pop() if messages else await receive()

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self.app(scope, again, guarded)

    async def _read(self, receive: Receive) -> bytes | None:
        """Give the body, or none where it is too large."""
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self.max_body:
                return None
        return bytes(body)

    def _size(self, headers: Headers) -> int:
        """Return how many bytes a request may bring: its stated length, or the most where it states none."""
        return self.max_body if "transfer-encoding" in headers else int(headers.get("content-length", "0"))

    def refuse(self, method: str, headers: Headers) -> tuple[int, str]:
        """Give the status and the reason for which a request is refused, or no reason."""
        return self.refuse_sender(headers) or self.refuse_body(method, headers) or (200, "")

    def refuse_sender(self, headers: Headers) -> tuple[int, str] | None:
        """Refuse whoever names another host, or comes from another page."""
        host = headers.get("host", "")
        if host_name(host) not in self.hosts:
            return (
                403,
                f"`Host` must be this machine; received {host[:80]!r}. Open the address that the studio printed.",
            )
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return 403, f"`Origin` must be the studio's own page; received {origin[:80]!r}."
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, f"`Sec-Fetch-Site` must be same-origin; received {headers['sec-fetch-site'][:80]!r}."
        return None

    def refuse_body(self, method: str, headers: Headers) -> tuple[int, str] | None:
        """Refuse a body that is no JSON by its own account, or too large."""
        if method == "POST" and headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return 415, "`Content-Type` must be application/json."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.max_body:
            return 413, self._too_large()
        return None

    def _too_many(self) -> str:
        return f"Requests must have at most {self._bytes.most:,} bytes together, and so many do. Ask again in a moment."

    def _too_large(self) -> str:
        return f"A request must have at most {self.max_body:,} bytes; received more. Send less."


def host_name(host: str) -> str:
    """Give the host without its port, or nothing where it is none.

    >>> host_name("localhost:8000"), host_name("[::1]:8000"), host_name("127.0.0.1@evil.example"), host_name("")
    ('localhost', '::1', '', '')
    """
    try:
        parts = urlsplit(f"//{host}")
        plain = not (parts.username or parts.path or parts.query or parts.fragment) and (parts.port or 0) >= 0
    except ValueError:
        return ""
    return (parts.hostname or "") if plain and "@" not in host else ""
