"""A pair of sentences, how its words are counted, and the links between them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import regex

_LETTER = r"[\p{L}\p{M}\p{N}_]"  # marks too: in many scripts vowels are marks on letters
_WORD = regex.compile(rf"['’][sS]\b|{_LETTER}+(?:(?!['’][sS]\b)[-'’]{_LETTER}+)*|[^\p{{L}}\p{{M}}\p{{N}}_\s]")
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

    A word is a run of letters and digits, with the hyphens and apostrophes inside it; the possessive 's and every
    punctuation mark stand alone.

    >>> words("¿Me puedes traer un tenedor?")
    ['¿', 'Me', 'puedes', 'traer', 'un', 'tenedor', '?']
    >>> words("I don't have Ana's well-known book.")
    ['I', "don't", 'have', 'Ana', "'s", 'well-known', 'book', '.']
    >>> words("हम बाज़ार गए थे।")
    ['हम', 'बाज़ार', 'गए', 'थे', '।']
    """
    result: list[str] = _WORD.findall(text)
    return result


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
