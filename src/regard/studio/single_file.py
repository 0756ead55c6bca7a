"""One file that opens anywhere: the studio's page with answers baked in, in place of a server."""

import base64
import hashlib
import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from regard import __version__
from regard.errors import ArgumentError
from regard.files import finite

PARTS = ("index.html", "studio.css", "studio.js")
"""What is built from web/."""
MAX_BYTES = 10 * 2**20
"""Letters of answers after which no more is recorded that a visitor may, but need not ask."""
Watch = Callable[[str, int, int], None]
"""Receives what is being recorded, how many are, and of how many."""


class Answer(NamedTuple):
    """What was asked and what was answered, as they travel in JSON."""

    verb: str
    body: dict[str, Any]
    answer: Any


class Recorded(NamedTuple):
    """All that a single file can show."""

    view: str
    """The view it opens."""
    address: str
    """The state of that view, as in the page's address."""
    models: list[dict[str, Any]]
    answers: list[Answer]
    left_out: int = 0
    """Questions of a visitor that are not answered, because the file would be too large."""


def make_page(recorded: Recorded) -> str:
    """Put script, style and answers into one file, which loads nothing and may load nothing."""
    overview = {"version": __version__, "models": recorded.models, "preparing": None}
    baked = {
        "overview": overview,
        "view": recorded.view,
        "address": recorded.address,
        "answers": [item._asdict() for item in recorded.answers],
        "left_out": recorded.left_out,
    }
    return _fill(json.dumps(finite(baked), ensure_ascii=False, separators=(",", ":"), allow_nan=False))


def check_letters(name: str, text: str | None, *, most: int) -> None:
    """Refuse a text that is longer than the studio takes one."""
    if text is not None and len(text) > most:
        raise ArgumentError(f"`{name}` must have at most {most:,} letters; received {len(text):,}. Shorten it.")


def empty_page() -> str:
    """Give the file without answers; the button "Save as one file" puts its own in place of `null`."""
    return _fill("null")


@cache
def read_static(name: str) -> bytes:
    """Read one of the built files, which lie beside this one."""
    return (files("regard.studio") / "static" / name).read_bytes()


def watch_nothing(what: str, done: int, total: int) -> None:
    """Show no progress."""


def _fill(data: str) -> str:
    # In JSON, `<` occurs within strings alone: so written, no sentence can end the element it stands in.
    data = data.replace("<", "\\u003c")
    page, style, script = (read_static(name).decode() for name in PARTS)
    script, style = script.replace("</script", "<\\/script"), style.replace("</style", "<\\/style")
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        '<link rel="stylesheet" href="studio.css">': f"<style>{style}</style>",
        '<script type="module" src="studio.js"></script>': (
            f'<script type="application/json" id="recorded">{data}</script><script type="module">{script}</script>'
        ),
        "<title>": f'<meta http-equiv="Content-Security-Policy" content="{policy}"><title>',
    }
    for marker, part in parts.items():
        page = page.replace(marker, part, 1)
    return page


def _digest(text: str) -> str:
    """Name an inline part as a content security policy does."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
