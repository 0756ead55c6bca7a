"""What words attended to in a picture: a map for each, drawn over the picture, in shades of text, or on a page."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL = 8.0
"""Equal shares of the positions at which a position is drawn in full, for every word and every model."""
SHADES = "·░▒▓█"
CAVEAT = (
    f"A map is what a word attended to, the mean over heads and layers; from {FULL:.0f} equal shares on a position is "
    "drawn in full. Weights are what a model attended to, not why it gave its output."
)
_ACROSS = 6
_INK = torch.tensor([213.0, 94.0, 0.0]) / 255


@dataclass(frozen=True, kw_only=True, eq=False)
class WordMaps:
    """A picture, words, and what each attended to."""

    image: Float[Tensor, "3 height width"]
    """Colors from 0 to 1, as the model read it."""
    words: tuple[str, ...]
    weights: Float[Tensor, "layers heads words rows columns"]
    """Over the positions of the picture, which sum to one, for every layer and head."""

    @property
    def maps(self) -> Float[Tensor, "words rows columns"]:
        """The mean over layers and heads."""
        return self.weights.mean((0, 1))

    @property
    def limit(self) -> float:
        """The weight that is drawn in full."""
        return min(1.0, FULL / self.maps[0].numel())

    def figure(self, *, title: str | None = None) -> "Figure":
        """Draw the picture, and once more for each word with its map over it."""
        from regard.inspection.drawing.figures import color_bar, draw_overlay
        from regard.inspection.drawing.panels import panels

        titles = ["the picture", *self.words]
        down = -(-len(titles) // _ACROSS)
        across = -(-len(titles) // down)
        figure, axes = panels(down, across, size=(1.7, 1.85), titles=titles, title=title)
        axes[0].imshow(self.image.permute(1, 2, 0).numpy(), interpolation="nearest")
        axes[0].axis("off")
        for each, weights in zip(axes[1:], self.maps, strict=False):
            each.title.set_parse_math(False)
            over = draw_overlay(each, self.image, weights.clamp(max=self.limit), limit=self.limit)
        for each in axes[len(titles) :]:
            each.set_visible(False)
        color_bar(over, axes, label=f"weight ({self.limit:.2g} or more)")
        return figure

    def text(self, *, width: int = 80) -> list[str]:
        """Draw the maps in shades of text, as many side by side as fit into `width` columns."""
        rows, columns = self.maps.shape[1:]
        cell = max(2 * columns, *(len(word) for word in self.words)) + 2
        beside = max(1, (width + 2) // cell)
        lines: list[str] = []
        for start in range(0, len(self.words), beside):
            words, maps = self.words[start : start + beside], self.maps[start : start + beside]
            lines += ["".join(_plain(word).ljust(cell) for word in words).rstrip()]
            for row in range(rows):
                parts = ("".join(2 * shade(weight / self.limit) for weight in item[row].tolist()) for item in maps)
                lines.append("".join(part.ljust(cell) for part in parts).rstrip())
            lines.append("")
        return lines[:-1]

    def html(self, *, alt: str) -> str:
        """Give the picture and a map for each word as part of a page: pictures that need no drawing library."""
        plain = _figure_html(self.image.permute(1, 2, 0), alt, "the picture")
        drawn = (
            _figure_html(overlay(self.image, weights, limit=self.limit), f"what {word} attended to", word)
            for word, weights in zip(self.words, self.maps, strict=True)
        )
        return f'<div class="maps">{plain}{"".join(drawn)}</div>'

    def to_json(self) -> list[dict[str, object]]:
        """Give each word with its map, for machines."""
        rounded = [[[round(cell, 6) for cell in row] for row in item] for item in self.maps.tolist()]
        return [{"word": word, "map": item} for word, item in zip(self.words, rounded, strict=True)]


def overlay(
    image: Float[Tensor, "3 height width"], weights: Float[Tensor, "rows columns"], *, limit: float
) -> Float[Tensor, "height width 3"]:
    """Lay a map over a picture in pale gray: the stronger the color, the larger the weight, up to `limit`.

    >>> overlay(torch.zeros(3, 4, 4), torch.eye(2), limit=1.0)[0, 0]
    tensor([0.8353, 0.3686, 0.0000])
    """
    gray = 0.4 + 0.6 * image.mean(0)
    share = torch.nn.functional.interpolate((weights / limit).clamp(0, 1)[None, None], size=gray.shape)[0, 0]
    return gray.unsqueeze(-1) * (1 - share).unsqueeze(-1) + _INK * share.unsqueeze(-1)


def _figure_html(pixels: Float[Tensor, "height width 3"], alt: str, caption: str) -> str:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray((pixels.clamp(0, 1) * 255).round().byte().numpy()).save(buffer, format="png")
    data = base64.b64encode(buffer.getvalue()).decode()
    shown = f'<img width="128" height="128" style="image-rendering:pixelated" alt="{escape(alt)}"'
    return f'<figure>{shown} src="data:image/png;base64,{data}"><figcaption>{escape(caption)}</figcaption></figure>'


def shade(share: float) -> str:
    """Give a character as dark as a share from 0 to 1.

    >>> [shade(one) for one in (0, 0.3, 0.5, 0.7, 1.0)]
    ['·', '░', '▒', '▓', '█']
    """
    return SHADES[min(len(SHADES) - 1, int(share * len(SHADES)))]


def chances(probabilities: Sequence[tuple[str, float]]) -> str:
    """Write answers with their probabilities.

    >>> chances([("red", 0.75), ("blue", 0.25)])
    'red 0.750, blue 0.250'
    """
    return ", ".join(f"{name} {probability:.3f}" for name, probability in probabilities)


def _plain(word: str) -> str:
    """Take out what a terminal would obey instead of show."""
    return "".join(item if item.isprintable() else "�" for item in word)
