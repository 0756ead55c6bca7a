"""Leave out pairs that teach a translation model nothing or the wrong thing, and say how many and which.

Reference: the limits are those of Moses' `clean-corpus-n.perl` (Koehn et al., 2007), with duplicates besides.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice

import numpy as np
from numpy.typing import NDArray

from regard.data.corpora.hash_set import HashSet
from regard.data.corpora.pair import Pair
from regard.data.corpora.report import Report
from regard.errors import ArgumentError

# Scripts written without spaces between words: a character is the nearest thing to a word.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")

_AT_ONCE = 8192


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
    Memory stays constant but for the duplicates: 8 bytes of hash for each pair; among a hundred million pairs
    the chance that one is taken for another is 3 in 10,000.

    >>> report = Report(title="cleaning")
    >>> pairs = [Pair(source="Ein Hund", target="A dog")] * 2 + [Pair(source="Ja", target="Yes " * 10)]
    >>> len(list(clean(pairs, Cleaning(), report=report)))
    1
    >>> print(report)
    cleaning: 1 of 3 kept
      duplicate        1   33.33 %  pair 2: 'Ein Hund ⇥ A dog'
      ratio            1   33.33 %  pair 3: 'Ja ⇥ Yes Yes Yes Yes Yes Yes Yes Yes Yes Yes '
    """
    sieve, remaining = Sieve(cleaning, report=report), iter(pairs)
    while portion := list(islice(remaining, _AT_ONCE)):
        yield from compress(portion, sieve.sift(portion))


class Sieve:
    """Says of portions of pairs, one after another, which stay."""

    def __init__(self, cleaning: Cleaning, *, report: Report | None = None) -> None:
        self.cleaning = cleaning
        self.report = Report(title="cleaning") if report is None else report
        self._digests = HashSet()

    def sift(self, portion: Sequence[Pair]) -> NDArray[np.bool_]:
        """Return which pairs of the next portion stay, counting the others in the report."""
        first = self.report.total + 1
        reasons = [_reason(pair, self.cleaning) for pair in portion]
        if self.cleaning.drop_duplicates:
            sound = [number for number, reason in enumerate(reasons) if reason is None]
            new = self._digests.add(np.array([_digest(portion[number]) for number in sound], dtype=np.uint64))
            for index in np.flatnonzero(~new):
                reasons[sound[index]] = "duplicate"
        for number, (pair, reason) in enumerate(zip(portion, reasons, strict=True), start=first):
            if reason is None:
                self.report.keep()
            else:
                self.report.drop(reason, place=f"pair {number}", text=f"{pair.source} ⇥ {pair.target}")
        return np.array([reason is None for reason in reasons], dtype=bool)


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


def _digest(pair: Pair) -> int:
    # The length keeps ("ab", "c") and ("a", "bc") apart.
    text = f"{len(pair.source)} {pair.source}{pair.target}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
