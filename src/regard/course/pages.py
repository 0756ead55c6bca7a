"""Pages that chapters show beside their text: one file each, without scripts, that loads nothing."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

from regard.errors import ArgumentError
from regard.inspection.drawing.page import part_of
from regard.inspection.drawing.picture import Picture

_STYLE = """
body { margin: 1rem; color: #1d2330; background: #fff; font: .95rem/1.5 system-ui, sans-serif }
h1 { font-size: 1.1rem; margin: 0 0 .4rem } p { margin: .4rem 0; max-width: 48rem }
input { position: absolute; opacity: 0 }
label { display: inline-block; margin: .15rem .15rem .15rem 0; padding: .2rem .7rem; border: 1px solid #b9c0cb }
label { border-radius: 1rem; cursor: pointer } section { display: none; margin-top: .8rem }
svg { max-width: 100%; height: auto; background: #fff } figcaption { color: #4a5260 }
path.spot:hover, polygon.spot:hover { stroke: #d55e00; stroke-width: 1.5px }
@media (prefers-color-scheme: dark) {
  body { color: #e6e9ef; background: #14181f; color-scheme: dark } figcaption { color: #a9b2c0 }
  svg { box-sizing: border-box; padding: .5rem; border-radius: .4rem }
}
"""


class Page:
    """A whole page as text, which a notebook shows in a frame of its own."""

    def __init__(self, html: str, *, height: int = 560) -> None:
        self.html, self.height = html, height

    def to_html(self) -> str:
        """Give the page."""
        return self.html

    def save(self, path: str | Path) -> None:
        """Write the page to a file, which opens in any browser."""
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {self.height}px; border: 1px solid #ccc"
        return f'<iframe srcdoc="{escape(self.html)}" style="{style}"></iframe>'


def choices(title: str, pictures: Mapping[str, Picture], *, about: str = "") -> Page:
    """Make a page that shows one of several pictures, chosen by a row of buttons; numbers show when pointed at.

    >>> from regard.inspection import bars
    >>> import torch
    >>> page = choices("Two rows", {"one": bars(torch.ones(2) / 2), "other": bars(torch.tensor([0.0, 1.0]))})
    >>> page.html.count("<svg"), "<script" in page.html
    (2, False)
    """
    if not pictures:
        raise ArgumentError("`pictures` must hold one or more; received none.")
    numbers = range(len(pictures))
    shown = "".join(
        f"#c{n}:checked ~ div label[for=c{n}] {{ background: #0072b2; border-color: #0072b2; color: #fff }}\n"
        f"#c{n}:focus-visible ~ div label[for=c{n}] {{ outline: 2px solid #d55e00 }}\n"
        f"#c{n}:checked ~ #s{n} {{ display: block }}\n"
        for n in numbers
    )
    buttons = "".join(
        f'<input type="radio" name="c" id="c{n}" aria-controls="s{n}"{" checked" if n == 0 else ""}>' for n in numbers
    )
    labels = "".join(f'<label for="c{n}">{escape(name)}</label>' for n, name in enumerate(pictures))
    sections = "".join(
        f'<section id="s{n}" aria-label="{escape(name)}">{part_of(picture)}</section>'
        for n, (name, picture) in enumerate(pictures.items())
    )
    text = f"<p>{escape(about)}</p>" if about else ""
    return Page(
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}{shown}</style>\n</head>\n<body>\n<main>\n<h1>{escape(title)}</h1>\n{text}\n"
        f"{buttons}<div>{labels}</div>\n{sections}\n</main>\n</body>\n</html>\n"
    )
