"""Which word a token is part of: one rule, for texts that are read or generated, and for any tokenizer."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Span(NamedTuple):
    """A word of a text: `text[start:end]`."""

    start: int
    end: int


def spans_of(text: str, words: Sequence[str]) -> list[Span]:
    """Find words in the text that they were divided from, in order.

    >>> spans_of("a dog, a cat", ["a", "dog", ",", "a", "cat"])[2:4]
    [Span(start=5, end=6), Span(start=7, end=8)]
    """
    result: list[Span] = []
    for word in words:
        start = text.index(word, result[-1].end if result else 0)
        result.append(Span(start, start + len(word)))
    return result


def words_at(positions: Sequence[int], spans: Sequence[Span]) -> list[int]:
    """Give the index of the word that each character is in; a space belongs to the word after it, or to the last.

    A token is part of the word that its last character is in: its first may be the space before.

    >>> words_at([0, 1, 2, 4, 5, 6], spans_of("a dog ", ["a", "dog"]))
    [0, 1, 1, 1, 1, 1]
    """
    ends = np.array([span.end for span in spans], dtype=np.int64)
    numbers = np.searchsorted(ends, np.array(positions, dtype=np.int64), side="right")
    result: list[int] = np.minimum(numbers, max(len(spans) - 1, 0)).tolist()
    return result
