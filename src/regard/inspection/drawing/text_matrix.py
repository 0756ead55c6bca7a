"""Weights drawn in text: a matrix of shaded blocks for terminals, target words down, source words across."""

from collections.abc import Sequence

from jaxtyping import Bool, Float
from rich.cells import cell_len, set_cell_size
from torch import Tensor

from regard.errors import ArgumentError

SHADES = ((0.05, "· "), (0.25, "░░"), (0.5, "▒▒"), (0.75, "▓▓"))
"""What is drawn below each weight; above the last, a full block."""

_FULL = "██"
_MASKED = "  "
_CELL = 2
_WIDEST_LABEL = 18
_LEAST_SPACE = 8


def draw_weights(
    weights: Float[Tensor, "target source"],
    source: Sequence[str],
    target: Sequence[str],
    *,
    mask: Bool[Tensor, "target source"] | None = None,
    width: int = 80,
) -> list[str]:
    """Draw a matrix of weights from 0 to 1 as lines of text, none wider than `width` columns.

    A stem leads from each source word down to its column. Words that are too wide end in an ellipsis; so does the
    matrix, where the source has more words than there is space for. Wide characters count as two columns. Cells that
    `mask` closes stay empty; `legend` says what the others mean.

    >>> import torch
    >>> print("\\n".join(draw_weights(torch.tensor([[0.1, 0.9], [0.6, 0.4]]), ["perro", "negro"], ["black", "dog"])))
          ╭ perro
          │ ╭ negro
    black ░░██
      dog ▓▓▒▒
    """
    if tuple(weights.shape) != (len(target), len(source)):
        raise ArgumentError(
            f"`weights` must have a row for each of the {len(target)} target words and a column for each of the "
            f"{len(source)} source words; received {tuple(weights.shape)}."
        )
    source, target = [_plain(word) for word in source], [_plain(word) for word in target]
    margin = min(max(map(cell_len, target), default=0), _WIDEST_LABEL, max(width - 3 * _LEAST_SPACE, _LEAST_SPACE))
    shown = _columns_shown(source, width - margin - 1)
    lines = [
        " " * (margin + 1) + "│ " * column + "╭ " + _fit(word, width - margin - 3 - _CELL * column)
        for column, word in enumerate(source[:shown])
    ]
    more = len(source) - shown
    if more:
        rest = f"… {more} more"
        space = width - margin - 1 - _CELL * shown
        lines.append(" " * (margin + 1) + "│ " * shown + (rest if len(rest) <= space else "…"))
    closed = [[False] * len(source)] * len(target) if mask is None else (~mask).tolist()
    for word, row, hidden in zip(target, weights.tolist(), closed, strict=True):
        cells = [_MASKED if is_hidden else _shade(weight) for is_hidden, weight in zip(hidden, row, strict=True)][
            :shown
        ]
        drawn = "".join(cells) + "…" * bool(more)
        lines.append(f"{_right(_fit(word, margin), margin)} {drawn}".rstrip())
    return lines


def legend(*, masked: bool = False, width: int = 80) -> str:
    """Describe in a line what the signs of `draw_weights` mean; nothing where it does not fit.

    >>> print(legend(masked=True))
    · < 0.05 ≤ ░ < 0.25 ≤ ▒ < 0.5 ≤ ▓ < 0.75 ≤ █   (empty: masked)
    """
    signs = "".join(f"{block[0]} < {bound:g} ≤ " for bound, block in SHADES) + _FULL[0]
    line = signs + ("   (empty: masked)" if masked else "")
    return next((item for item in (line, signs) if len(item) <= width), "")


def _columns_shown(source: Sequence[str], space: int) -> int:
    """Count the columns that fit with their words, of which the last may be cut down to a few characters."""
    for count in range(len(source), 0, -1):
        needed = _CELL * count + (len("… 99 more") if count < len(source) else 0)
        last = min(cell_len(source[count - 1]), _LEAST_SPACE)
        if max(needed, _CELL * count + last) <= space:
            return count
    return min(len(source), 1)


def _shade(weight: float) -> str:
    return next((block for bound, block in SHADES if weight < bound), _FULL)


def _fit(word: str, space: int) -> str:
    if cell_len(word) <= space:
        return word
    return set_cell_size(word, max(space - 1, 0)).rstrip() + "…" if space > 0 else ""


def _right(word: str, width: int) -> str:
    return " " * (width - cell_len(word)) + word


def _plain(word: str) -> str:
    """Take out what a terminal would obey instead of show."""
    return "".join(item if item.isprintable() else "�" for item in word)
