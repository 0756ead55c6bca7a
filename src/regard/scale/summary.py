"""The figures of an evaluation, from what was counted of each pair: a line of JSON, as `EvaluateLines` writes it."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.errors import DataError
from regard.evaluation.bootstrap import SAMPLES, SEED, Interval, interval
from regard.evaluation.measure import Measure, measure
from regard.evaluation.scoring import NAMES, PLAIN, Name, Scoring
from regard.files import Entry, parse_json

_LONGEST = 1 << 26
"""Bytes of a line, at most."""


class Summary(NamedTuple):
    """What all pairs give together."""

    pairs: int
    empty: int
    """Pairs with an empty side, which are left out."""
    scores: dict[Name, Interval]
    signatures: dict[Name, str]
    perplexity: float
    """Of a token."""
    bits_per_character: float

    def table(self) -> dict[str, Any]:
        """Give plain values."""
        scores = {name: item._asdict() | {"signature": self.signatures[name]} for name, item in self.scores.items()}
        return self._asdict() | {"scores": scores, "signatures": None}


def summarize(path: Path, *, scoring: Scoring = PLAIN, samples: int = SAMPLES, seed: int = SEED) -> Summary:
    """Read what was counted by that `scoring`, and score it; intervals are by resampling, as `regard evaluate` does."""
    counts: dict[Name, list[list[float]]] = {name: [] for name in NAMES}
    sums, empty = np.zeros(3), 0
    for row in _rows(path):
        if "tokens" not in row.table():
            empty += 1
            continue
        for name in NAMES:
            counts[name].append([_number(item) for item in row[name].items()])
        sums += [_number(row[name]) for name in ("log_probability", "tokens", "characters")]
    if not counts["BLEU"]:
        raise DataError(f"{path} must hold at least one pair with text on both sides; received {empty:,} without.")
    like = measure(["a"], ["a"], scoring=scoring)
    measures = {
        name: Measure(name=name, metric=like[name].metric, counts=np.array(rows), signature=like[name].signature)
        for name, rows in counts.items()
    }
    return Summary(
        pairs=len(counts["BLEU"]),
        empty=empty,
        scores={name: interval(item, samples=samples, seed=seed) for name, item in measures.items()},
        signatures={name: item.signature for name, item in measures.items()},
        perplexity=math.exp(min(700.0, -sums[0] / sums[1])),
        bits_per_character=float(-sums[0] / sums[2] / math.log(2)),
    )


def _rows(path: Path) -> Iterator[Entry]:
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(_LONGEST), b""), start=1):
            yield parse_json(line, f"{path}, line {number}")


def _number(entry: Entry) -> float:
    if type(entry.value) in (int, float):
        return float(entry.value)
    raise entry.refuse("must be a number")
