"""Scores, normalizers, masks and positions of the operator.

A row makes the thing itself and, beside it, the same thing for the oracle, which works pair by pair in plain Python;
scores and normalizers also give their textbook line of torch, the measure of what a precision allows.
Every size is a different prime; grouped heads must be a multiple of another number, so there six stands for 2 · 3.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import entmax
import numpy as np
import torch
from torch import Tensor

from reference import oracle
from reference.oracle import Place
from regard import (
    Additive,
    Alibi,
    Bilinear,
    Causal,
    Concat,
    Cosine,
    Documents,
    Dot,
    Entmax,
    Gaussian,
    GaussianWindow,
    Hard,
    Location,
    Mean,
    Padding,
    RelativeBias,
    RelativeBuckets,
    Rotary,
    ScaledDot,
    ScoreMod,
    ScoreRows,
    Shaw,
    Sigmoid,
    Sink,
    Softcap,
    Softmax,
    Sparsemax,
    Window,
)

QUERIES, KEYS = 7, 11
QUERY_WIDTH, KEY_WIDTH, VALUE_WIDTH, HIDDEN = 13, 17, 19, 23


@dataclass(frozen=True)
class Layout:
    """The leading axes of query, key and value."""

    query: tuple[int, ...]
    key: tuple[int, ...]
    value: tuple[int, ...]
    grouped: bool = False

    @property
    def lead(self) -> tuple[int, ...]:
        """The leading axes of the scores."""
        leads = [self.query, self.key, self.value]
        if self.grouped:
            leads = [(*lead[:-1], self.query[-1]) for lead in leads]
        return tuple(np.broadcast_shapes(*leads))


LAYOUTS = {
    "plain": Layout((), (), ()),
    "batch": Layout((2,), (2,), (2,)),
    "heads": Layout((2, 3), (2, 3), (2, 3)),
    "grouped": Layout((2, 6), (2, 2), (2, 2), grouped=True),
    "multi-query": Layout((2, 3), (2, 1), (2, 1), grouped=True),
    "three axes": Layout((2, 5, 3), (2, 5, 3), (2, 5, 3)),
    "query without batch": Layout((), (2,), (2,)),
    "shared keys": Layout((2, 3), (2, 1), (3,)),
}


@dataclass
class Setting:
    """The sizes, the precision and the randomness of one case."""

    layout: Layout
    dtype: torch.dtype = torch.float64
    rounded: torch.dtype = torch.float64
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    seed: int = 0
    queries: int = QUERIES
    keys: int = KEYS

    def __post_init__(self) -> None:
        self.random = torch.Generator().manual_seed(self.seed)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the scores."""
        return (*self.layout.lead, self.queries, self.keys)

    @property
    def batch(self) -> tuple[int, ...]:
        """The batch axis, where there is one."""
        return self.layout.lead[:1]

    @property
    def heads(self) -> tuple[int, ...]:
        """The head axis, where there is one."""
        return self.layout.lead[-1:]

    def draw(self, *shape: int, spread: float = 1.0) -> Tensor:
        """Draw normal numbers, rounded to one precision and given in another."""
        numbers = torch.randn(shape, generator=self.random, dtype=torch.float64) * spread
        return numbers.to(self.rounded).to(self.device, self.dtype)

    def integers(self, low: int, high: int, *shape: int) -> Tensor:
        """Draw integers."""
        return torch.randint(low, high, shape, generator=self.random).to(self.device)

    def coins(self, *shape: int) -> Tensor:
        """Draw booleans."""
        return (torch.rand(shape, generator=self.random) < 0.6).to(self.device)


def numbers(tensor: Tensor) -> Any:
    """Give a tensor as nested lists of Python floats."""
    return tensor.detach().cpu().double().tolist() if tensor.is_floating_point() else tensor.cpu().tolist()


