"""What is wrong with sentence pairs: sides that are swapped or the same, lines that do not belong together."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from regard.data.corpora.pair import Pair, words
from regard.tasks.doctor.check import Check, check

_CLEAR = 1.0
"""Mean log-odds of a text's words beyond which its side is clear."""
_VARIED = 0.2
"""Standard deviation of log-lengths from which on their correlation says something."""


def check_pairs(train: Sequence[Pair], held_out: Sequence[Pair]) -> list[Check]:
    """Check pairs to train on, and whether those held out are of the same kind."""
    sides = Sides(train)
    total = max(1, len(train))
    checks = [
        check(
            "same text on both sides",
            sum(pair.source.strip() == pair.target.strip() for pair in train) / total,
            most=0.05,
            problem="{value} of the training pairs have the same text on both sides: the model learns to copy.",
            advice="Leave them out: data.clean.drop_identical = true. Where it is most of them, both files are one.",
        ),
        check(
            "swapped training pairs",
            sum(sides.is_swapped(pair, counted=True) for pair in train) / total,
            most=0.02,
            problem="{value} of the training pairs have their sides swapped, by the words of the others.",
            advice="Find them by language, and swap or leave them out.",
        ),
    ]
    if held_out:
        checks.append(
            check(
                "swapped held-out pairs",
                sum(sides.is_swapped(pair) for pair in held_out) / len(held_out),
                most=0.1,
                problem="{value} of the held-out pairs have source and target swapped against the training pairs.",
                advice="Name the files, or the columns, the other way round: data.valid_source and data.valid_target, "
                "or data.source_column and data.target_column.",
            )
        )
    lengths = np.log([[1 + len(pair.source), 1 + len(pair.target)] for pair in train]).T if train else np.zeros((2, 1))
    if len(train) >= 20 and lengths.std(axis=1).min() >= _VARIED:
        checks.append(
            check(
                "lengths of both sides go together",
                float(np.corrcoef(lengths)[0, 1]),
                least=0.3,
                unit="number",
                problem="The lengths of source and target have a correlation of {value}: lines do not belong together.",
                advice="Compare line by line: one file may lack a line, or be sorted otherwise.",
            )
        )
    return checks


class Sides:
    """Tells the sides of pairs apart by how often words stand on each.

    >>> sides = Sides([Pair(source="el gato", target="the cat"), Pair(source="el perro", target="the dog")])
    >>> sides.is_swapped(Pair(source="the dog", target="el perro"))
    True
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._counts = [Counter[str](), Counter[str]()]
        for pair in pairs:
            for counts, text in zip(self._counts, (pair.source, pair.target), strict=True):
                counts.update(_split(text))
        self._totals = [max(1, counts.total()) for counts in self._counts]

    def is_swapped(self, pair: Pair, *, counted: bool = False) -> bool:
        """Return whether both texts are of the other side; `counted` leaves out what the pair itself has counted."""
        source = self._lean(pair.source, own=0 if counted else None)
        target = self._lean(pair.target, own=1 if counted else None)
        return source < -_CLEAR and target > _CLEAR

    def _lean(self, text: str, *, own: int | None) -> float:
        """Give the mean log-odds that words stand in a source rather than a target."""
        split = _split(text)
        mine = Counter(split)
        odds = 0.0
        for word in split:
            counts = [side[word] - (mine[word] if own == number else 0) for number, side in enumerate(self._counts)]
            shares = [(count + 0.5) / total for count, total in zip(counts, self._totals, strict=True)]
            odds += math.log(shares[0] / shares[1])
        return odds / len(split) if split else 0.0


def _split(text: str) -> list[str]:
    return [word.lower() for word in words(text) if word.isalpha()]
