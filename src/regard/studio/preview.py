"""What a link to a saved view shows: a title, a sentence, and a card of its picture."""

import base64
import io
import zlib
from collections.abc import Iterator
from textwrap import wrap
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from PIL import Image

from regard.inspection.drawing.words import families, readable, short
from regard.studio.schema.keep import Recording
from regard.studio.single_file import About, make_page
from regard.studio.tensors import ROOT_LEVELS

TITLES = {
    "translate": "Translate",
    "read": "Read",
    "classify": "Classify",
    "ask": "Ask an image",
    "steps": "Step by step",
    "whatif": "What if",
    "compare": "Compare",
    "learn": "Learn",
    "mechanisms": "Mechanisms",
}
"""The views, as the page names them."""
SENTENCES = {
    "translate": "a translation, and which source words each output word attends to",
    "read": "what a language model attends to, and what it predicts next",
    "classify": "a label, and the words that it rests on",
    "ask": "a picture, a question, and where each word attends",
    "steps": "one query taken apart: scores, weights and context with every number",
    "whatif": "weights that can be forced, and what the model outputs then",
}
EMBER = LinearSegmentedColormap.from_list(
    "regard_ember", ["#fffcf5", "#fee4c4", "#fbb27a", "#ee6e4a", "#c82a4c", "#800e58", "#32073e"]
)
"""As the page colors weights on light ground: ordered by lightness, for readers who do not tell colors apart."""
FORMATS = ["PNG"]
CARD = (1200, 630)
"""Pixels, as sites show a link that has a picture."""
MAX_DRAWN = 40
"""Rows and columns of a map on the card."""
Table = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


class Drawn(NamedTuple):
    """A map with its words, or over a picture."""

    weights: Table
    rows: list[str]
    columns: list[str]
    picture: Image.Image | None = None


