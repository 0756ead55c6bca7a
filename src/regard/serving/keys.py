"""API keys: kept as checksums, compared in constant time, read from a file or a variable, never from an argument."""

import hashlib
import hmac
import os
from collections.abc import Iterable
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from regard.errors import ArgumentError
from regard.files import read_text

SHORTEST = 16
"""Characters of a key."""
OPEN = frozenset({"/health", "/ready"})
"""What is answered without a key: it says nothing of models or users."""
MOST_BYTES = 2**16
"""Of a file of keys."""


class Keys:
    """The keys of those who may ask; none where anyone may."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._digests = [_digest(key) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def allow(self, header: str) -> bool:
        """Tell whether an `Authorization` header has one of the keys, in a time that does not depend on which."""
        scheme, _, key = header.partition(" ")
        received = _digest(key.strip())
        equal = [hmac.compare_digest(received, digest) for digest in self._digests]
        return any(equal) and scheme.lower() == "bearer"


def read_keys(path: Path | None, variable: str | None) -> Keys:
    """Read the keys of a file, one a line, and of the variable, one between spaces.

    Empty lines and those that begin with # are left out.
    """
    lines = [] if path is None else read_text(path, most=MOST_BYTES).splitlines()
    keys = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    if path is not None and not keys:
        raise ArgumentError(f"`key_file` must hold a key a line; {path} has none. Make one: openssl rand -hex 24.")
    keys += (variable or "").split()
    for number, key in enumerate(keys, start=1):
        if len(key) < SHORTEST or not key.isascii() or not key.isprintable() or " " in key:
            raise ArgumentError(
                f"A key must have at least {SHORTEST} letters, digits or marks of ASCII, and no spaces; received "
                f"{len(key)} characters as number {number}. Make one: openssl rand -hex 24."
            )
    return Keys(keys)


def readable_by_others(path: Path) -> bool:
    """Tell whether other users of this machine may read a file."""
    return os.name == "posix" and bool(path.stat().st_mode & 0o077)


class RequireKey:
    """Answer 401 to whoever has no key."""

    def __init__(self, app: ASGIApp, *, keys: Keys) -> None:
        self.app, self.keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and self.keys and scope["path"] not in OPEN:
            header = Headers(scope=scope).get("authorization", "")
            if not self.keys.allow(header):
                problem = "not one of the server's keys" if header else "none"
                refusal = {"error": f"`Authorization` must be Bearer and an API key; received {problem}."}
                await JSONResponse(refusal, 401, {"www-authenticate": "Bearer"})(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
