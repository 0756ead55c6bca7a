"""Pages: pictures as SVG with numbers to point at, alone or in a page that opens offline.

Words are only ever put in as text of an XML tree, which escapes them. There is no script.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from xml.etree import ElementTree

import torch
from matplotlib.transforms import Transform

from regard.inspection.drawing.map import Map
from regard.inspection.drawing.picture import Picture, Shown, Spot, write_number
from regard.inspection.drawing.words import readable

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
MOST_SPOTS = 20_000
"""Spots at most that show their number when pointed at."""
MOST_CELLS = 4_000
"""Numbers at most that are also written out in a table."""
_POINTS = 72  # in an inch
_STYLE = """
body { margin: 2rem auto; max-width: 64rem; padding: 0 1rem }
body { color: #1d2330; background: #fff; font: 1rem/1.5 sans-serif }
h1 { overflow-wrap: anywhere; font-size: 1.4rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem } dt { color: #4a5260 }
dd { margin: 0; overflow-wrap: anywhere }
svg { max-width: 100%; height: auto; background: #fff }
figure { margin: 0 } figcaption, summary { color: #4a5260 }
table { border-collapse: collapse; margin: 1rem 0; font-size: .8rem; font-variant-numeric: tabular-nums }
th, td { padding: .1rem .5rem; text-align: right; border-bottom: 1px solid #d9dde3 } caption { text-align: left }
.wide { overflow-x: auto } path.spot:hover, polygon.spot:hover { stroke: #d55e00; stroke-width: 1.5px }
@media (prefers-color-scheme: dark) {
  body { color: #e6e9ef; background: #14181f; color-scheme: dark }
  figcaption, summary, dt { color: #a9b2c0 } th, td { border-color: #39414e }
  svg { box-sizing: border-box; padding: .5rem; border-radius: .4rem }
}
"""


def svg_of(picture: Picture) -> str:
    """Give the picture as SVG, with a spot over each number that shows it when pointed at."""
    return ElementTree.tostring(_tree(picture), encoding="unicode")


def part_of(picture: Picture) -> str:
    """Give the picture as part of someone else's page, such as a notebook: no name in it clashes with another's."""
    tree = _tree(picture)
    prefix = "r" + hashlib.sha256(ElementTree.tostring(tree)).hexdigest()[:8]
    _rename(tree, prefix)
    tree.set("style", "max-width: 100%; height: auto; background: white")
    caveat = f"<figcaption>{_text(picture.caveat)}</figcaption>" if picture.caveat else ""
    return f'<figure style="margin: 0">{ElementTree.tostring(tree, encoding="unicode")}{caveat}</figure>'


def page_of(picture: Picture) -> str:
    """Give a page of its own."""
    title = _text(_title(picture))
    notes = [picture.caveat] if picture.caveat else []
    hidden = sum(map.values.numel() for map in picture.maps) - MOST_SPOTS
    if hidden > 0:
        notes.append(f"The {MOST_SPOTS:,} largest numbers are shown when pointed at; all are in the data.")
    about = "".join(f"<dt>{_text(name)}</dt><dd>{_text(words)}</dd>" for name, words in picture.about)
    about = f"<dl>{about}</dl>\n" if about else ""
    caption = f"<figcaption>{_text(' '.join(notes))}</figcaption>" if notes else ""
    tables = "".join(_table(map) for map in picture.maps if map.values.numel() <= MOST_CELLS)
    numbers = f'<details><summary>The numbers</summary><div class="wide">{tables}</div></details>' if tables else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{about}<figure>\n{svg_of(picture)}\n{caption}\n</figure>\n"
        f"{numbers}\n</main>\n</body>\n</html>\n"
    )


def _title(picture: Picture) -> str:
    words = picture.get_suptitle() or next((map.name for map in picture.maps if map.name), "Attention")
    return " ".join(words.split())


def _tree(picture: Picture) -> ElementTree.Element:
    """Parse what matplotlib wrote, and lay the spots over it."""
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    tree = ElementTree.fromstring(picture.svg_source())
    for metadata in tree.findall(f"{{{SVG}}}metadata"):
        tree.remove(metadata)
    tree.set("role", "img")
    tree.set("aria-label", readable(_title(picture)))
    height = picture.get_figheight() * _POINTS
    group = ElementTree.SubElement(tree, f"{{{SVG}}}g", {"fill": "transparent", "stroke": "none"})
    for shown, spot in _largest(picture.shown):
        transform = shown.axes.transData
        element = ElementTree.SubElement(group, *_shape(spot, transform, picture.dpi, height))
        ElementTree.SubElement(element, f"{{{SVG}}}title").text = readable(spot.text)
    return tree


def _largest(panels: Sequence[Shown]) -> Iterable[tuple[Shown, Spot]]:
    """Give the spots of all panels, the largest numbers first in each, no more than a page can bear."""
    for shown in panels:
        yield from ((shown, spot) for spot in islice(shown.spots(), MOST_SPOTS // len(panels)))


def _shape(spot: Spot, transform: Transform, dpi: float, height: float) -> tuple[str, dict[str, str]]:
    """Turn a spot into an element, in points from the top left."""
    points = [
        (x * _POINTS / dpi, height - y * _POINTS / dpi) for x, y in transform.transform(list(spot.points)).tolist()
    ]
    written = [f"{x:.2f} {y:.2f}" for x, y in points]
    if not spot.curve:
        return f"{{{SVG}}}polygon", {"class": "spot", "points": ",".join(written)}
    path = f"M {written[0]} C {', '.join(written[1:])}"
    style = "fill: none; stroke: transparent; stroke-width: 7px; pointer-events: stroke"
    return f"{{{SVG}}}path", {"class": "spot", "d": path, "style": style}


def _rename(tree: ElementTree.Element, prefix: str) -> None:
    """Put a prefix before every name in a picture, and wherever it is used."""
    for element in tree.iter():
        for name, value in list(element.attrib.items()):
            if name == "id":
                element.set(name, f"{prefix}-{value}")
            elif name == f"{{{XLINK}}}href" and value.startswith("#"):
                element.set(name, f"#{prefix}-{value[1:]}")
            elif "url(#" in value:
                element.set(name, re.sub(r"url\(#", f"url(#{prefix}-", value))


def _table(map: Map) -> str:
    """Write the numbers out, for whoever reads them by ear or wants to copy them."""
    allowed = torch.ones_like(map.values, dtype=torch.bool) if map.mask is None else map.mask
    columns = map.labels[1] if len(map.axes) == 2 else ("value",)
    cells = [
        [write_number(value) if open_ else "masked" for value, open_ in zip(row, allowed, strict=True)]
        for row, allowed in zip(
            map.values.reshape(-1, len(columns)).tolist(), allowed.reshape(-1, len(columns)).tolist(), strict=True
        )
    ]
    head = "".join(f'<th scope="col">{_text(word)}</th>' for word in columns)
    rows = "".join(
        f'<tr><th scope="row">{_text(word)}</th>' + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>"
        for word, row in zip(map.labels[0], cells, strict=True)
    )
    return f"<table><caption>{_text(map.name)}</caption><tr><td></td>{head}</tr>{rows}</table>"


def _text(words: str) -> str:
    return escape(readable(words))
