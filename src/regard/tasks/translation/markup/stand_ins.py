"""Words that stand for placeholders while a model reads: names and numbers, which most models output as they are.

A sentence with a gap is another sentence: a model fills the gap with words of its own. Where an output does not have
each of these words exactly once, the placeholders are left out of the source after all, and put back by attention.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from regard.tasks.translation.markup.tokens import Token, divide_marks
from regard.tasks.translation.result import Translation

WORDS = {
    "name": ("Tom", "John", "Bill", "Ken", "Mike", "Jim", "Alice", "Bob", "Nancy", "Jack"),
    "number": ("17", "23", "38", "46", "54", "62", "79", "85", "91", "94"),
}
_COUNTS = re.compile(
    r"%(?:\(\w+\)|\d+\$)?[-+#0]?[\d.]*[diufxXgGeE]$|(?i:count|number|total|amount|size|price|percent)|\b[nN]\b|\bnum"
)


class Standing(NamedTuple):
    """A source in which words stand for placeholders."""

    text: str
    placeholders: dict[str, str]
    """What each of these words stands for."""

    def put_back(self, output: Translation, source: str) -> Translation | None:
        """Give the output with the placeholders; None where it has one of the words never, or more than once."""
        places = {word: list(_whole(word).finditer(output.text)) for word in self.placeholders}
        if any(len(matches) != 1 for matches in places.values()):
            return None
        text = output.text
        for word, [match] in sorted(places.items(), key=lambda item: -item[1][0].start()):
            text = text[: match.start()] + self.placeholders[word] + text[match.end() :]
        return replace(output, source=source, with_marks=text)


def stand_in(source: str) -> Standing | None:
    """Put words in the place of placeholders; None where there is none, or one is part of a word or beside another.

    >>> stand_in("¿Dónde está {name}?").text
    '¿Dónde está Tom?'
    >>> stand_in("Quedan %d de {total}.").text
    'Quedan 17 de 23.'
    """
    tokens = list(divide_marks(source, "placeholders"))
    free = {kind: [word for word in words if not _whole(word).search(source)] for kind, words in WORDS.items()}
    parts, placeholders = [], {}
    for number, token in enumerate(tokens):
        if token.kind == "text":
            parts.append(token.raw)
            continue
        kind = "number" if _COUNTS.search(token.raw) else "name"
        if not free[kind] or not _stands_alone(tokens[max(0, number - 1) : number], tokens[number + 1 : number + 2]):
            return None
        word = free[kind].pop(0)
        placeholders[word] = token.raw
        parts.append(word)
    if not placeholders or not any(token.kind == "text" and re.search(r"\w", token.raw) for token in tokens):
        return None
    return Standing("".join(parts), placeholders)


def _stands_alone(before: Sequence[Token], after: Sequence[Token]) -> bool:
    """Return whether no letter, digit or other placeholder is right beside a placeholder."""
    if any(token.kind != "text" for token in (*before, *after)):
        return False
    beside = [*(token.raw[-1] for token in before), *(token.raw[0] for token in after)]
    return not any(character.isalnum() for character in beside)


def _whole(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){word}(?!\w)")
