"""One file that opens anywhere: the studio's page with answers baked in, in place of a model."""

import base64
import hashlib
import json
from typing import Any, NamedTuple
from urllib.parse import urlencode

from regard import __version__
from regard.data.special import END
from regard.studio.honesty import measure
from regard.studio.looking import look, read_source
from regard.studio.models import describe
from regard.studio.server import read_static
from regard.studio.translate import find, tell, tell_honesty
from regard.tasks.translator import Translator

MAX_BYTES = 4 * 2**20
"""Of answers on hypotheses that search had on its way; the others are there in any case."""


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


def translation_page(translator: Translator, text: str, *, beam: int = 5) -> str:
    """Give a page that shows one translation from every side, as the view Translate does."""
    return make_page(record_translation(translator, text, beam=beam))


def record_translation(translator: Translator, text: str, *, beam: int = 5) -> Recorded:
    """Ask whatever a visitor of one sentence may ask: search, every output, and the hypotheses on the way."""
    asked = {"model": "", "text": text}
    source, _ = read_source(translator, text)
    found = find(translator, text, beam=beam)
    answers = [Answer("translate/search", asked | {"beam": beam}, found)]
    outputs = [one["tokens"] for one in found["outputs"]]
    size = 0
    for tokens in outputs + [path for path in _paths(found["tree"]) if path not in outputs]:
        if size > MAX_BYTES and tokens not in outputs:
            break
        body = asked | {"tokens": tokens}
        answers.append(Answer("translate/look", body, tell(look(translator, source, tokens), translator)))
        size += len(json.dumps(answers[-1].answer))
        if tokens in outputs:
            checks = tell_honesty(measure(translator, source, tokens)) | {"others": []}
            answers.append(Answer("translate/honesty", body, checks))
    address = f"translate?{urlencode({'text': text, 'beam': beam})}"
    return Recorded("translate", address, [describe("model", translator)], answers)


def make_page(recorded: Recorded) -> str:
    """Put script, style and answers into one file, which loads nothing and may load nothing."""
    page, style, script = (read_static(name).decode() for name in ("index.html", "studio.css", "studio.js"))
    overview = {"version": __version__, "models": recorded.models, "preparing": None}
    baked = {
        "overview": overview,
        "view": recorded.view,
        "address": recorded.address,
        "answers": [one._asdict() for one in recorded.answers],
    }
    # In JSON, `<` occurs within strings alone: so written, no sentence can end the element it stands in.
    data = json.dumps(baked, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
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
    for place, part in parts.items():
        page = page.replace(place, part, 1)
    return page


def _digest(text: str) -> str:
    """Name an inline part as a content security policy does."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _paths(tree: list[list[dict[str, Any]]]) -> list[list[int]]:
    """List the hypotheses that search kept, as tokens, shorter ones first."""
    found: list[list[int]] = []
    before: list[list[int]] = [[]]
    for step in tree:
        before = [[*before[one["parent"]], one["id"]] for one in step]
        found += [path for path, one in zip(before, step, strict=True) if one["kept"] and path[:-1].count(END) == 0]
    return found