def linked_page(recording: Recording) -> str:
    """Give a view as one file whose head has title, description and preview picture."""
    card = base64.b64encode(draw_card(recording, width=CARD[0] // 2)).decode("ascii")
    title, description = describe(recording)
    return make_page(recording, About(title, description, f"data:image/png;base64,{card}"))


def describe(recording: Recording) -> tuple[str, str]:
    """Give the title of a recorded view, and a sentence on it."""
    view = TITLES.get(recording.view, recording.view)
    texts = _texts(recording)
    title = f"{view}: {' → '.join(texts)}" if texts else view
    names = ", ".join(item.name for item in recording.overview.models if item.name != "model")
    model = f" Model: {names}." if names else ""
    about = SENTENCES.get(recording.view, "what the model attends to, with its numbers")
    return title, f"{about[0].upper()}{about[1:]}.{model} Saved from regard studio {recording.overview.version}."


def _texts(recording: Recording) -> list[str]:
    """Give the text or the question, and the output where there is one."""
    state = parse_qs(recording.address.partition("?")[2])
    text = (state.get("text") or state.get("question") or [""])[0]
    output = ""
    for item in recording.answers:
        answer = item.answer if isinstance(item.answer, dict) else {}
        match item.verb:
            case "translate/search" if answer.get("outputs"):
                output = str(answer["outputs"][0]["text"])
            case "classify/read":
                output = str(answer.get("label", ""))
            case "ask/answer":
                output = str(answer.get("output", ""))
        if output:
            break
    return [" ".join(readable(item).split())[:120] for item in (text, output) if item.strip()]


def draw_card(recording: Recording, *, width: int = CARD[0]) -> bytes:
    """Draw the view's first map beside its title, as PNG."""
    figure = Figure(figsize=(CARD[0] / 100, CARD[1] / 100), dpi=100 * width / CARD[0], facecolor="#ffffff")
    texts, drawn = _texts(recording), next(_maps(recording), None)
    left = 0.05
    view = TITLES.get(recording.view, recording.view)
    figure.text(left, 0.86, f"regard · {view}", size=17, color="#5d5b69")
    space = 24 if drawn is not None else 52
    lines = [line for item in texts for line in [*wrap(item, space)[:5], ""]]
    for index, line in enumerate(lines[:9]):
        weight = "bold" if index > len(wrap(texts[0], space)[:5]) else "normal"
        text = figure.text(left, 0.74 - 0.075 * index, line, size=24, weight=weight, color="#1b1a22")
        text.set(parse_math=False, family=families([line]))
    if drawn is not None:
        _draw(figure, drawn)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    picture = Image.fromarray(pixels).convert("RGB").quantize(128)  # a card is small
    small = io.BytesIO()
    picture.save(small, format="png", optimize=True)
    return small.getvalue()


def _draw(figure: Figure, drawn: Drawn) -> None:
    axes: Axes = figure.add_axes((0.52, 0.06, 0.45, 0.76))
    most = float(drawn.weights.max()) if drawn.picture is not None or len(drawn.columns) > 24 else 1.0
    if drawn.picture is not None:
        axes.imshow(drawn.picture, extent=(0, 1, 0, 1), interpolation="nearest")
        axes.imshow(drawn.weights, extent=(0, 1, 0, 1), cmap=EMBER, vmin=0, vmax=most or 1, alpha=0.6)
        axes.set_axis_off()
        return
    axes.pcolormesh(drawn.weights, cmap=EMBER, vmin=0, vmax=most or 1, edgecolors="white", linewidth=1)
    axes.invert_yaxis()
    axes.set_aspect("equal" if len(drawn.rows) > 2 else "auto")
    size = max(6.0, min(15.0, 260 / max(len(drawn.rows), len(drawn.columns))))
    axes.set_yticks([index + 0.5 for index in range(len(drawn.rows))], drawn.rows, fontsize=size)
    axes.set_xticks([index + 0.5 for index in range(len(drawn.columns))], drawn.columns, fontsize=size)
    axes.tick_params(length=0, labeltop=True, labelbottom=False, labelrotation=0)
    for label in axes.get_xticklabels():
        label.set(rotation=40, ha="left", rotation_mode="anchor")
    for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
        label.set(parse_math=False, family=families([label.get_text()]))
    for spine in axes.spines.values():
        spine.set_visible(False)


def _maps(recording: Recording) -> Iterator[Drawn]:
    """Give the maps of what is shown, in the order of the answers."""
    picture: Image.Image | None = None
    keys: dict[str, list[str]] = {}
    for item in recording.answers:
        answer = item.answer if isinstance(item.answer, dict) else {}
        match item.verb:
            case "steps/read":
                keys = {layer["name"]: layer["keys"] for layer in answer.get("layers", [])}
            case "ask/picture" if "," in str(answer.get("picture", "")):
                sent = io.BytesIO(base64.b64decode(answer["picture"].partition(",")[2]))
                picture = Image.open(sent, formats=FORMATS).convert("RGB")
            case "ask/answer" if picture is not None and (answer.get("weights") or answer.get("maps")):
                table = unpacked(answer["weights"] or answer["maps"][0]["weights"])
                yield Drawn(table.reshape(-1, *table.shape[-2:]).mean(0), [], [], picture)
            case "classify/maps":
                for one in answer.get("maps", []):
                    yield _named(unpacked(one["weights"]).mean(0), one["queries"], one["keys"])
            case "steps/apart" if "weights" in answer:
                yield _named(unpacked(answer["weights"]).reshape(1, -1), [""], keys.get(item.body.get("layer", ""), []))
            case _:
                held = answer.get("attention", answer)
                if isinstance(held, dict) and held.get("maps") and "source" in held:
                    yield _first_map(held)


def _first_map(answer: dict[str, Any]) -> Drawn:
    first = answer["maps"][0]
    table = unpacked(first["weights"])
    layer = max(len(table) - (2 if first["id"] == "cross" else 1), 0)
    source, target = answer["source"]["tokens"], (answer.get("target") or answer["source"])["tokens"]
    head = first.get("guided_head")
    return _named(
        table[layer].mean(0) if head is None else table[layer][head],
        target if first["id"] == "cross" else source,
        source,
    )


def _named(table: Table, rows: list[str], columns: list[str]) -> Drawn:
    table = table[:MAX_DRAWN, :MAX_DRAWN]
    names = [[short(item) for item in side[:count]] for side, count in zip((rows, columns), table.shape, strict=True)]
    filled = [side + [""] * (count - len(side)) for side, count in zip(names, table.shape, strict=True)]
    return Drawn(table, filled[0], filled[1])


def unpacked(packed: dict[str, Any]) -> Table:
    """Read a tensor as the page does: exact numbers, or roots of shares."""
    if "float32" in packed:
        numbers = np.frombuffer(base64.b64decode(packed["float32"]), "<f4").astype(np.float64)
    else:
        levels = np.frombuffer(zlib.decompress(base64.b64decode(packed["roots"])), np.uint8).astype(np.float64)
        numbers = packed["scale"] * (levels / ROOT_LEVELS) ** 2
    return numbers.reshape(packed["shape"])