def of_head(values: Any, place: Place, has_heads: bool) -> Any:
    """Give the part of a parameter that belongs to the pair's head."""
    return values[place.head] if has_heads else values


def of_batch(values: Any, index: tuple[int, ...], has_batch: bool) -> Any:
    """Give the part of a parameter that belongs to the pair's batch element."""
    return values[index[0]] if has_batch else values


# Scores


class ScoreRow(NamedTuple):
    """A score, its comparison of two vectors, and its line of torch."""

    score: Any
    compare: oracle.Compare
    eager: Callable[[Tensor, Tensor], Tensor]


def _dot(setting: Setting) -> ScoreRow:
    return ScoreRow(Dot(), lambda q, k, place: oracle.dot(q, k), lambda q, k: q @ k.mT)


def _scaled_dot(setting: Setting) -> ScoreRow:
    root = math.sqrt(QUERY_WIDTH)
    return ScoreRow(ScaledDot(), lambda q, k, place: oracle.dot(q, k) / root, lambda q, k: q @ k.mT / root)


def _scaled_dot_learned(setting: Setting) -> ScoreRow:
    scale = setting.draw(*setting.heads, 1, 1) if setting.heads else setting.draw()
    values = numbers(scale)

    def compare(query: oracle.Vector, key: oracle.Vector, place: Place) -> float:
        own = of_head(values, place, True)[0][0] if setting.heads else values
        return oracle.dot(query, key) * float(own)

    return ScoreRow(ScaledDot(scale), compare, lambda q, k: q @ k.mT * scale)


def _bilinear(setting: Setting) -> ScoreRow:
    matrix = setting.draw(QUERY_WIDTH, KEY_WIDTH, spread=0.3)
    values = numbers(matrix)
    return ScoreRow(Bilinear(matrix), lambda q, k, place: oracle.bilinear(q, k, values), lambda q, k: q @ matrix @ k.mT)


def _bilinear_per_head(setting: Setting) -> ScoreRow:
    matrix = setting.draw(*setting.heads, QUERY_WIDTH, KEY_WIDTH, spread=0.3)
    values = numbers(matrix)
    return ScoreRow(
        Bilinear(matrix),
        lambda q, k, place: oracle.bilinear(q, k, of_head(values, place, bool(setting.heads))),
        lambda q, k: q @ matrix @ k.mT,
    )


def _additive(setting: Setting) -> ScoreRow:
    vector = setting.draw(QUERY_WIDTH)
    values = numbers(vector)
    return ScoreRow(
        Additive(vector),
        lambda q, k, place: oracle.additive(q, k, values),
        lambda q, k: torch.tanh(q[..., :, None, :] + k[..., None, :, :]) @ vector,
    )


def _additive_per_head(setting: Setting) -> ScoreRow:
    vector = setting.draw(*setting.heads, QUERY_WIDTH)
    values = numbers(vector)
    spread = vector[:, None, None, :] if setting.heads else vector
    return ScoreRow(
        Additive(vector),
        lambda q, k, place: oracle.additive(q, k, of_head(values, place, bool(setting.heads))),
        lambda q, k: (torch.tanh(q[..., :, None, :] + k[..., None, :, :]) * spread).sum(-1),
    )


def _additive_identity(setting: Setting) -> ScoreRow:
    vector = setting.draw(QUERY_WIDTH)
    values = numbers(vector)
    return ScoreRow(
        Additive(vector, activation="identity"),
        lambda q, k, place: oracle.additive_identity(q, k, values),
        lambda q, k: (q[..., :, None, :] + k[..., None, :, :]) @ vector,
    )


