"""From a grammar to a stream of distinct pairs, each in one split whatever the seed.

A sentence belongs to a split by a hash of its English, without case, accents and marks. The English is a function of
the source, so neither a source nor a target is ever in two splits, for any seeds, sizes and lengths. (A statement and a
question that differ only in their marks have different English, and may be in different splits.)
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from regard.data.builtin.draw import Draw
from regard.data.builtin.synchrony import Phrase, Words, make_pair
from regard.data.corpora.pair import Pair
from regard.data.respelling import bare

Split: TypeAlias = Literal["train", "valid", "test", "long", "lectures"]

SHORT = 20
"""The most words a training sentence has by default; longer ones are also shared with the split `long`."""

_LETTERS = re.compile(r"\w+")
_ROOM = 8  # how far a length may run ahead of its share
_INSISTENCE = 500  # draws in vain before lengths may be uneven, because some have run out
_PATIENCE = 10_000  # draws in vain before the grammar counts as exhausted


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """A synchronous grammar: `derive` gives a sentence of about so many words, or nothing if the draw came to nothing.

    `lectures` are the sentences kept out of every other split.
    """

    name: str
    derive: Callable[[Draw, int], Phrase | None]
    lectures: tuple[Phrase, ...]


def normalize(text: str) -> str:
    """Keep only what a hasty typist keeps: no case, no accents, no marks.

    >>> normalize("¿Me puedes traer un tenedor?")
    'me puedes traer un tenedor'
    """
    return " ".join(_LETTERS.findall(bare(text)))


def split_of(target: str) -> Split:
    """Say which split a sentence is in, by its English.

    Of the short ones a tenth is for `valid`, a tenth for `test`; half of the long ones are for `long`.
    """
    return _split_of(normalize(target))


def _split_of(key: str) -> Split:
    share = _hash(key)
    if share < 0.2:
        return "valid" if share < 0.1 else "test"
    return "long" if share < 0.7 and len(key.split()) > SHORT else "train"


def _hash(key: str) -> float:
    """Give a number from 0 to 1 for a text."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big") / 2**64


def draw_texts(derive: Callable[[], str], *, split: Split, known: Iterable[str] = ()) -> Iterator[str]:
    """Draw texts that differ from each other and from those `known`, a tenth of all for `valid`, a tenth for `test`.

    A text belongs to a split by its hash, so that no seeds and sizes put one in two of them. They end where drawing
    gives nothing new any more.
    """
    drawn, vain = {normalize(text) for text in known}, 0
    while vain < _PATIENCE:
        text, vain = derive(), vain + 1
        key = normalize(text)
        share = _hash(key)
        if key not in drawn and split == ("valid" if share < 0.1 else "test" if share < 0.2 else "train"):
            drawn.add(key)
            vain = 0
            yield text


def count_words(spoken: Words) -> int:
    """Count the words of one side, without the marks."""
    return sum(word.text[-1].isalnum() for word in spoken)


def stream(grammar: Grammar, *, split: Split, seed: int, min_words: int, max_words: int) -> Iterator[Pair]:
    """Draw distinct pairs for ever, or until the grammar has no more of these lengths to give.

    The source has at least `min_words`, and neither side has more than `max_words`. Lengths that lag behind are wanted
    and those that run ahead have to wait, so that all are about equally frequent. The pairs come from one sequence of
    draws: asking for more of them does not change those that came before.
    """
    lectures = [make_pair(*phrase) for phrase in grammar.lectures]
    if split == "lectures":
        yield from lectures
        return
    draw = Draw(f"{grammar.name} {split} {seed} {min_words} {max_words}")
    held_out = frozenset(normalize(side) for pair in lectures for side in (pair.source, pair.target))
    drawn: set[str] = set()
    of_length = [0] * (max_words + 1)
    vain = 0
    while vain < _PATIENCE:
        vain += 1
        lengths = [draw.between(min_words, max_words) for _ in range(3)]
        phrase = grammar.derive(draw, min(lengths, key=of_length.__getitem__))
        if phrase is None:
            continue
        length = count_words(phrase.source)
        if not min_words <= length <= max_words or count_words(phrase.target) > max_words:
            continue
        fair_share = _ROOM + 1.2 * len(drawn) / (max_words - min_words + 1)
        if of_length[length] > fair_share and vain < _INSISTENCE:
            continue
        pair = make_pair(*phrase)
        target = normalize(pair.target)
        if _split_of(target) != split or target in held_out:
            continue
        source = normalize(pair.source)
        if source in drawn or source in held_out:
            continue
        drawn.add(source)
        of_length[length] += 1
        vain = 0
        yield pair
