"""One file that opens anywhere: the studio's page with answers baked in, in place of a server."""

import base64
import hashlib
import json
from collections.abc import Callable
from functools import cache
from importlib.resources import files

from regard.files import finite
from regard.studio.schema.keep import Recording

PARTS = ("index.html", "studio.css", "studio.js")
"""What is built from web/."""
Watch = Callable[[str, int, int], None]
"""Receives what is being recorded, how many are, and of how many."""


def make_page(recording: Recording) -> str:
    """Put script, style and answers into one file, which loads nothing and may load nothing."""
    baked = finite(recording.model_dump(exclude_none=True))
    baked["overview"]["preparing"] = None
    return _fill(json.dumps(baked, ensure_ascii=False, separators=(",", ":"), allow_nan=False))


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
