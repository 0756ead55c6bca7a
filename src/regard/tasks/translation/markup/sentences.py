"""Divide a text with marks into sentences, which is what translators learn from."""

import itertools

import regex

from regard.tasks.translation.markup.marks import read_marks
from regard.tasks.translation.markup.tokens import Form

_END = regex.compile(
    r"[.!?…]+[\"'”’»)\]]*\s+(?=[\"'“‘«¿¡(\[—–-]*\s?[\p{Lu}\p{Lo}\p{N}¿¡])|[。！？]+[」』”）]*\s*(?=\S)"
)
_ABBREVIATED = regex.compile(
    r"(?:^|[\s(\"'“«¿¡])(?:\p{L}|\d{1,2}|Mr|Mrs|Ms|Dr|Prof|St|Sr|Sra|Srta|Dra|Ud|Uds|Hr|Fr|Nr|Bd|vs|z\.\s?B)\.\s*$",
    regex.IGNORECASE,
)

_SHORT = 16
"""Characters that an abbreviation is found in."""


def split_sentences(text: str, form: Form | None = None) -> list[str]:
    """Divide a text after the marks that end a sentence; joined, the sentences are the text.

    A point after one letter, a number or a title ends none.

    >>> split_sentences("Veo <b>al Sr. Ruiz. ¿Y</b> tú?", "html")
    ['Veo <b>al Sr. Ruiz. ', '¿Y</b> tú?']
    """
    if form is None:
        return _cut(text, _ends(text))
    marked = read_marks(text, form)
    starts = [(plain, raw, len(written)) for plain, raw, written in marked.pieces]
    cuts, index = [], 0
    for end in _ends(marked.plain):
        while index + 1 < len(starts) and starts[index + 1][0] < end:
            index += 1
        plain, raw, length = starts[index]
        cuts.append(raw + min(end - plain, length))
    return _cut(text, cuts)


def _ends(text: str) -> list[int]:
    """Find where sentences end, the spaces behind them included; the last is left out."""
    ends = [match.end() for match in _END.finditer(text)]
    return [end for end in ends if not _ABBREVIATED.search(text[max(0, end - _SHORT) : end])]


def _cut(text: str, cuts: list[int]) -> list[str]:
    edges = [0, *cuts, len(text)]
    return [text[start:end] for start, end in itertools.pairwise(edges) if end > start]
