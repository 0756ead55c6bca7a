"""What a model attends to, in two lines of text: its output, and below each word the one with most weight."""

from rich.cells import cell_len
from rich.text import Text

from regard.cli.terminal import sanitize
from regard.training.watch import SampleWeights

_SURE = 0.5
"""The weight from which a word counts as attended to; others are shown in brackets, and dim."""


def draw_attention(attended: SampleWeights, *, width: int, indent: str = "    ") -> list[Text]:
    """Write the tokens of the output above the source tokens that had most weight, as far as `width` allows.

    >>> weights = SampleWeights(("Yo", "soy"), ("I", "am"), ((0.9, 0.1), (0.3, 0.7)))
    >>> [line.plain for line in draw_attention(weights, width=80)]
    ['    I   am', '    Yo  soy']
    """
    target_line, source_line = Text(indent), Text(indent)
    used = cell_len(indent)
    for number, (token, row) in enumerate(zip(attended.target, attended.weights, strict=True)):
        weight = max(row, default=0.0)
        position = row.index(weight) if weight else -1
        word = _plain(attended.source[position]) if position >= 0 else "·"
        sure = weight >= _SURE
        word = word if sure else f"({word})"
        column = max(cell_len(_plain(token)), cell_len(word))
        if used + column + 4 > width and number:
            target_line.append("…")
            break
        _append(target_line, _plain(token), column, "bold")
        _append(source_line, word, column, "" if sure else "dim")
        used += column + 2
    for line in (target_line, source_line):
        line.rstrip()
    return [target_line, source_line]


def _append(line: Text, text: str, column: int, style: str) -> None:
    line.append(text, style)
    line.append(" " * (column - cell_len(text) + 2))


def _plain(token: str) -> str:
    """Leave out the mark that stands for a space."""
    return sanitize(token.removeprefix("▁") or token)
