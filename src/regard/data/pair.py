"""A pair of sentences, how its words are counted, and the links between them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

_WORD = re.compile(r"['’]s\b|\w+(?:(?!['’]s\b)[-'’]\w+)*|[^\w\s]")
_CLINGS_LEFT = frozenset([",", ".", ";", ":", "?", "!", ")", "]", "'s", "’s"])
_CLINGS_RIGHT = frozenset(["¿", "¡", "(", "["])


class Link(NamedTuple):
    """One source word and one target word that translate each other, as positions from 0 in `words` of each side.

    A link that is not `sure` is *possible*: a word the other language lacks, tied to the word it goes with.
    Its text is the usual one, with `?` for a possible link.

    >>> print(Link(source=0, target=1, sure=True), Link(source=0, target=0, sure=False))
    0-1 0?0
    """

    source: int
    target: int
    sure: bool

    def __str__(self) -> str:
        return f"{self.source}{'-' if self.sure else '?'}{self.target}"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A source sentence and its translation, as plain text, with the gold word alignment where one is known."""

    source: str
    target: str
    links: tuple[Link, ...] = ()


def words(text: str) -> list[str]:
    """Split plain text into the words that links count.

    A word is a run of letters and digits, with the hyphens and apostrophes inside it; the possessive 's and every mark
    stand alone. Letters with marks of their own are expected as one character each (Unicode NFC).

    >>> words("¿Me puedes traer un tenedor?")
    ['¿', 'Me', 'puedes', 'traer', 'un', 'tenedor', '?']
    >>> words("I don't have Ana's well-known book.")
    ['I', "don't", 'have', 'Ana', "'s", 'well-known', 'book', '.']
    """
    return _WORD.findall(text)


def detokenize(tokens: Iterable[str]) -> str:
    """Join words and marks into plain text, so that `words` gives them back.

    >>> detokenize(["Is", "this", "Ana", "'s", "book", ",", "or", "mine", "?"])
    "Is this Ana's book, or mine?"
    """
    pieces: list[str] = []
    apart = False
    for token in tokens:
        if apart and token not in _CLINGS_LEFT:
            pieces.append(" ")
        pieces.append(token)
        apart = token not in _CLINGS_RIGHT
    return "".join(pieces)
