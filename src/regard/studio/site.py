"""`regard studio --export site/`: chosen views as a folder of pages, with a tour, for any host of plain files."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import ArgumentError, nearest
from regard.files import write_text
from regard.studio.models import Models, Opened
from regard.studio.pages import (
    can_take_apart,
    record_classification,
    record_reading,
    record_relabeling,
    record_scene,
    record_steps,
    record_translation,
    record_what_if,
)
from regard.studio.preview import SENTENCES, TITLES, describe, draw_card
from regard.studio.schema.keep import Recording
from regard.studio.single_file import PARTS, About, Watch, head, read_static, site_page, watch_nothing

VIEWS = tuple(SENTENCES)
"""Views that a site can have, in the order of its tour."""
STOPS = {
    "translate": (
        "Each row is an output word, each column a source word: dark cells are large weights. "
        "Play the steps, then click a cell."
    ),
    "read": "A language model reads from left to right. Each row holds the earlier words that a word attends to.",
    "classify": "Words are shaded by how much they count for the label: by weight, leave-one-out and gradient.",
    "ask": "Each word of the question attends to positions of the picture. Choose another question.",
    "steps": "Take one query apart: scores, softmax, the weighted sum of values. Choose another query above.",
    "whatif": "Force a weight to zero, or mask a word, and see what the model outputs then.",
}
"""What a visitor of the tour is asked to do at each stop."""


STYLE = """\
body {
  display: flex;
  flex-direction: column;
}
.tour {
  order: -1;
  display: flex;
  flex-wrap: wrap;
  gap: 0.3rem 0.8rem;
  padding: 0.5rem 1.6rem;
  background: var(--accent-soft);
  font-size: 0.9rem;
}
.tour span {
  flex: 1 1 20rem;
}
.site {
  max-width: 70rem;
  margin: 0 auto;
  padding: 2rem 1.2rem;
}
.site ol {
  list-style: none;
  display: grid;
  grid-template-columns: repeat(auto-fill, minmax(19rem, 1fr));
  gap: 1.4rem;
  margin: 1.4rem 0;
}
.site img {
  width: 100%;
  height: auto;
  border: 1px solid var(--line);
  border-radius: 10px;
}
"""
"""Of what a site has beside the views."""


class Stop(NamedTuple):
    """A page of the site."""

    view: str
    recording: Recording
    about: About

    @property
    def link(self) -> str:
        """Where it begins."""
        return f"{self.view}.html#{self.recording.address}"


def export_site(
    models: Models, folder: Path, *, views: Sequence[str] = (), text: str = "", watch: Watch = watch_nothing
) -> list[Path]:
    """Write a page for each view, the tour index.html, previews, and the script and style that all pages share.

    Without `views`, those that the open models have. `text` is read by the translator and the language model; the
    others read the examples of the studio. Give the files.
    """
    for view in views:
        if view not in VIEWS:
            raise ArgumentError(f"`view` must be one of {', '.join(VIEWS)}; received {view!r}. {nearest(view, VIEWS)}")
    recorded = {view: record for view, record in _recorders(models, text, watch) if not views or view in views}
    missing = [view for view in views if view not in recorded]
    if missing or not recorded:
        wanted = ", ".join(missing) or "at least one"
        raise ArgumentError(
            f"`view` must have a model that is open; received {wanted}. Name one: regard studio FOLDER."
        )
    folder.mkdir(parents=True, exist_ok=True)
    names = [view for view in VIEWS if view in recorded]
    stops, written = [], []
    for view in names:
        recording = recorded[view]().model_copy(update={"pages": {name: f"{name}.html" for name in names}})
        (folder / f"{view}.png").write_bytes(draw_card(recording))
        stops.append(Stop(view, recording, About(*describe(recording), f"{view}.png")))
        written.append(folder / f"{view}.png")
    for index, stop in enumerate(stops):
        page = folder / f"{stop.view}.html"
        write_text(page, site_page(stop.recording, stop.about, beside=_guide(stops, index)))
        written.append(page)
    for name in PARTS[1:]:
        (folder / name).write_bytes(read_static(name))
        written.append(folder / name)
    write_text(folder / "index.html", _index(stops))
    write_text(folder / "site.css", STYLE)
    shutil.copyfile(folder / f"{names[0]}.png", folder / "preview.png")
    return [*written, *(folder / name for name in ("index.html", "site.css", "preview.png"))]


def _recorders(models: Models, text: str, watch: Watch) -> Iterator[tuple[str, Callable[[], Recording]]]:
    """Give for each view what records it, of the first model that it shows."""
    translator, classifier, language, vision = (
        next(iter(models.all(kind)), None) for kind in ("translator", "classifier", "language", "vision")
    )
    if translator is not None:
        source, thing = _text(translator, text), translator.thing
        how: dict[str, Any] = {"name": translator.name, "watch": watch}
        yield "translate", lambda: record_translation(thing, source, **how)
        if can_take_apart(thing, source):
            yield "steps", lambda: record_steps(thing, source, **how)
            yield "whatif", lambda: record_what_if(thing, source, **how)
    if language is not None:
        reader = language
        yield "read", lambda: record_reading(reader.thing, _text(reader, text), name=reader.name, watch=watch)
    if classifier is not None:
        labels = classifier
        own = _text(labels, "" if translator else text)
        more = [item.text for item in labels.about.examples if item.text != own][:2]
        yield "classify", lambda: record_classification(labels.thing, [own, *more], name=labels.name, watch=watch)
        if translator is None and can_take_apart(labels.thing, own):
            yield "steps", lambda: record_steps(labels.thing, own, name=labels.name, watch=watch)
            yield "whatif", lambda: record_relabeling(labels.thing, own, name=labels.name, watch=watch)
    if vision is not None:
        seer = vision
        yield "ask", lambda: record_scene(seer.thing, name=seer.name, watch=watch)


def _text(opened: Opened, text: str) -> str:
    examples = [item.text for item in opened.about.examples]
    if not text and not examples:
        raise ArgumentError(
            f"`text` must be given for {opened.name}, which has no examples; received none. Give one of its language."
        )
    return text or examples[0]


def _guide(stops: Sequence[Stop], index: int) -> str:
    """Write the line of the tour above a view."""
    stop, after = stops[index], stops[(index + 1) % len(stops)]
    onward = "Begin again" if index == len(stops) - 1 else f"Next: {TITLES[after.view]}"
    return (
        f'<aside class="tour" aria-label="Tour"><a href="index.html">Tour</a> <b>{index + 1} of {len(stops)}</b> '
        f'<span>{escape(STOPS[stop.view])}</span> <a href="{escape(after.link)}">{onward}</a></aside>'
    )


def _index(stops: Sequence[Stop]) -> str:
    """Write the first page: the tour, a card for each stop."""
    cards = "".join(
        f'<li><a href="{escape(stop.link)}"><img src="{stop.view}.png" alt="" width="1200" height="630">'
        f"<h2>{index + 1} · {TITLES[stop.view]}</h2></a><p>{escape(STOPS[stop.view])}</p></li>"
        for index, stop in enumerate(stops)
    )
    first = stops[0].about
    about = About(
        f"What the model attends to: {first.title}", f"{first.description} A tour of {len(stops)} views.", "preview.png"
    )
    version = escape(stops[0].recording.overview.version)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'self' file:; "
        "img-src 'self' file: data:\">"
        f'{head(about)}<link rel="icon" href="data:,"><link rel="stylesheet" href="studio.css">'
        '<link rel="stylesheet" href="site.css"></head>'
        f'<body><main class="site"><h1>What the model attends to</h1>'
        f"<p>Every number on these pages is the model's own. Begin the tour, or open any view.</p>"
        f'<ol>{cards}</ol><p class="dim small">Made by regard studio {version}.</p></main></body></html>\n'
    )
