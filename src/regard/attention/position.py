"""Positions: how far apart query and key stand, for the operator.

A position may act at five points, in the order of the computation: `rotate` query and key before the score, add a
`bias` to the scores, narrow the `mask`, `reweight` the weights, and add to the `context`. By default it does nothing at
each. Keys stand at 0, 1, …; queries so that the ends align, or where `query_positions` and `key_positions`,
(position,) or (batch, position), put them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.attention.checks import check_count, check_device, check_number, check_numbers, check_tensor
from regard.attention.mask import located
from regard.attention.score import Score
from regard.attention.tensors import Keys, Queries, Scores, Values, broadcasts, name_of
from regard.errors import ArgumentError, nearest

#: Query and key after `rotate`: positions of their own may give them more leading axes.
TurnedQueries = Float[Tensor, "... query query_size"]
TurnedKeys = Float[Tensor, "... key key_size"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Position:
    """Knows where queries and keys stand."""

    query_positions: Int[Tensor, "... query"] | None = None
    key_positions: Int[Tensor, "... key"] | None = None

    @property
    def adds_bias(self) -> bool:
        """Return whether `bias` adds to the scores: where it is written."""
        return type(self).bias is not Position.bias

    @property
    def narrows(self) -> bool:
        """Return whether `mask` forbids keys: where it is written."""
        return type(self).mask is not Position.mask

    @property
    def needs_weights(self) -> bool:
        """Return whether `reweight` or `context` act on the weights, which fused kernels do not give."""
        return type(self).reweight is not Position.reweight or type(self).context is not Position.context

    def locate(
        self, shape: Sequence[int], device: torch.device
    ) -> tuple[Int[Tensor, "... query"], Int[Tensor, "... key"]]:
        """Give where queries and keys stand, (position,) or (batch, 1…, position)."""
        query = self.locate_queries(shape, device)
        if self.key_positions is None:
            return query, torch.arange(shape[-1], device=device)
        return query, located("key_positions", self.key_positions, shape[-1], shape).to(device)

    def locate_queries(self, shape: Sequence[int], device: torch.device) -> Int[Tensor, "... query"]:
        """Give where queries alone stand."""
        if self.query_positions is None:
            return torch.arange(shape[-2], device=device) + (shape[-1] - shape[-2])
        return located("query_positions", self.query_positions, shape[-2], shape).to(device)

    def offsets(self, shape: Sequence[int], device: torch.device) -> Int[Tensor, "... query key"]:
        """Give j − i for every query i and key j."""
        query, key = self.locate(shape, device)
        return key.unsqueeze(-2) - query.unsqueeze(-1)

    def check(self, score: object, query: Queries, key: Keys, value: Values, shape: Sequence[int]) -> None:
        """Raise if this position cannot go with these arguments."""

    def rotate(self, query: Queries, key: Keys, shape: Sequence[int]) -> tuple[TurnedQueries, TurnedKeys]:
        """Change query and key before the score."""
        return query, key

    def bias(self, score: object, query: Queries, key: Keys, shape: Sequence[int]) -> Float[Tensor, "..."] | None:
        """Give what to add to the scores."""
        return None

    def mask(self, shape: Sequence[int], device: torch.device) -> Bool[Tensor, "..."] | None:
        """Return which keys each query may attend to."""
        return None

    def reweight(self, weights: Scores) -> Scores:
        """Change the weights after normalizing."""
        return weights

    def context(self, weights: Scores) -> Tensor | None:
        """Give what to add to the context."""
        return None

    def __str__(self) -> str:
        return type(self).__name__


@dataclass(frozen=True, eq=False)
class Rotary(Position):
    r"""Turn each pair of features by an angle that grows with the position: scores then see only the distance.

    $$(R_m q)^\top (R_n k) = q^\top R_{n-m} k, \qquad \theta_i = \text{base}^{-2i/d}$$

    `layout` says which features form a pair: neighbors, "pairs" as in the paper, or the two "halves", as in
    Hugging Face checkpoints. `size` turns the first `size` features only. `frequencies`, (size/2,), replaces
    $\theta$, as models stretched to longer contexts do (`attention.frequencies`), and `magnitude` multiplies what is
    turned. A cache turns each key once, by `turn`, and then sets `turned=True`: keys are left as they are.

    Reference: Su et al. (2021), equations 14, 15 and 34, arXiv:2104.09864.

    >>> query = torch.tensor([[1.0, 0.0]])
    >>> Rotary(query_positions=torch.tensor([1])).rotate(query, query, (1, 1))[0]
    tensor([[0.5403, 0.8415]])
    """

    base: float = 10000.0
    layout: Literal["pairs", "halves"] = "pairs"
    size: int | None = None
    frequencies: Float[Tensor, " pair"] | None = field(default=None, kw_only=True)
    magnitude: float = field(default=1.0, kw_only=True)
    turned: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.layout not in ("pairs", "halves"):
            raise ArgumentError(
                f'`layout` of Rotary must be "pairs" or "halves"; received "{self.layout}". '
                + nearest(self.layout, ("pairs", "halves"))
            )
        check_number("base", self.base, positive=True)
        check_number("magnitude", self.magnitude, positive=True)
        if self.size is not None:
            check_count("size", self.size)
        if self.frequencies is not None:
            check_tensor("frequencies", self.frequencies)
            check_numbers("frequencies", self.frequencies)

    def check(self, score: object, query: Queries, key: Keys, value: Values, shape: Sequence[int]) -> None:
        """Raise unless the features pair up."""
        for name, tensor in (("query", query), ("key", key)):
            size = tensor.size(-1) if self.size is None else self.size
            if size % 2 or not 0 <= size <= tensor.size(-1):
                raise ArgumentError(
                    f"`{name}` must have an even number of features to rotate, at most its width {tensor.size(-1)}; "
                    f"received {size}. Choose an even width, or Rotary(size=…) to turn the first few."
                )
            if self.frequencies is not None and tuple(self.frequencies.shape) != (size // 2,):
                raise ArgumentError(
                    f"`frequencies` must hold one number for each of the {size // 2} pairs of features of `{name}`; "
                    f"received shape {tuple(self.frequencies.shape)}."
                )

    def rotate(self, query: Queries, key: Keys, shape: Sequence[int]) -> tuple[TurnedQueries, TurnedKeys]:
        """Turn both sides, each by its own position."""
        if self.turned:
            return self._turn(query, self.locate_queries(shape, query.device)), key
        query_indices, key_indices = self.locate(shape, query.device)
        return self._turn(query, query_indices), self._turn(key, key_indices)

    def turn(
        self, features: Float[Tensor, "*batch position size"], positions: Int[Tensor, "... position"]
    ) -> Float[Tensor, "*batch position size"]:
        """Turn one side alone: keys, once, before they are kept."""
        indices = located("positions", positions, features.size(-2), (*features.shape[:-1], features.size(-2)))
        return self._turn(features, indices.to(features.device))

    def _turn(self, features: Tensor, positions: Tensor) -> Tensor:
        size = features.size(-1) if self.size is None else self.size
        wide = torch.float64 if features.dtype == torch.float64 else torch.float32
        exact = torch.float32 if features.device.type == "mps" else torch.float64  # float32 is off by 0.004 at 100,000
        if self.frequencies is None:
            exponent = torch.arange(0, size, 2, device=features.device, dtype=exact) / max(size, 1)
            frequencies = self.base**-exponent
        else:
            frequencies = self.frequencies.to(features.device, exact)
        angle = positions.unsqueeze(-1).to(exact) * frequencies  # *batch position size/2
        turned, kept = features[..., :size].to(wide), features[..., size:]
        if self.layout == "pairs":
            first, second = turned[..., 0::2], turned[..., 1::2]
        else:
            first, second = turned.chunk(2, dim=-1)
        cosine, sine = angle.cos().to(wide), angle.sin().to(wide)
        if self.magnitude != 1:
            cosine, sine = cosine * self.magnitude, sine * self.magnitude
        rotated = (first * cosine - second * sine, first * sine + second * cosine)
        turned = torch.stack(rotated, dim=-1).flatten(-2) if self.layout == "pairs" else torch.cat(rotated, dim=-1)
        return torch.cat([turned.to(features.dtype), kept.expand(*turned.shape[:-1], -1)], dim=-1)


@dataclass(frozen=True, eq=False)
class Shaw(Position):
    r"""Add a learned vector for each clipped distance to every key, and to every value.

    $$e_{ij} = q_i^\top (k_j + a^K_{ij}) / \sqrt{d}, \qquad c_i = \sum_j \alpha_{ij} (v_j + a^V_{ij}),
    \qquad a_{ij} = w_{\text{clip}(j - i, -R, R)}$$

    where $w^K$ is `keys`, (2R + 1, key width), and $w^V$ is `values`, (2R + 1, value width), each with its own $R$.

    Reference: Shaw, Uszkoreit and Vaswani (2018), equations 3 and 4, arXiv:1803.02155.
    Differs: the (query, key, width) tensor of the $a_{ij}$ is never made: a score per distance is gathered instead,
    and the weights are summed per distance.

    >>> position = Shaw(keys=torch.zeros(5, 4), values=torch.ones(5, 3))
    >>> position.context(torch.full((1, 2, 2), 0.5))
    tensor([[[1., 1., 1.], [1., 1., 1.]]])
    """

    keys: Float[Tensor, "distance key_size"] = field(kw_only=True)
    values: Float[Tensor, "value_distance value_size"] | None = field(default=None, kw_only=True)

    @property
    def needs_weights(self) -> bool:
        """Need them for the values' vectors."""
        rewritten = type(self).reweight is not Position.reweight or type(self).context is not Shaw.context
        return self.values is not None or rewritten

    def check(self, score: object, query: Queries, key: Keys, value: Values, shape: Sequence[int]) -> None:
        """Raise unless the score is linear in the key and the tables fit."""
        if not isinstance(score, Score) or not score.linear:
            raise ArgumentError(
                f"`score` must be linear in the key for Shaw (Dot, ScaledDot or Bilinear); received {name_of(score)}. "
                "RelativeBias goes with every score."
            )
        _check_table("keys", self.keys, key, "key")
        if self.values is not None:
            _check_table("values", self.values, value, "value")

    def bias(self, score: object, query: Queries, key: Keys, shape: Sequence[int]) -> Float[Tensor, "..."]:
        """Score the query against each distance once, then gather."""
        assert isinstance(score, Score)
        inner = score.inner(query, key)
        assert inner is not None
        by_distance = inner.query @ self.keys.mT.to(inner.query.dtype) * inner.scale  # *batch query distance
        index = self._index(shape, query.device, self.keys)
        return by_distance.expand(*shape[:-1], -1).gather(-1, index.expand(shape))

    def context(self, weights: Scores) -> Tensor | None:
        """Sum the weights per distance, then mix the distances' vectors."""
        if self.values is None:
            return None
        index = self._index(weights.shape, weights.device, self.values)
        mass = weights.new_zeros(*weights.shape[:-1], self.values.size(0))
        mass = mass.scatter_add(-1, index.expand(weights.shape), weights)
        return mass @ self.values.to(mass.dtype)

    def _index(self, shape: Sequence[int], device: torch.device, table: Tensor) -> Tensor:
        reach = table.size(0) // 2
        return self.offsets(shape, device).clamp(-reach, reach).long() + reach


