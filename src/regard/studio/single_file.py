"""One file that opens anywhere: the studio's page with answers baked in, in place of a server."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import NamedTuple

from regard.files import finite
from regard.studio.schema.keep import Recording

PARTS = ("index.html", "studio.css", "studio.js")
"""What is built from web/."""
TITLE = "<title>regard studio</title>"
Watch = Callable[[str, int, int], None]
"""Receives what is being recorded, how many are, and of how many."""


class About(NamedTuple):
    """What a link to a page shows: its title, a sentence, and a picture."""

    title: str
    description: str
    picture: str = ""
    """The address of a PNG: a file beside the page, or `data:image/png;base64,…`; nothing where there is none."""


def make_page(recording: Recording, about: About | None = None) -> str:
    """Put script, style and answers into one file, which loads nothing and may load nothing."""
    return _fill(bake(recording), about)


def empty_page() -> str:
    """Give the file without answers; the button "Save as one file" puts its own in place of `null`."""
    return _fill("null")


def site_page(recording: Recording, about: About, *, beside: str = "") -> str:
    """Give a page of a site, whose script and style lie beside it; `beside` is HTML that stands behind the view.

    The script is loaded as a plain one: browsers load no module, and check no checksum, of a file that lies beside a
    page on disk. There `'self'` is nothing, so that files are named, which a page of a server cannot load.
    """
    own = "'self' file:"
    policy = (
        f"default-src 'none'; script-src {own}; style-src {own}; img-src {own} data:; base-uri 'none'; "
        "form-action 'none'"
    )
    data = f'<script type="application/json" id="recorded">{_unclosed(bake(recording))}</script>'
    return _replace(
        {
            '<script type="module" src="studio.js"></script>': (f'{data}<script defer src="studio.js"></script>'),
            TITLE: f'<meta http-equiv="Content-Security-Policy" content="{policy}">{head(about)}',
            "</head>": '<link rel="stylesheet" href="site.css"></head>',
            "</body>": f"{beside}</body>",
        }
    )


def bake(recording: Recording) -> str:
    """Write what a page holds as JSON."""
    baked = finite(recording.model_dump(exclude_none=True))
    baked["overview"]["preparing"] = None
    return json.dumps(baked, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def head(about: About) -> str:
    """Write title, description and preview picture, as pages have them that are linked to."""
    title, description = escape(about.title), escape(about.description)
    image = f'<meta property="og:image" content="{escape(about.picture)}">' if about.picture else ""
    return (
        f'<title>{title}</title><meta name="description" content="{description}">'
        f'<meta property="og:type" content="article"><meta property="og:title" content="{title}">'
        f'<meta property="og:description" content="{description}">{image}'
    )


@cache
def read_static(name: str) -> bytes:
    """Read one of the built files, which lie beside this one."""
    return (files("regard.studio") / "static" / name).read_bytes()


def watch_nothing(what: str, done: int, total: int) -> None:
    """Show no progress."""


def _fill(data: str, about: About | None = None) -> str:
    style, script = (read_static(name).decode() for name in PARTS[1:])
    script, style = script.replace("</script", "<\\/script"), style.replace("</style", "<\\/style")
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    title = TITLE if about is None else head(about)
    return _replace(
        {
            '<link rel="stylesheet" href="studio.css">': f"<style>{style}</style>",
            '<script type="module" src="studio.js"></script>': (
                f'<script type="application/json" id="recorded">{_unclosed(data)}</script>'
                f'<script type="module">{script}</script>'
            ),
            TITLE: f'<meta http-equiv="Content-Security-Policy" content="{policy}">{title}',
        }
    )


def _replace(parts: Mapping[str, str]) -> str:
    page = read_static("index.html").decode()
    for marker, part in parts.items():
        page = page.replace(marker, part, 1)
    return page


def _unclosed(data: str) -> str:
    """Write JSON so that no sentence can end the element it stands in: `<` occurs within strings alone."""
    return data.replace("<", "\\u003c")


def _digest(text: str) -> str:
    """Name an inline part as a content security policy does."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
