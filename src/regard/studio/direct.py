"""A studio that Python asks: the same app and the same answers as for a page, without a server."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.types import Message

from regard.errors import ArgumentError
from regard.studio.models import Models
from regard.studio.schema.keep import KeepAnswer, Question, RecordedAnswer, Recording
from regard.studio.server import create_app
from regard.studio.single_file import Watch, watch_nothing


class Direct:
    """Asks whatever the page may ask."""

    def __init__(self, models: Models, portal: BlockingPortal) -> None:
        self.models, self._portal, self._app = models, portal, create_app(models)

    def ask(self, verb: str, body: Mapping[str, Any]) -> Any:
        """Give the answer as it travels in JSON; a refusal is an `ArgumentError`."""
        status, text = self._portal.call(self._send, f"/api/{verb}", json.dumps(body).encode())
        answer = json.loads(text)
        if status != 200:
            raise ArgumentError(answer["error"])
        return answer

    async def _send(self, path: str, body: bytes) -> tuple[int, bytes]:
        sent: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        status, parts = 500, []

        async def receive() -> Message:
            if not sent:
                await asyncio.Event().wait()  # nobody hangs up
            return sent.pop()

        async def send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            parts.append(message.get("body", b""))

        headers = {"host": "127.0.0.1", "content-type": "application/json", "content-length": str(len(body))}
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        await self._app(scope, receive, send)
        return status, b"".join(parts)

    def record(
        self, view: str, state: Mapping[str, Any], shown: Sequence[Question], *, watch: Watch = watch_nothing
    ) -> Recording:
        """Record a view at an address: what it shows, and whatever a reader may ask of it, as far as there is space."""
        answers = [RecordedAnswer(**dict(item), answer=self.ask(item.verb, item.body)) for item in shown]
        keep = KeepAnswer(**self.ask("keep/likely", {"shown": [item.model_dump() for item in shown]}))
        size, left_out = sum(len(json.dumps(item.answer)) for item in answers), keep.left_out
        for done, item in enumerate(keep.likely):
            if size > keep.max_bytes:
                left_out += len(keep.likely) - done
                break
            watch("recording answers", done, len(keep.likely))
            answers.append(self._record(item))
            size += len(json.dumps(answers[-1].answer))
        overview = self.models.overview().model_copy(update={"models": keep.models, "waiting": [], "preparing": None})
        return Recording(
            overview=overview, view=view, address=write_address(view, state), answers=answers, left_out=left_out
        )

    def _record(self, question: Question) -> RecordedAnswer:
        try:
            return RecordedAnswer(**dict(question), answer=self.ask(question.verb, question.body))
        except ArgumentError as error:
            return RecordedAnswer(**dict(question), refusal=str(error))


def write_address(view: str, state: Mapping[str, Any]) -> str:
    """Write the address of a view, as the page has it after `#`."""
    return f"{view}?{urlencode({name: value for name, value in state.items() if value is not None})}"


@contextmanager
def direct(models: Models) -> Iterator[Direct]:
    """Open a studio for Python to ask, also where an event loop runs already, as in a notebook."""
    with start_blocking_portal() as portal:
        yield Direct(models, portal)