def _concat(setting: Setting) -> ScoreRow:
    matrix, vector = setting.draw(HIDDEN, QUERY_WIDTH + KEY_WIDTH, spread=0.3), setting.draw(HIDDEN)
    rows, values = numbers(matrix), numbers(vector)

    def eager(query: Tensor, key: Tensor) -> Tensor:
        one, other = query[..., :, None, :], key[..., None, :, :]
        pairs = torch.broadcast_shapes(one.shape[:-1], other.shape[:-1])
        both = torch.cat([one.expand(*pairs, -1), other.expand(*pairs, -1)], dim=-1)
        return torch.tanh(both @ matrix.mT) @ vector

    return ScoreRow(Concat(matrix, vector), lambda q, k, place: oracle.concat(q, k, rows, values), eager)


def _gaussian(setting: Setting) -> ScoreRow:
    def eager(query: Tensor, key: Tensor) -> Tensor:
        return (query[..., :, None, :] - key[..., None, :, :]).square().sum(-1) / -8

    return ScoreRow(Gaussian(2.0), lambda q, k, place: oracle.gaussian(q, k, 2.0), eager)


def _gaussian_learned(setting: Setting) -> ScoreRow:
    bandwidth = (setting.draw(*setting.heads, 1, 1) if setting.heads else setting.draw()).abs().clamp_min(0.5)
    values = numbers(bandwidth)

    def compare(query: oracle.Vector, key: oracle.Vector, place: Place) -> float:
        own = of_head(values, place, True)[0][0] if setting.heads else values
        return oracle.gaussian(query, key, float(own))

    def eager(query: Tensor, key: Tensor) -> Tensor:
        return (query[..., :, None, :] - key[..., None, :, :]).square().sum(-1) / (-2 * bandwidth**2)

    return ScoreRow(Gaussian(bandwidth), compare, eager)


def _cosine(setting: Setting) -> ScoreRow:
    def eager(query: Tensor, key: Tensor) -> Tensor:
        return (query / query.norm(dim=-1, keepdim=True)) @ (key / key.norm(dim=-1, keepdim=True)).mT / 0.25

    return ScoreRow(Cosine(0.25), lambda q, k, place: oracle.cosine(q, k, 0.25), eager)


def _location(setting: Setting) -> ScoreRow:
    matrix = setting.draw(QUERY_WIDTH, 29, spread=0.3)
    values = numbers(matrix)
    return ScoreRow(
        Location(matrix),
        lambda q, k, place: oracle.location(q, values, place.key),
        lambda q, k: q @ matrix[:, : k.size(-2)],
    )


def _function(setting: Setting) -> ScoreRow:
    """A function of the user's: one tenth of the sum of squares of q + k, over the features they share."""

    def squares(query: Tensor, key: Tensor) -> Tensor:
        return (query[..., :, None, :] + key[..., None, :, :]).square().sum(-1) / 10

    def compare(query: oracle.Vector, key: oracle.Vector, place: Place) -> float:
        return math.fsum((x + y) ** 2 for x, y in zip(query, key, strict=True)) / 10

    return ScoreRow(squares, compare, squares)


def _score_rows(setting: Setting) -> ScoreRow:
    """A function that is told the indices: squares of q + k, less the further apart the two stand."""

    def function(query: Tensor, key: Tensor, query_index: Tensor, key_index: Tensor) -> Tensor:
        squares = (query[..., :, None, :] + key[..., None, :, :]).square().sum(-1) / 10
        return squares - 0.25 * (query_index - key_index).abs()

    def compare(query: oracle.Vector, key: oracle.Vector, place: Place) -> float:
        squares = math.fsum((x + y) ** 2 for x, y in zip(query, key, strict=True)) / 10
        return squares - 0.25 * abs(place.query - place.key)

    def eager(query: Tensor, key: Tensor) -> Tensor:
        i, j = torch.arange(query.size(-2), device=query.device), torch.arange(key.size(-2), device=query.device)
        return function(query, key, i[:, None], j).to(query.dtype)

    return ScoreRow(ScoreRows(function), compare, eager)


