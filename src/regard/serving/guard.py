"""Who may ask a server, and how much: the studio's guard, for programs instead of a page."""

from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp

from regard.studio.guard import LOOPBACK, MAX_OPEN, Guard, host_name


class ServerGuard(Guard):
    """Bound the bytes of requests, and, where `hosts` are named, refuse pages of others that a browser has open.

    Without a key, a page of a stranger could send requests to loopback too. So a request must then name one of `hosts`,
    which a domain that resolves to 127.0.0.1 does not, and no other page as its origin.
    """

    def __init__(self, app: ASGIApp, *, max_body: int, hosts: Iterable[str] | None = LOOPBACK) -> None:
        super().__init__(app, hosts=hosts or (), max_body=max_body, max_open=max(MAX_OPEN, 2 * max_body))
        self._checks_host = hosts is not None

    def refuse_sender(self, headers: Headers) -> tuple[int, str] | None:
        """Refuse another host and another page, where it matters."""
        if not self._checks_host:
            return None
        host, origin = headers.get("host", ""), headers.get("origin")
        if host_name(host) not in self.hosts:
            names = ", ".join(sorted(self.hosts))
            return 403, (
                f"`Host` must be one of {names}; received {host[:80]!r}. Behind another name, let the server ask for "
                "a key: --key-file."
            )
        if origin is not None and origin != f"http://{host}":
            return 403, f"`Origin` must be this server; received {origin[:80]!r}. Pages of others may not ask it."
        return None
