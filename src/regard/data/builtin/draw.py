"""Seeded choices that come out the same on every machine and every version of Python."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

Choice = TypeVar("Choice")


class Draw:
    """A stream of choices, fixed by its seed.

    Only `Random.random` is promised to stay the same between versions of Python, so every choice is made from it.

    >>> draw = Draw("seed")
    >>> [draw.pick("abc") for _ in range(8)]
    ['a', 'a', 'c', 'a', 'a', 'c', 'c', 'b']
    """

    def __init__(self, seed: str) -> None:
        self._random = Random(seed).random

    def pick(self, options: Sequence[Choice]) -> Choice:
        """Choose one of `options`, all equally likely."""
        return options[int(self._random() * len(options))]

    def chance(self, probability: float) -> bool:
        """Say yes with this probability."""
        return self._random() < probability

    def between(self, low: int, high: int) -> int:
        """Choose a whole number from `low` to `high`, both included."""
        return low + int(self._random() * (high - low + 1))

    def weigh(self, options: Sequence[tuple[float, Choice]]) -> Choice:
        """Choose one of `options`, each as likely as its weight says."""
        rest = self._random() * sum(weight for weight, _ in options)
        for weight, option in options:
            rest -= weight
            if rest < 0:
                return option
        return options[-1][1]
