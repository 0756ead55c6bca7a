"""Divide a corpus into training, validation and test pairs that share no sentence, the same way every time.

Pairs that share a source or a target are tied together, directly or through others (one English sentence with three
translations, one of which has a second English original, and so on). A whole such group falls on one side, chosen by
hashing one of its sentences, so that the order of the pairs, their number and the machine play no part.

**What never moves, and what may.** The sentence that decides is the one whose hash is smallest, and a second,
independent hash of it gives the side. A pair that brings only new sentences therefore moves nothing. A pair that joins
a group of n sentences moves it only where its new sentence becomes the smallest, one time in n + 1, and says another
side: 8 times in 100 of those, with 2 % held out for each. A pair that ties two groups on different sides must move one
of them, for they may not be split. A group that grows beyond `largest` pairs moves to training for good.
"""

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.pair import Pair
from regard.data.report import Report
from regard.errors import ArgumentError, DataError

TRAIN, VALID, TEST = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class Fractions:
    """How much of the corpus to hold out."""

    valid: float = 0.02
    """Share of the groups held out for validation."""
    test: float = 0.02
    """Share of the groups held out for the test."""
    largest: int = 50
    """Groups with more pairs than this always train: a large tangle would swamp a held-out side."""
    salt: str = ""
    """Change it for another division."""

    def __post_init__(self) -> None:
        for name, share in (("valid", self.valid), ("test", self.test)):
            if not 0 <= share < 1:
                raise ArgumentError(f"`{name}` must be a share from 0 to below 1; received {share}.")
        if self.valid + self.test >= 1:
            raise ArgumentError(
                f"`valid` + `test` must leave something to train on, below 1; received {self.valid + self.test:g}."
            )


class Splits(NamedTuple):
    """Three lists of pairs, in the order they came."""

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]


def split(pairs: Sequence[Pair], fractions: Fractions) -> Splits:
    """Divide `pairs`; a held-out side that stays empty although it was asked for is an error."""
    sides = assign_sides(pairs, fractions)
    splits = Splits([], [], [])
    for pair, side in zip(pairs, sides, strict=True):
        splits[side].append(pair)
    for name, share, held_out in (("valid", fractions.valid, splits.valid), ("test", fractions.test, splits.test)):
        if share and not held_out:
            raise DataError(
                f"`{name}` = {share:g} must hold out at least one pair; received none of {len(pairs):,}. Give a larger "
                f"share, more pairs, or a {name} file of your own."
            )
    if pairs and not splits.train:
        raise DataError(f"The split must leave pairs to train on; received 0 of {len(pairs):,}. Give more pairs.")
    return splits


def assign_sides(pairs: Iterable[Pair], fractions: Fractions) -> NDArray[np.int8]:
    """Give the side of each pair: 0 train, 1 valid, 2 test.

    The pairs are read once and not kept: some 200 bytes of memory per distinct sentence.

    >>> dogs = [Pair(source="Hund", target="dog"), Pair(source="Rüde", target="Dog")]
    >>> sides = assign_sides(dogs, Fractions(valid=0.4, test=0.4))
    >>> bool(sides[0] == sides[1])
    True
    """
    groups = _Groups()
    # A pair belongs to the group of its source, so only that is kept.
    members = np.fromiter((groups.add(pair, fractions.salt) for pair in pairs), dtype=np.int64)
    roots = np.array([groups.find(member) for member in range(len(groups.parents))], dtype=np.int64)
    if not len(members):
        return np.zeros(0, dtype=np.int8)
    pair_roots = roots[members]
    sizes = np.bincount(pair_roots, minlength=len(roots))
    smallest = np.full(len(roots), np.iinfo(np.uint64).max, dtype=np.uint64)
    order = np.array(groups.orders, dtype=np.uint64)
    np.minimum.at(smallest, roots, order)
    draws = np.zeros(len(roots))
    deciding = order == smallest[roots]
    draws[roots[deciding]] = np.array(groups.draws)[deciding]
    held_out = sizes <= fractions.largest
    valid = held_out & (draws < fractions.valid)
    test = held_out & ~valid & (draws < fractions.valid + fractions.test)
    return (VALID * valid + TEST * test).astype(np.int8)[pair_roots]


def drop_leaks(pairs: Iterable[Pair], held_out: Iterable[Pair], *, report: Report | None = None) -> Iterator[Pair]:
    """Leave out of `pairs` whatever shares a source or a target with `held_out`, a test set from elsewhere.

    >>> train = [Pair(source="Hund", target="dog"), Pair(source="Katze", target="cat")]
    >>> list(drop_leaks(train, [Pair(source="Rüde", target="Dog")]))
    [Pair(source='Katze', target='cat', links=())]
    """
    report = Report(title="held out elsewhere") if report is None else report
    known = {key for pair in held_out for key in _keys(pair)}
    for number, pair in enumerate(pairs, start=1):
        if known.isdisjoint(_keys(pair)):
            report.keep()
            yield pair
        else:
            report.drop("held out", place=f"pair {number}", text=f"{pair.source} ⇥ {pair.target}")


def comparable(text: str) -> str:
    """Bring a sentence to the form in which two count as the same: NFC, without case, white space single.

    >>> comparable(" Ein  HUND ") == comparable("ein hund")
    True
    """
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).split())


def _keys(pair: Pair) -> tuple[str, str]:
    # The first letter keeps a source apart from the same text as a target.
    return "s" + comparable(pair.source), "t" + comparable(pair.target)


class _Groups:
    """Union-find over sentences; sentences are known by their hash alone."""

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {}
        self.parents: list[int] = []
        self.orders: list[int] = []  # decides which sentence speaks for its group
        self.draws: list[float] = []  # which side it then says, from 0 to 1

    def add(self, pair: Pair, salt: str) -> int:
        source, target = (self._number(key, salt) for key in _keys(pair))
        first, second = self.find(source), self.find(target)
        self.parents[max(first, second)] = min(first, second)
        return source

    def find(self, member: int) -> int:
        parents = self.parents
        while parents[member] != member:
            parents[member] = parents[parents[member]]
            member = parents[member]
        return member

    def _number(self, key: str, salt: str) -> int:
        digest = hashlib.blake2b(f"{salt}\0{key}".encode(), digest_size=24).digest()
        number = self.numbers.setdefault(digest[:16], len(self.parents))
        if number == len(self.parents):
            self.parents.append(number)
            self.orders.append(int.from_bytes(digest[:8], "big"))
            self.draws.append(int.from_bytes(digest[16:], "big") / 2**64)
        return number
