"""A small greedy generator of pairwise covers: few rows, yet every two choices meet in one of them."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = dict[str, Any]


def _always(row: Row) -> bool:
    return True


def pairwise(factors: Mapping[str, Sequence[str]], valid: Callable[[Row], bool] = _always) -> list[Row]:
    """Give rows, one choice per factor, such that every pair of choices of two factors shares a row.

    `valid` judges rows, unfinished ones too; pairs that it forbids are left out. Each row starts from the first pair
    still missing and takes, factor by factor, the choice that covers most of what is missing, the first of equals: no
    randomness, so the cover is the same every time.

    >>> len(pairwise({"a": "xy", "b": "xy", "c": "xy"}))
    4
    """
    missing = dict.fromkeys(_all_pairs(factors, valid))
    rows = []
    while missing:
        row = dict(next(iter(missing)))
        for name in factors:
            if name not in row:
                choices = [choice for choice in factors[name] if valid({**row, name: choice})]
                row[name] = max(choices, key=lambda choice: sum(pair in missing for pair in _new(row, name, choice)))
        row = {name: row[name] for name in factors}
        for pair in itertools.combinations(row.items(), 2):
            missing.pop(pair, None)
        rows.append(row)
    return rows


def impossible(factors: Mapping[str, Sequence[str]], valid: Callable[[Row], bool]) -> list[Row]:
    """Give the pairs of choices that `valid` forbids.

    >>> impossible({"a": "xy", "b": "xy"}, lambda row: row.get("a") != "x" or row.get("b") != "y")
    [{'a': 'x', 'b': 'y'}]
    """
    return [dict(pair) for pair in _all_pairs(factors, lambda row: not valid(row))]


def _all_pairs(factors: Mapping[str, Sequence[str]], keep: Callable[[Row], bool]) -> list[Any]:
    pairs = (
        ((one, first), (two, second))
        for one, two in itertools.combinations(factors, 2)
        for first in factors[one]
        for second in factors[two]
    )
    return [pair for pair in pairs if keep(dict(pair))]


def _new(row: Row, name: str, choice: str) -> list[Any]:
    """Give the pairs the choice would add, both ways round, since the factors' order is not at hand."""
    return [pair for item in row.items() for pair in ((item, (name, choice)), ((name, choice), item))]
