"""The oracle: attention in plain Python loops and float64, written from the papers alone.

It calls nothing of regard. One query and one key at a time; only the keys a query may attend to are ever looked at, so
a mask acts before normalizing by construction. Slow, and meant to be read beside the papers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = list[float]


class Place(NamedTuple):
    """One pair: where it is in the batch, which query, which key, and where the two stand."""

    index: tuple[int, ...]
    query: int
    key: int
    query_place: int
    key_place: int

    @property
    def head(self) -> int:
        """The third axis from the end."""
        return self.index[-1]

    @property
    def distance(self) -> int:
        """How far after the query the key stands."""
        return self.key_place - self.query_place


def _zero(place: Place) -> float:
    return 0.0


def _one(place: Place) -> float:
    return 1.0


def _everywhere(place: Place) -> bool:
    return True


def _nothing(place: Place) -> Vector | None:
    return None


def _as_it_is(vector: Vector, place: int) -> Vector:
    return vector


@dataclass(frozen=True)
class Position:
    """What a position does to a pair, at each of the places it may act."""

    turn: Callable[[Vector, int], Vector] = _as_it_is
    bias: Callable[[Place], float] = _zero
    inside: Callable[[Place], bool] = _everywhere
    factor: Callable[[Place], float] = _one
    key_shift: Callable[[Place], Vector | None] = _nothing
    value_shift: Callable[[Place], Vector | None] = _nothing
    query_place: Callable[[tuple[int, ...], int], int] | None = None
    key_place: Callable[[tuple[int, ...], int], int] | None = None


class Result(NamedTuple):
    """Context, weights and, for softmax, the log of each row's sum of exponentials."""

    context: NDArray[np.float64]
    weights: NDArray[np.float64]
    log_normalizer: NDArray[np.float64]


Compare = Callable[[Vector, Vector, Place], float]
Normalize = Callable[[Vector], Vector]


def attend(
    query: NDArray[np.float64],
    key: NDArray[np.float64],
    value: NDArray[np.float64],
    *,
    compare: Compare,
    normalize: Normalize,
    allowed: Callable[[Place], bool] = _everywhere,
    position: Position | None = None,
    bias: NDArray[np.float64] | None = None,
    grouped: bool = False,
) -> Result:
    """Compute attention by definition, pair by pair."""
    position = position or Position()
    heads = query.shape[-3] if grouped else 0
    leads = [array.shape[:-2] for array in (query, key, value)]
    if grouped:
        leads = [(*lead[:-1], heads) for lead in leads]
    lead = np.broadcast_shapes(*leads)
    queries, keys = query.shape[-2], key.shape[-2]
    context = np.zeros((*lead, queries, value.shape[-1]))
    weights = np.zeros((*lead, queries, keys))
    log_normalizer = np.full((*lead, queries), -math.inf)
    bias = np.zeros((queries, keys)) if bias is None else bias
    for index in np.ndindex(*lead):
        query_rows = _select(query, index, heads)
        key_rows, value_rows = _select(key, index, heads), _select(value, index, heads)
        biases = _select(bias, index, 0)
        for i in range(queries):
            query_place = position.query_place(index, i) if position.query_place else i + keys - queries
            places, scores = [], []
            for j in range(keys):
                key_place = position.key_place(index, j) if position.key_place else j
                place = Place(index, i, j, query_place, key_place)
                if not (allowed(place) and position.inside(place)) or biases[i][j] == -math.inf:
                    continue
                turned_query = position.turn(query_rows[i], query_place)
                turned_key = position.turn(key_rows[j], key_place)
                shifted = _plus(turned_key, position.key_shift(place))
                scores.append(compare(turned_query, shifted, place) + biases[i][j] + position.bias(place))
                places.append(place)
            if not places:
                continue
            log_normalizer[(*index, i)] = _log_sum_exp(scores)
            for place, weight in zip(places, normalize(scores), strict=True):
                weight *= position.factor(place)
                weights[(*index, i, place.key)] = weight
                shifted = _plus(value_rows[place.key], position.value_shift(place))
                for d, number in enumerate(shifted):
                    context[(*index, i, d)] += weight * number
    return Result(context, weights, log_normalizer)


def _select(array: NDArray[np.float64], index: tuple[int, ...], heads: int) -> list[Vector]:
    """Give the rows of one batch element and head: missing axes and axes of one are shared, heads may be grouped."""
    axes = array.shape[:-2]
    own = list(index[len(index) - len(axes) :])
    if heads and axes:
        own[-1] = own[-1] // (heads // axes[-1])
    for axis, size in enumerate(axes):
        own[axis] = 0 if size == 1 else own[axis]
    rows: list[Vector] = np.broadcast_to(array, array.shape)[tuple(own)].tolist()
    return rows


def _plus(vector: Vector, other: Vector | None) -> Vector:
    return vector if other is None else [x + y for x, y in zip(vector, other, strict=True)]


def _log_sum_exp(scores: Vector) -> float:
    top = max(scores)
    return top + math.log(sum(math.exp(score - top) for score in scores))


# Scores


def dot(query: Vector, key: Vector) -> float:
    """Luong et al. (2015), section 3.1, "dot"."""
    return math.fsum(x * y for x, y in zip(query, key, strict=True))


def bilinear(query: Vector, key: Vector, matrix: Sequence[Vector]) -> float:
    """Luong et al. (2015), section 3.1, "general"."""
    return math.fsum(query[a] * matrix[a][b] * key[b] for a in range(len(query)) for b in range(len(key)))


