"""Quality by length as bars of text."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

_EIGHTHS = " ▏▎▍▌▋▊▉"

#: A score, and between what it lies: `Interval` of regard.evaluation.bootstrap is one.
Score: TypeAlias = tuple[float, float, float]


def draw_lengths(
    scores: Mapping[str, Sequence[Score]],
    *,
    bins: Sequence[str],
    sentences: Sequence[int],
    metric: str = "BLEU",
    width: int = 80,
) -> list[str]:
    """Draw a bar for each system in each bin of lengths, the longest bar the highest score.

    >>> for line in draw_lengths({"fixed": [(31.0, 27.0, 34.0)], "bahdanau": [(62.0, 58.0, 66.0)]},
    ...                          bins=["0–9"], sentences=[190], width=50):
    ...     print(line)
    words  n    BLEU, 95 %
    0–9    190  fixed     ██████▌        31.0  27–34
                bahdanau  █████████████  62.0  58–66
    """
    top = max(value for result in scores.values() for value, _, _ in result)
    first, second = max(5, *map(len, bins)), max(1, *(len(f"{count:,}") for count in sentences))
    names = max(map(len, scores)) + 2 if len(scores) > 1 else 0
    start = first + second + 4
    cells = max(8, width - start - names - 15)  # of which the numbers take 15
    lines = [f"{'words':<{first}}  {'n':<{second}}  {metric}, 95 %"]
    for index, (label, count) in enumerate(zip(bins, sentences, strict=True)):
        for row, (name, result) in enumerate(scores.items()):
            head = f"{label:<{first}}  {count:>{second},}  " if row == 0 else " " * start
            value, low, high = result[index]
            output = f"{name:<{names}}" if names else ""
            lines.append(
                f"{head}{output}{bar(value, top=top, cells=cells):<{cells}} {value:5.1f}  {low:.0f}–{high:.0f}"
            )
    return lines


def bar(value: float, *, top: float, cells: int) -> str:
    """Draw a value as a bar of up to `cells` characters, exact to an eighth of one.

    >>> bar(5.5, top=8.0, cells=8)
    '█████▌'
    """
    eighths = round(8 * cells * value / top) if top > 0 else 0
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")
