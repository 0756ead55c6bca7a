"""The first time a corpus is read: cleaned, hashed and counted, and held for as long as it is small."""

import hashlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.corpora.cleaning import Cleaning, Sieve
from regard.data.corpora.pair import Pair
from regard.data.corpora.report import Report
from regard.data.corpora.sentence_groups import SentenceHashes
from regard.data.corpora.split import TEST, TRAIN, VALID, HeldOut
from regard.data.corpora.streamed import Pairs, StreamedPairs

_AT_ONCE = 8192
_MOST_WORDS = 100_000
_DROPPED = -1


class Divided(NamedTuple):
    """What there is to train on, held or streamed, and what is held out."""

    train: Pairs
    valid: list[Pair]
    test: list[Pair]


class Intake:
    """What is known of a corpus after one pass: a byte for each pair read, 32 of hashes for each that stays.

    Up to `in_memory` pairs are held as they are; beyond that, none.
    """

    def __init__(self, cleaning: Cleaning, *, salt: str, held_out: Sequence[Pair], in_memory: int) -> None:
        self.hashes = SentenceHashes(salt)
        self.words, self.vocabulary, self.linked = 0, set[str](), False
        self._cleaning, self._leaks = Report(title="cleaning"), Report(title="held out for validation")
        self._sieve = Sieve(cleaning, report=self._cleaning)
        self._known = HeldOut(held_out) if held_out else None
        self._digest = hashlib.sha256()
        self._stays = array("b")
        self._in_memory = in_memory
        self._held: list[Pair] | None = []

    @property
    def reports(self) -> tuple[Report, ...]:
        """What was left out, and why."""
        return (self._cleaning,) if self._known is None else (self._cleaning, self._leaks)

    def read(self, pairs: Iterable[Pair], *, count: Callable[[int], None] | None = None) -> None:
        """Take in a corpus."""
        remaining = iter(pairs)
        while portion := list(islice(remaining, _AT_ONCE)):
            stays = self._sieve.sift(portion)
            if self._known is not None:
                stays[stays] = [not self._leaks_out(pair) for pair in compress(portion, stays)]
            self._stays.frombytes(stays.astype(np.int8).tobytes())
            self._take(list(compress(portion, stays)))
            if count is not None:
                count(len(self._stays))

    def divide(self, sides: NDArray[np.int8], read: Callable[[], Iterator[Pair]]) -> Divided:
        """Give the pairs of each side; where they are not held, `read` begins to read the corpus again."""
        if self._held is not None:
            train, valid, test = (list(compress(self._held, sides == side)) for side in (TRAIN, VALID, TEST))
            return Divided(train, valid, test)
        every = np.array(self._stays, dtype=np.int8) - 1  # −1 for what is dropped
        every[every != _DROPPED] = sides
        self._digest.update(sides.tobytes())
        streamed = StreamedPairs(
            read=read,
            sides=every,
            side=TRAIN,
            words=self.words,
            vocabulary=len(self.vocabulary),
            linked=self.linked,
            digest=self._digest.hexdigest(),
        )
        held_out: list[Pair] = []
        if (sides != TRAIN).any():
            held_out = list(StreamedPairs(read=read, sides=np.maximum(every, 0).clip(max=1), side=1))
        valid, test = (list(compress(held_out, sides[sides != TRAIN] == side)) for side in (VALID, TEST))
        return Divided(streamed, valid, test)

    def _take(self, pairs: list[Pair]) -> None:
        for pair in pairs:
            self.hashes.add(pair)
        if self._held is not None and len(self._held) + len(pairs) <= self._in_memory:
            self._held += pairs
            return
        if self._held is not None:
            held, self._held = self._held, None
            self._count(held)
        self._count(pairs)

    def _count(self, pairs: Iterable[Pair]) -> None:
        for pair in pairs:
            self._digest.update(pair_bytes(pair))
            words = pair.target.split()
            self.words += len(words)
            self.linked = self.linked or bool(pair.links)
            if len(self.vocabulary) < _MOST_WORDS:
                self.vocabulary.update(words)

    def _leaks_out(self, pair: Pair) -> bool:
        leaks = self._known is not None and self._known.shares(pair)
        if leaks:
            location = f"pair {self._leaks.total + 1}"
            self._leaks.drop("held out", place=location, text=f"{pair.source} ⇥ {pair.target}")
        else:
            self._leaks.keep()
        return leaks


def pair_bytes(pair: Pair) -> bytes:
    """Write a pair as bytes, for a checksum."""
    return f"{pair.source}\t{pair.target}\t{' '.join(map(str, pair.links))}\n".encode()
