"""Where the words of a text lie, by either way of counting them, and which word each token is part of."""

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal, TypeAlias

from regard.data.corpora.pair import words
from regard.data.text.tokenizer import Tokenizer
from regard.data.text.words_of_tokens import Span, spans_of, words_at

Division: TypeAlias = Literal["whitespace", "marks"]
"""How words are counted: by the white space between them, as files of links do, or as
`regard.data.corpora.pair.words` does, where every mark stands alone."""


def divide(text: str, by: Division) -> list[str]:
    """Divide text into the words that links count.

    >>> divide("A fork, please.", "whitespace"), divide("A fork, please.", "marks")
    (['A', 'fork,', 'please.'], ['A', 'fork', ',', 'please', '.'])
    """
    return text.split() if by == "whitespace" else words(compose(text))


def word_spans(text: str, by: Division) -> list[Span]:
    """Find the words that links count in `text`, which must be composed (see `compose`)."""
    return spans_of(text, divide(text, by))


def whitespace_words(text: str) -> list[int]:
    """Return for each word of a text, as marks divide it, which of those between spaces it is part of.

    >>> whitespace_words("A fork, please.")
    [0, 1, 1, 2, 2]
    """
    text = compose(text)
    ends = [span.end for span in word_spans(text, "whitespace")]
    return [min(bisect_right(ends, span.start), len(ends) - 1) for span in word_spans(text, "marks")]


def compose(text: str) -> str:
    """Write letters with marks of their own as one character each, as tokenizers do: Unicode NFC."""
    return unicodedata.normalize("NFC", text)


def token_words(tokenizer: Tokenizer, text: str, spans: Sequence[Span]) -> list[int]:
    """Return for each token of `text` which of the words `spans` it is part of, by the characters it covers.

    A space belongs to the word after it. No token crosses the border of a word, since none crosses that of a mark.
    """
    return words_at([end - 1 for _, end in tokenizer.backend.encode(text).offsets], spans)