def _check_table(name: str, table: Tensor, beside: Tensor, side: str) -> None:
    check_tensor(name, table)
    check_numbers(name, table)
    check_device(name, table, beside.device)
    width = beside.size(-1)
    if table.ndim != 2 or table.size(0) % 2 == 0 or table.size(1) != width:
        raise ArgumentError(
            f"`{name}` of Shaw must have shape (2·reach + 1, {side} width {width}); received {tuple(table.shape)}."
        )


@dataclass(frozen=True, eq=False)
class GaussianWindow(Position):
    r"""Attend around a predicted position: Luong's local-p attention, as printed.

    $$\alpha_{ij} = \text{align}(q_i, k_j) \exp\left(-\frac{(j - p_i)^2}{2\sigma^2}\right), \qquad \sigma = D/2,
    \qquad |j - p_i| \le D$$

    where $p_i$ is `center`, (*batch, query), differentiable, in positions of the keys, and $D$ is `half_width`. The
    normalizer runs over the window; the Gaussian comes after it and is not normalized again, so rows sum to less than
    one.

    Reference: Luong, Pham and Manning (2015), equation 10, arXiv:1508.04025.

    >>> window = GaussianWindow(center=torch.tensor([[1.0]]), half_width=2)
    >>> window.reweight(torch.full((1, 1, 4), 0.25))
    tensor([[[0.1516, 0.2500, 0.1516, 0.0338]]])
    """

    center: Float[Tensor, "*batch query"] = field(kw_only=True)
    half_width: float = field(kw_only=True)

    def __post_init__(self) -> None:
        check_number("half_width", self.half_width, positive=True)
        if self.query_positions is not None:
            raise ArgumentError(
                "`query_positions` of GaussianWindow must be None: `center` is where each query attends."
            )

    def check(self, score: object, query: Queries, key: Keys, value: Values, shape: Sequence[int]) -> None:
        """Raise unless there is a center for every query."""
        check_tensor("center", self.center)
        check_numbers("center", self.center)
        check_device("center", self.center, query.device)
        expected = tuple(shape[:-1])
        result = tuple(self.center.shape)
        if len(result) != len(expected) or not broadcasts(result, expected):
            raise ArgumentError(
                f"`center` of GaussianWindow must broadcast to (*batch, query) = {expected}; received {result}."
            )

    def _distance(self, shape: Sequence[int], device: torch.device) -> Tensor:
        _, key_positions = self.locate(shape, device)
        return key_positions.unsqueeze(-2) - self.center.unsqueeze(-1)

    def mask(self, shape: Sequence[int], device: torch.device) -> Bool[Tensor, "..."]:
        """Allow the window only."""
        return self._distance(shape, device).detach().abs() <= self.half_width

    def reweight(self, weights: Scores) -> Scores:
        """Multiply by the Gaussian; outside the window the weights are zero, wherever a center of NaN puts it."""
        sigma = self.half_width / 2
        distance = self._distance(weights.shape, weights.device)
        distance = distance.masked_fill(~self.mask(weights.shape, weights.device), 0.0)
        return weights * torch.exp(distance.square() / (-2 * sigma**2)).to(weights.dtype)
