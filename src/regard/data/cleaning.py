"""Leave out pairs that teach a translation model nothing or the wrong thing, and say how many and which.

Reference: the limits are those of Moses' `clean-corpus-n.perl` (Koehn et al., 2007), with duplicates besides.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from regard.data.pair import Pair
from regard.data.report import Report
from regard.errors import ArgumentError

# Scripts written without spaces between words: a character is the nearest thing to a word.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")


@dataclass(frozen=True, kw_only=True)
class Cleaning:
    """Which pairs to leave out."""

    drop_duplicates: bool = True
    """Leave out a pair that has come before, source and target alike."""
    drop_identical: bool = False
    """Leave out a pair whose source is its target: untranslated text, but also names and numbers."""
    min_words: int = 1
    """Fewest words on either side."""
    max_words: int = 200
    """Most words on either side."""
    max_ratio: float = 9.0
    """Most words on the longer side for each on the shorter."""

    def __post_init__(self) -> None:
        if not 1 <= self.min_words <= self.max_words:
            raise ArgumentError(
                f"`min_words` must be from 1 to `max_words` = {self.max_words}; received {self.min_words}."
            )
        if self.max_ratio < 1:
            raise ArgumentError(
                f"`max_ratio` must be at least 1; received {self.max_ratio}. It divides the longer side by the shorter."
            )


def clean(pairs: Iterable[Pair], cleaning: Cleaning, *, report: Report | None = None) -> Iterator[Pair]:
    """Stream the pairs that `cleaning` lets through, counting the others in `report` by reason.

    The reasons are `identical`, `short`, `long`, `ratio` and `duplicate`; a pair is counted under the first that holds.
    Memory stays constant but for the duplicates: 16 bytes of hash for each pair, about 100 in Python's set.

    >>> report = Report(title="cleaning")
    >>> pairs = [Pair(source="Ein Hund", target="A dog")] * 2 + [Pair(source="Ja", target="Yes " * 10)]
    >>> len(list(clean(pairs, Cleaning(), report=report)))
    1
    >>> print(report)
    cleaning: 1 of 3 kept
      duplicate        1   33.33 %  pair 2: 'Ein Hund ⇥ A dog'
      ratio            1   33.33 %  pair 3: 'Ja ⇥ Yes Yes Yes Yes Yes Yes Yes Yes Yes Yes '
    """
    report = Report(title="cleaning") if report is None else report
    seen: set[bytes] = set()
    for number, pair in enumerate(pairs, start=1):
        reason = _reason(pair, cleaning)
        if reason is None and cleaning.drop_duplicates:
            digest = _digest(pair)
            if digest in seen:
                reason = "duplicate"
            seen.add(digest)
        if reason is None:
            report.keep()
            yield pair
        else:
            report.drop(reason, place=f"pair {number}", text=f"{pair.source} ⇥ {pair.target}")


def count_words(text: str) -> int:
    """Count words as white space divides them, or Han and Kana characters where there are more of those.

    >>> count_words("Ein Hund läuft."), count_words("一只狗在跑。")
    (3, 5)
    """
    words = len(text.split())
    if text.isascii():
        return words
    return max(words, len(_UNSPACED.findall(text)))


def _reason(pair: Pair, cleaning: Cleaning) -> str | None:
    source, target = count_words(pair.source), count_words(pair.target)
    shorter, longer = min(source, target), max(source, target)
    if cleaning.drop_identical and pair.source == pair.target:
        return "identical"
    if shorter < cleaning.min_words:
        return "short"
    if longer > cleaning.max_words:
        return "long"
    return "ratio" if longer > cleaning.max_ratio * shorter else None


def _digest(pair: Pair) -> bytes:
    # The length keeps ("ab", "c") and ("a", "bc") apart.
    return hashlib.blake2b(f"{len(pair.source)} {pair.source}{pair.target}".encode(), digest_size=16).digest()