def _score_mod(setting: Setting) -> ScoreRow:
    """A learned score changed by batch, head and distance."""
    vector = setting.draw(QUERY_WIDTH)
    values = numbers(vector)

    def change(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return score / (1 + head) - 0.25 * (1 + batch) * (query - key).abs()

    def compare(query: oracle.Vector, key: oracle.Vector, place: Place) -> float:
        batch = place.index[0] if place.index else 0
        head = place.head if len(place.index) > 1 else 0
        score = oracle.additive(query, key, values)
        return score / (1 + head) - 0.25 * (1 + batch) * abs(place.query - place.key)

    def eager(query: Tensor, key: Tensor) -> Tensor:
        scores = torch.tanh(query[..., :, None, :] + key[..., None, :, :]) @ vector
        full = scores.expand(*setting.shape[:-2], *scores.shape[-2:])
        sizes = [full.size(0) if full.ndim > 2 else 1, full.size(-3) if full.ndim > 3 else 1, *full.shape[-2:]]
        batch, head, i, j = (torch.arange(size, device=full.device) for size in sizes)
        places = batch.view(-1, *[1] * max(full.ndim - 1, 2)), head.view(-1, 1, 1), i[:, None], j
        return change(full, *places).reshape(full.shape).to(query.dtype)

    return ScoreRow(ScoreMod(change, Additive(vector)), compare, eager)


def _softcap(setting: Setting) -> ScoreRow:
    root = math.sqrt(QUERY_WIDTH)
    return ScoreRow(
        Softcap(1.5),
        lambda q, k, place: 1.5 * math.tanh(oracle.dot(q, k) / root / 1.5),
        lambda q, k: 1.5 * torch.tanh(q @ k.mT / root / 1.5),
    )


SCORES: dict[str, Callable[[Setting], ScoreRow]] = {
    "ScaledDot": _scaled_dot,
    "Dot": _dot,
    "ScaledDot learned": _scaled_dot_learned,
    "Bilinear": _bilinear,
    "Bilinear per head": _bilinear_per_head,
    "Additive": _additive,
    "Additive per head": _additive_per_head,
    "Additive identity": _additive_identity,
    "Concat": _concat,
    "Gaussian": _gaussian,
    "Gaussian learned": _gaussian_learned,
    "Cosine": _cosine,
    "Location": _location,
    "function": _function,
    "ScoreRows": _score_rows,
    "ScoreMod": _score_mod,
    "Softcap": _softcap,
}
UNEQUAL_WIDTHS = {"Bilinear", "Bilinear per head", "Concat", "Location"}
LINEAR = {"ScaledDot", "Dot", "ScaledDot learned", "Bilinear", "Bilinear per head"}
INNER = LINEAR | {"Additive identity", "Gaussian", "Gaussian learned", "Cosine"}


# Normalizers


class NormalizerRow(NamedTuple):
    """A normalizer, the same over a list of allowed scores, and its line of torch over masked scores."""

    normalizer: Any
    weigh: oracle.Normalize
    eager: Callable[[Tensor], Tensor]


def _tempered(scores: Tensor, mask: Tensor | None) -> Tensor:
    """A function of the user's: a softmax of half the scores; rows with nothing arrive as zeros."""
    return torch.softmax(scores / 2, dim=-1)


def _shares(scores: Tensor) -> Tensor:
    allowed = (scores > -1e4).to(scores.dtype)
    return allowed / allowed.sum(-1, keepdim=True).clamp_min(1)


NORMALIZERS: dict[str, NormalizerRow] = {
    "Softmax": NormalizerRow(Softmax(), oracle.softmax, lambda e: e.softmax(-1)),
    "Sink": NormalizerRow(
        Sink(torch.tensor(0.5, dtype=torch.float64)),
        lambda e: oracle.softmax([*e, 0.5])[:-1],
        lambda e: torch.cat([e, torch.full_like(e[..., :1], 0.5)], -1).softmax(-1)[..., :-1],
    ),
    "Sparsemax": NormalizerRow(Sparsemax(), oracle.sparsemax, lambda e: entmax.sparsemax(e, dim=-1)),
    "Entmax 1.5": NormalizerRow(Entmax(1.5), lambda e: oracle.entmax(e, 1.5), lambda e: entmax.entmax15(e, dim=-1)),
    "Entmax 1.3": NormalizerRow(
        Entmax(1.3), lambda e: oracle.entmax(e, 1.3), lambda e: entmax.entmax_bisect(e, alpha=1.3, dim=-1)
    ),
    "Sigmoid": NormalizerRow(Sigmoid(), oracle.sigmoid, torch.sigmoid),
    "Sigmoid shifted": NormalizerRow(
        Sigmoid(-2.0), lambda e: oracle.sigmoid(e, -2.0), lambda e: torch.sigmoid(e - 2.0)
    ),
    "Hard": NormalizerRow(
        Hard(), oracle.hard, lambda e: torch.nn.functional.one_hot(e.argmax(-1), e.size(-1)).to(e.dtype)
    ),
    "Mean": NormalizerRow(Mean(), oracle.mean, _shares),
    "function": NormalizerRow(
        _tempered, lambda e: oracle.softmax([score / 2 for score in e]), lambda e: (e / 2).softmax(-1)
    ),
}


# Masks


class MaskRow(NamedTuple):
    """A mask argument and the same as a rule on pairs."""

    mask: Any
    allowed: Callable[[Place], bool]


def _everything(setting: Setting) -> MaskRow:
    return MaskRow(None, lambda place: True)


def _causal(setting: Setting) -> MaskRow:
    shift = setting.keys - setting.queries
    return MaskRow(Causal(), lambda place: place.key <= place.query + shift)


def _causal_start(setting: Setting) -> MaskRow:
    return MaskRow(Causal(align="start"), lambda place: place.key <= place.query)


def _causal_ragged(setting: Setting) -> MaskRow:
    positions = setting.integers(-2, setting.keys + 2, *setting.batch, setting.queries)
    values, ragged = numbers(positions), bool(setting.batch)
    return MaskRow(
        Causal(positions=positions), lambda place: place.key <= of_batch(values, place.index, ragged)[place.query]
    )


def _padding(setting: Setting) -> MaskRow:
    lengths = torch.tensor([setting.keys - 2, 4] if setting.batch else setting.keys - 2, device=setting.device)
    values, ragged = numbers(lengths), bool(setting.batch)
    return MaskRow(Padding(lengths), lambda place: place.key < of_batch(values, place.index, ragged))


def _padding_empty(setting: Setting) -> MaskRow:
    lengths = torch.tensor([0, setting.keys] if setting.batch else 0, device=setting.device)
    values, ragged = numbers(lengths), bool(setting.batch)
    return MaskRow(Padding(lengths), lambda place: place.key < of_batch(values, place.index, ragged))


def _window(setting: Setting) -> MaskRow:
    shift = setting.keys - setting.queries
    return MaskRow(Window(2, 1), lambda place: -2 <= place.key - place.query - shift <= 1)


def _window_ragged(setting: Setting) -> MaskRow:
    positions = setting.integers(-1, setting.keys + 3, *setting.batch, setting.queries)
    values, ragged = numbers(positions), bool(setting.batch)
    return MaskRow(
        Window(3, None, positions=positions),
        lambda place: place.key >= of_batch(values, place.index, ragged)[place.query] - 3,
    )


def _window_start(setting: Setting) -> MaskRow:
    return MaskRow(Window(None, 2, align="start"), lambda place: place.key <= place.query + 2)


def _documents(setting: Setting) -> MaskRow:
    ids = setting.integers(-1, 3, *setting.batch, setting.queries)
    key_ids = setting.integers(-1, 3, *setting.batch, setting.keys)
    own, other, ragged = numbers(ids), numbers(key_ids), bool(setting.batch)

    def allowed(place: Place) -> bool:
        query = of_batch(own, place.index, ragged)[place.query]
        return bool(query >= 0 and query == of_batch(other, place.index, ragged)[place.key])

    return MaskRow(Documents(ids, key_ids), allowed)


def _tensor(setting: Setting) -> MaskRow:
    mask = setting.coins(*setting.shape)
    values = mask.cpu().numpy()
    return MaskRow(mask, lambda place: bool(values[(*place.index, place.query, place.key)]))


def _tensor_with_gaps(setting: Setting) -> MaskRow:
    """The same for all, with a query that may look nowhere and a key nobody may look at."""
    mask = setting.coins(setting.queries, setting.keys)
    mask[2, :], mask[:, 5] = False, False
    values = mask.cpu().numpy()
    return MaskRow(mask, lambda place: bool(values[place.query, place.key]))


def _all_of(setting: Setting) -> MaskRow:
    causal, padding, tensor = _causal(setting), _padding(setting), _tensor(setting)
    return MaskRow(
        causal.mask & padding.mask & tensor.mask,
        lambda place: causal.allowed(place) and padding.allowed(place) and tensor.allowed(place),
    )


def _either(setting: Setting) -> MaskRow:
    window, documents = _window(setting), _documents(setting)
    return MaskRow(window.mask | ~documents.mask, lambda place: window.allowed(place) or not documents.allowed(place))


def _nothing(setting: Setting) -> MaskRow:
    return MaskRow(~Window(None, None), lambda place: False)


MASKS: dict[str, Callable[[Setting], MaskRow]] = {
    "none": _everything,
    "Causal": _causal,
    "Causal from the start": _causal_start,
    "Causal ragged": _causal_ragged,
    "Padding": _padding,
    "Padding of everything": _padding_empty,
    "Window": _window,
    "Window ragged": _window_ragged,
    "Window from the start": _window_start,
    "Documents": _documents,
    "tensor": _tensor,
    "tensor with gaps": _tensor_with_gaps,
    "and": _all_of,
    "or not": _either,
    "nothing": _nothing,
}


# Positions


class PositionRow(NamedTuple):
    """A position and the same as rules on pairs."""

    position: Any
    rules: oracle.Position


def _nowhere(setting: Setting) -> PositionRow:
    return PositionRow(None, oracle.Position())


def _placed(setting: Setting) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """Draw ragged places for queries and keys, and the rules that look them up."""
    query = setting.integers(0, 12, *setting.batch, setting.queries)
    key = setting.integers(0, 12, *setting.batch, setting.keys)
    queries, keys, ragged = numbers(query), numbers(key), bool(setting.batch)
    rules = {
        "query_place": lambda index, i: of_batch(queries, index, ragged)[i],
        "key_place": lambda index, j: of_batch(keys, index, ragged)[j],
    }
    return query, key, rules


def _rotary(setting: Setting) -> PositionRow:
    return PositionRow(Rotary(size=4), oracle.Position(turn=lambda v, place: oracle.rotary_pairs(v, place, 4)))


def _rotary_halves(setting: Setting) -> PositionRow:
    query, key, rules = _placed(setting)
    return PositionRow(
        Rotary(size=6, layout="halves", base=100.0, query_positions=query, key_positions=key),
        oracle.Position(turn=lambda v, place: oracle.rotary_halves(v, place, 6, 100.0), **rules),
    )


def _alibi(setting: Setting) -> PositionRow:
    slopes = setting.draw(*setting.heads).abs()
    values, per_head = numbers(slopes), bool(setting.heads)
    return PositionRow(
        Alibi(slopes=slopes),
        oracle.Position(bias=lambda place: -of_head(values, place, per_head) * abs(place.distance)),
    )


def _relative_bias(setting: Setting) -> PositionRow:
    table = setting.draw(*setting.heads, 5)
    values, per_head = numbers(table), bool(setting.heads)
    return PositionRow(
        RelativeBias(table=table),
        oracle.Position(bias=lambda place: of_head(values, place, per_head)[oracle.clipped(place.distance, 2)]),
    )


def _relative_bias_ragged(setting: Setting) -> PositionRow:
    table = setting.draw(7)
    values = numbers(table)
    query, key, rules = _placed(setting)
    return PositionRow(
        RelativeBias(table=table, query_positions=query, key_positions=key),
        oracle.Position(bias=lambda place: values[oracle.clipped(place.distance, 3)], **rules),
    )


def _relative_buckets(setting: Setting) -> PositionRow:
    table = setting.draw(*setting.heads, 8)
    values, per_head = numbers(table), bool(setting.heads)

    def bias(place: Place) -> float:
        return float(of_head(values, place, per_head)[oracle.bucket(place.distance, 2, 6)])

    return PositionRow(RelativeBuckets(table=table, max_distance=6, both_ways=True), oracle.Position(bias=bias))


def _rotary_stretched(setting: Setting) -> PositionRow:
    frequencies = torch.tensor([0.7, 0.03], dtype=torch.float64)
    return PositionRow(
        Rotary(size=4, frequencies=frequencies, magnitude=1.25),
        oracle.Position(turn=lambda v, place: oracle.rotary_by(v, place, [0.7, 0.03], 1.25)),
    )


def _shaw_keys(setting: Setting, key_width: int) -> PositionRow:
    keys = setting.draw(7, key_width)
    vectors = numbers(keys)
    return PositionRow(
        Shaw(keys=keys), oracle.Position(key_shift=lambda place: vectors[oracle.clipped(place.distance, 3)])
    )


def _shaw(setting: Setting, key_width: int) -> PositionRow:
    keys, values = setting.draw(5, key_width), setting.draw(3, VALUE_WIDTH)
    key_vectors, value_vectors = numbers(keys), numbers(values)
    query, key, rules = _placed(setting)
    return PositionRow(
        Shaw(keys=keys, values=values, query_positions=query, key_positions=key),
        oracle.Position(
            key_shift=lambda place: key_vectors[oracle.clipped(place.distance, 2)],
            value_shift=lambda place: value_vectors[oracle.clipped(place.distance, 1)],
            **rules,
        ),
    )


def _gaussian_window(setting: Setting) -> PositionRow:
    center = (setting.draw(*setting.shape[:-1], spread=3.0) + setting.keys / 2).to(setting.rounded).to(setting.dtype)
    values = center.detach().cpu().double().numpy()

    def distance(place: Place) -> float:
        return float(place.key - values[(*place.index, place.query)])

    return PositionRow(
        GaussianWindow(center=center, half_width=2.5),
        oracle.Position(
            inside=lambda place: abs(distance(place)) <= 2.5,
            factor=lambda place: math.exp(-(distance(place) ** 2) / (2 * 1.25**2)),
        ),
    )


POSITIONS: dict[str, Callable[..., PositionRow]] = {
    "none": _nowhere,
    "Rotary": _rotary,
    "Rotary halves ragged": _rotary_halves,
    "Alibi": _alibi,
    "RelativeBias": _relative_bias,
    "RelativeBias ragged": _relative_bias_ragged,
    "RelativeBuckets": _relative_buckets,
    "Rotary stretched": _rotary_stretched,
    "Shaw keys": _shaw_keys,
    "Shaw ragged": _shaw,
    "GaussianWindow": _gaussian_window,
}
SHAW = {"Shaw keys", "Shaw ragged"}
NEEDS_WEIGHTS = {"Shaw ragged", "GaussianWindow"}


def position_row(name: str, setting: Setting, key_width: int) -> PositionRow:
    """Make a position, told the keys' width where its table needs it."""
    return POSITIONS[name](setting, key_width) if name in SHAW else POSITIONS[name](setting)
