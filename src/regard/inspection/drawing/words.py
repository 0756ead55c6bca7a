"""Words as they are drawn: nothing that a page or a terminal would obey, short enough, in a font that has them."""

from collections.abc import Iterable, Sequence
from functools import cache

from matplotlib.font_manager import FontProperties, findfont, fontManager
from matplotlib.ft2font import FT2Font

from regard.errors import ArgumentError

LONGEST = 32
"""Characters of a word that are drawn; pointed at, it is shown whole."""
_FAMILY = "DejaVu Sans"  # comes with matplotlib


def readable(word: str) -> str:
    """Show what cannot be seen, or would be obeyed, as a mark: control characters, and those that turn text around.

    >>> readable("a\\x00b\\u202e\\n")
    'a�b��'
    """
    return "".join(item if item.isprintable() else "�" for item in word)


def short(word: str) -> str:
    """Leave out the middle of a word that is too long to draw.

    >>> short("Donaudampfschifffahrtselektrizitätenhauptbetriebswerk")
    'Donaudampfschifff…ptbetriebswerk'
    """
    word = readable(word)
    return word if len(word) <= LONGEST else word[: LONGEST - 15] + "…" + word[-14:]


def check_labels(side: str, labels: Sequence[str] | None, count: int) -> list[str]:
    """Give the labels, or numbers where there are none; too few or too many are an error."""
    words = [str(index) for index in range(count)] if labels is None else list(labels)
    if len(words) != count or isinstance(labels, str):
        result = "one string" if isinstance(labels, str) else str(len(words))
        raise ArgumentError(f"`{side}_labels` must name {count} positions; received {result}.")
    return words


def families(words: Iterable[str]) -> list[str]:
    """Name fonts that have the characters of all words between them, as far as any font here has."""
    missing = {item for word in words for item in word if ord(item) > 126} - _characters(_path(_FAMILY))
    return [_FAMILY, *_others("".join(sorted(missing))), "sans-serif"] if missing else [_FAMILY]


@cache
def _others(missing: str) -> tuple[str, ...]:
    """Choose fonts until every character is had, or no font has more."""
    wanted, chosen = set(missing), []
    fonts = {
        entry.name: entry.fname for entry in fontManager.ttflist if entry.style == "normal" and entry.weight == 400
    }
    for name in sorted(fonts):
        if wanted and wanted & (held := _characters(fonts[name])):
            chosen.append(name)
            wanted -= held
    return tuple(chosen)


def _path(family: str) -> str:
    return findfont(FontProperties(family=[family]))


@cache
def _characters(path: str) -> frozenset[str]:
    try:
        return frozenset(map(chr, FT2Font(path).get_charmap()))
    except (OSError, RuntimeError):  # a file that is no font any more
        return frozenset()


def inches(words: Iterable[str]) -> float:
    """Guess how much space words take beside a map."""
    return 0.085 * max((len(short(word)) for word in words), default=0)
