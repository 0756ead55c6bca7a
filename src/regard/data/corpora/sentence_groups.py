"""Tie pairs together that share a sentence, knowing sentences by their hashes alone: 24 bytes a pair."""

import hashlib
import unicodedata
from array import array
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regard.data.corpora.pair import Pair

Hashes: TypeAlias = NDArray[np.uint64]
Integers: TypeAlias = NDArray[np.int64]


class Groups(NamedTuple):
    """Which group each pair is in, by the number of its first pair, and what is known of the groups."""

    of_pair: Integers
    sizes: Integers
    """How many pairs the group of each number has."""
    draws: NDArray[np.float64]
    """A number from 0 to 1 for the group of each number, a hash of the sentence that speaks for it."""


class SentenceHashes:
    """The sentences of a stream of pairs.

    >>> hashes = SentenceHashes()
    >>> for source, target in [("Hund", "dog"), ("Katze", "cat"), ("Rüde", "Dog")]:
    ...     hashes.add(Pair(source=source, target=target))
    >>> hashes.groups().of_pair.tolist()
    [0, 1, 0]
    """

    def __init__(self, salt: str = "") -> None:
        self._salt = salt
        self._source, self._target, self._draws = array("Q"), array("Q"), array("Q")

    def __len__(self) -> int:
        return len(self._source)

    def add(self, pair: Pair) -> None:
        """Take in the sentences of the next pair."""
        # The first letter keeps a source apart from the same text as a target.
        source = _digest(f"{self._salt}\0s{comparable(pair.source)}")
        target = _digest(f"{self._salt}\0t{comparable(pair.target)}")
        self._source.append(int.from_bytes(source[:8], "big"))
        self._target.append(int.from_bytes(target[:8], "big"))
        # The sentence with the smaller hash may come to speak for the group; its second hash is what it then says.
        self._draws.append(int.from_bytes(min(source, target)[16:], "big"))

    def groups(self) -> Groups:
        """Tie the pairs together, directly or through others."""
        source, target, draws = (
            np.frombuffer(item, dtype=np.uint64) for item in (self._source, self._target, self._draws)
        )
        group = _connect(len(source), _ties(source), _ties(target))
        smaller = np.minimum(source, target)
        smallest = np.full(len(group), np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(smallest, group, smaller)
        speaks = np.flatnonzero(smaller == smallest[group])
        shares = np.zeros(len(group))
        shares[group[speaks]] = draws[speaks] / 2.0**64
        return Groups(group, np.bincount(group, minlength=len(group)), shares)


def comparable(text: str) -> str:
    """Bring a sentence to the form in which two count as the same: NFC, without case, white space single.

    >>> comparable(" Ein  HUND ") == comparable("ein hund")
    True
    """
    if text.isascii():
        return " ".join(text.lower().split())
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=24).digest()


def _ties(hashes: Hashes) -> tuple[Integers, Integers]:
    """Find the pairs with the same sentence: each, and the next that has it."""
    order = np.argsort(hashes, kind="stable")
    same = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
    return order[same], order[same + 1]


def _connect(count: int, *ties: tuple[Integers, Integers]) -> Integers:
    """Number the groups of tied pairs by their first pair.

    Each round hangs the group with the larger number below the other wherever a tie crosses, and then lets every pair
    point at the first of its group.
    """
    group = np.arange(count)
    left, right = (np.concatenate(ends) for ends in zip(*ties, strict=True))
    while len(left):
        left_group, right_group = group[left], group[right]
        crosses = left_group != right_group
        left, right, left_group, right_group = left[crosses], right[crosses], left_group[crosses], right_group[crosses]
        np.minimum.at(group, np.maximum(left_group, right_group), np.minimum(left_group, right_group))
        while True:
            further = group[group]
            if np.array_equal(further, group):
                break
            group = further
    return group
