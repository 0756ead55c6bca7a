"""Join words and marks, as `words` divides them, into text as it is written."""

from collections.abc import Iterable, Iterator

_CLINGS_LEFT = frozenset([*",.;:?!)]}%…”’‰°™®", "'s", "’s"])
_CLINGS_RIGHT = frozenset("¿¡([{„‘#$£")
_CLINGS_BOTH = frozenset("/")
_SUSPENDED = frozenset(("und", "oder", "bis", "bzw"))  # Haus- und Gartentiere


def join_words(words: Iterable[str]) -> str:
    """Write words with the spaces that their marks ask for.

    - `, . ; : ? ! ) ] } % … ” ’ 's` follow without a space; `¿ ¡ ( [ { „ ‘ # $ £` are followed without one; `/` both.
    - Straight quotes open and close in turn. `“` closes where `„` has opened (German), and opens otherwise (English).
    - A lone `'` closes where one is open or after an s (the dogs' tails), and opens otherwise.
    - `.` and `:` between digits take no space (3.5, 10:30), nor does `,` before three digits (1,000), nor `.` between
      single letters of one case (p.m., U.S.); `-` before und, oder, bis follows without one (Haus- und Gartentiere).
    - Every other mark, such as a dash or an ampersand, has a space on both sides.

    What the words no longer say is lost: the joined text is not always the original one.

    >>> join_words(["¿", "Qué", "dice", "el", '"', "Stop", '"', "(", "o", "no", ")", "?"])
    '¿Qué dice el "Stop" (o no)?'
    """
    return "".join(_spaced(list(words)))


def _spaced(words: list[str]) -> Iterator[str]:
    is_open: set[str] = set()
    apart = False
    for index, word in enumerate(words):
        before, after = _clings(word, words, index, is_open)
        if apart and not before:
            yield " "
        yield word
        apart = not after


def _clings(word: str, words: list[str], index: int, is_open: set[str]) -> tuple[bool, bool]:
    """Return whether `word` stands without a space before it and after it."""
    if word in _CLINGS_BOTH:
        return True, True
    if word in ('"', "'", "“", "„"):
        return _quote(word, words[index - 1] if index else "", is_open)
    if 0 < index < len(words) - 1 and word in (".", ":", ",", "-"):
        previous, following = words[index - 1], words[index + 1]
        if word == "-":
            return following in _SUSPENDED, False
        if previous.isdecimal() and following.isdecimal() and (word != "," or len(following) == 3):
            return True, True
        if word == "." and _are_initials(previous, following):
            return True, True
    return word in _CLINGS_LEFT, word in _CLINGS_RIGHT


def _are_initials(first: str, second: str) -> bool:
    return len(first) == len(second) == 1 and (first + second).isalpha() and first.isupper() == second.isupper()


def _quote(mark: str, previous: str, is_open: set[str]) -> tuple[bool, bool]:
    opener = "„" if mark == "“" and "„" in is_open else mark
    if mark != "„" and opener in is_open:
        is_open.discard(opener)
        return (mark != "“" or opener == "„"), mark == "“" and opener != "„"
    if mark == "'" and previous.endswith("s") and previous.isalpha():
        return True, False
    is_open.add(mark)
    return False, True