def additive(query: Vector, key: Vector, vector: Vector) -> float:
    """Bahdanau et al. (2015), section A.1.2, projected inputs."""
    return math.fsum(v * math.tanh(x + y) for v, x, y in zip(vector, query, key, strict=True))


def additive_identity(query: Vector, key: Vector, vector: Vector) -> float:
    """The same without the tanh."""
    return math.fsum(v * (x + y) for v, x, y in zip(vector, query, key, strict=True))


def concat(query: Vector, key: Vector, matrix: Sequence[Vector], vector: Vector) -> float:
    """Luong et al. (2015), section 3.1, "concat"."""
    both = [*query, *key]
    return math.fsum(v * math.tanh(dot(row, both)) for v, row in zip(vector, matrix, strict=True))


def gaussian(query: Vector, key: Vector, bandwidth: float) -> float:
    """The log of the kernel of Nadaraya-Watson regression."""
    return -math.fsum((x - y) ** 2 for x, y in zip(query, key, strict=True)) / (2 * bandwidth**2)


def cosine(query: Vector, key: Vector, temperature: float) -> float:
    """Graves et al. (2014), equation 6."""
    lengths = math.sqrt(dot(query, query)) * math.sqrt(dot(key, key))
    return dot(query, key) / lengths / temperature if lengths else 0.0


def location(query: Vector, matrix: Sequence[Vector], place: int) -> float:
    """Luong et al. (2015), equation 8."""
    return math.fsum(x * matrix[a][place] for a, x in enumerate(query))


# Normalizers, over the scores of the keys that may be attended to


def softmax(scores: Vector) -> Vector:
    """Shares that grow exponentially."""
    top = max(scores)
    parts = [math.exp(score - top) for score in scores]
    return [part / math.fsum(parts) for part in parts]


def sparsemax(scores: Vector) -> Vector:
    """Martins and Astudillo (2016), algorithm 1."""
    ordered = sorted(scores, reverse=True)
    support = max(k for k in range(1, len(ordered) + 1) if 1 + k * ordered[k - 1] > math.fsum(ordered[:k]))
    threshold = (math.fsum(ordered[:support]) - 1) / support
    return [max(score - threshold, 0.0) for score in scores]


def entmax(scores: Vector, alpha: float) -> Vector:
    """Peters et al. (2019), equation 3, the threshold by bisection to the last bit."""
    scaled = [(alpha - 1) * score for score in scores]
    low, high = max(scaled) - 1, max(scaled)
    for _ in range(200):
        middle = (low + high) / 2
        total = math.fsum(max(score - middle, 0.0) ** (1 / (alpha - 1)) for score in scaled)
        low, high = (middle, high) if total >= 1 else (low, middle)
    return [max(score - low, 0.0) ** (1 / (alpha - 1)) for score in scaled]


def sigmoid(scores: Vector, bias: float = 0.0) -> Vector:
    """Ramapuram et al. (2024), equation 3."""
    return [1 / (1 + math.exp(-(score + bias))) for score in scores]


def hard(scores: Vector) -> Vector:
    """One at the first of the largest."""
    best = scores.index(max(scores))
    return [float(place == best) for place in range(len(scores))]


def mean(scores: Vector) -> Vector:
    """The same for all."""
    return [1 / len(scores)] * len(scores)


# Positions


def rotary_pairs(vector: Vector, place: int, size: int, base: float = 10000.0) -> Vector:
    """Su et al. (2021), equation 15: neighbors turn together."""
    out = list(vector)
    for pair in range(size // 2):
        angle = place * base ** (-2 * pair / size)
        x, y = vector[2 * pair], vector[2 * pair + 1]
        out[2 * pair] = x * math.cos(angle) - y * math.sin(angle)
        out[2 * pair + 1] = x * math.sin(angle) + y * math.cos(angle)
    return out


def rotary_halves(vector: Vector, place: int, size: int, base: float = 10000.0) -> Vector:
    """The same with feature i and feature i + size/2 as a pair, as Hugging Face stores them."""
    out = list(vector)
    for pair in range(size // 2):
        angle = place * base ** (-2 * pair / size)
        x, y = vector[pair], vector[pair + size // 2]
        out[pair] = x * math.cos(angle) - y * math.sin(angle)
        out[pair + size // 2] = x * math.sin(angle) + y * math.cos(angle)
    return out


def rotary_by(vector: Vector, place: int, frequencies: Vector, magnitude: float) -> Vector:
    """The same with frequencies of one's own, and longer by a factor, as Peng et al. (2023) have it."""
    out = list(vector)
    for pair, frequency in enumerate(frequencies):
        angle = place * frequency
        x, y = vector[2 * pair], vector[2 * pair + 1]
        out[2 * pair] = magnitude * (x * math.cos(angle) - y * math.sin(angle))
        out[2 * pair + 1] = magnitude * (x * math.sin(angle) + y * math.cos(angle))
    return out


def bucket(distance: int, exact: int, furthest: int) -> int:
    """Raffel et al. (2020), section 2.1, both directions: `exact` distances of their own, as many ever wider ones."""
    before = abs(distance)
    if before < exact:
        chosen = before
    else:
        grown = math.log(before / exact) / math.log(furthest / exact) * exact
        chosen = min(exact + int(grown), 2 * exact - 1)
    return chosen + (2 * exact if distance > 0 else 0)


def clipped(distance: int, reach: int) -> int:
    """Shaw et al. (2018), equation 4: the row of the table for a distance."""
    return max(-reach, min(reach, distance)) + reach
