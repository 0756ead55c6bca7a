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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.corpora.pair import Pair
from regard.data.corpora.report import Report
from regard.data.corpora.sentence_groups import SentenceHashes, comparable
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
    check_sides(sides, fractions)
    splits = Splits([], [], [])
    for pair, side in zip(pairs, sides, strict=True):
        splits[side].append(pair)
    return splits


def assign_sides(pairs: Iterable[Pair], fractions: Fractions) -> NDArray[np.int8]:
    """Give the side of each pair: 0 train, 1 valid, 2 test.

    The pairs are read once and not kept: 24 bytes of hashes each.

    >>> dogs = [Pair(source="Hund", target="dog"), Pair(source="Rüde", target="Dog")]
    >>> sides = assign_sides(dogs, Fractions(valid=0.4, test=0.4))
    >>> bool(sides[0] == sides[1])
    True
    """
    hashes = SentenceHashes(fractions.salt)
    for pair in pairs:
        hashes.add(pair)
    return choose_sides(hashes, fractions)


def choose_sides(hashes: SentenceHashes, fractions: Fractions) -> NDArray[np.int8]:
    """Give the side of each pair whose sentences were taken in: 0 train, 1 valid, 2 test."""
    of_pair, sizes, draws = hashes.groups()
    held_out = sizes <= fractions.largest
    valid = held_out & (draws < fractions.valid)
    test = held_out & ~valid & (draws < fractions.valid + fractions.test)
    sides = np.full(len(sizes), TRAIN, dtype=np.int8)
    sides[valid], sides[test] = VALID, TEST
    return sides[of_pair]


def check_sides(sides: NDArray[np.int8], fractions: Fractions) -> None:
    """Raise where a side that was asked for stays empty, or none is left to train on."""
    counts = np.bincount(sides, minlength=3)
    for name, share, count in (("valid", fractions.valid, counts[VALID]), ("test", fractions.test, counts[TEST])):
        if share and not count:
            raise DataError(
                f"`{name}` = {share:g} must hold out at least one pair; received none of {len(sides):,}. Give a larger "
                f"share (data.hold_out.{name}), more pairs, or a {name} file of your own. Pairs that share a sentence "
                "stay together, and each group is drawn by its text."
            )
    if len(sides) and not counts[TRAIN]:
        raise DataError(f"The split must leave pairs to train on; received 0 of {len(sides):,}. Give more pairs.")


def drop_leaks(pairs: Iterable[Pair], held_out: Iterable[Pair], *, report: Report | None = None) -> Iterator[Pair]:
    """Leave out of `pairs` whatever shares a source or a target with `held_out`, a test set from elsewhere.

    >>> train = [Pair(source="Hund", target="dog"), Pair(source="Katze", target="cat")]
    >>> list(drop_leaks(train, [Pair(source="Rüde", target="Dog")]))
    [Pair(source='Katze', target='cat', links=())]
    """
    report = Report(title="held out elsewhere") if report is None else report
    known = HeldOut(held_out)
    for number, pair in enumerate(pairs, start=1):
        if not known.shares(pair):
            report.keep()
            yield pair
        else:
            report.drop("held out", place=f"pair {number}", text=f"{pair.source} ⇥ {pair.target}")


class HeldOut:
    """The sentences of pairs that must not be trained on."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._sources, self._targets = set[str](), set[str]()
        for pair in pairs:
            self._sources.add(comparable(pair.source))
            self._targets.add(comparable(pair.target))

    def shares(self, pair: Pair) -> bool:
        """Whether a pair has a source or a target in common with them."""
        return comparable(pair.source) in self._sources or comparable(pair.target) in self._targets
