"""Scores: how well a query matches a key, before normalizing (e_ij).

Every score states `dense(query, key)`, its definition. One that is an inner product in disguise also states
`inner(query, key)`, which rewrites it as scale · q'k'ᵀ + bias + (a constant per row), the form fused kernels take.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention.checks import check_factor, check_number, check_parameter, undefined
from regard.attention.tensors import Keys, Queries, Scores, widened
from regard.errors import ArgumentError, nearest

Activation = Literal["tanh", "identity"]


class Inner(NamedTuple):
    """A score as an inner product: scale · query @ keyᵀ + bias, up to a constant per row."""

    query: Float[Tensor, "*batch query inner"]
    key: Float[Tensor, "*batch key inner"]
    bias: Float[Tensor, "*batch one key"] | None
    scale: float


class Score:
    """Compares every query with every key.

    `dense` is the definition. All else restates it in a form that a kernel can use, and holds for that definition
    alone: a subclass that writes another `dense` inherits none of the others from its base, and states what holds.
    """

    #: True where the score is linear in the key, so that Shaw's a_ij may be added to it.
    linear: bool = False
    #: True where `inner` leaves out a constant per row, which a normalizer must then ignore.
    inner_shifts: bool = False
    #: True where the vectors of `inner` stay within float16's range if query and key do.
    inner_fits_half: bool = True
    #: True where half precision is given to `dense` as float32.
    widens: bool = True

    def __init_subclass__(cls) -> None:
        """Start from the forms that hold for every score where the class writes a definition of its own."""
        super().__init_subclass__()
        if "dense" in vars(cls):
            for name in ("linear", "inner_shifts", "inner_fits_half", "has_inner", "inner", "projected", "hidden_size"):
                if name not in vars(cls):
                    setattr(cls, name, vars(Score)[name])

    def dense(self, query: Queries, key: Keys) -> Scores:
        """Give the score of every pair, by definition."""
        raise undefined(self, "dense(query, key)")

    @property
    def has_inner(self) -> bool:
        """Return whether `inner` gives a form: where it is stated, unless the score knows better."""
        return type(self).inner is not Score.inner

    def inner(
        self, query: Queries, key: Keys, attendable: Bool[Tensor, "*attendable key"] | None = None
    ) -> Inner | None:
        """Rewrite the score as an inner product; None where there is no such form."""
        return None

    def projected(self, query: Tensor, key: Tensor) -> tuple["Score", Tensor, Tensor]:
        """Do once the work that does not depend on the pair; by default there is none."""
        return self, query, key

    def hidden_size(self, query: Queries, key: Keys) -> int:
        """Return how many numbers `dense` holds per pair; above one, backend "chunked" pays: it gives it some rows."""
        return 1

    def of_rows(self, first: int, count: int) -> "Score":
        """Give the score of `count` query rows from `first` on, where it differs from row to row."""
        return self

    def check(self, query: Queries, key: Keys, shape: Sequence[int]) -> None:
        """Raise if the widths of query and key do not suit; `shape` is that of the scores, (*batch, query, key)."""
        if query.size(-1) != key.size(-1):
            raise ArgumentError(
                f"`query` and `key` must have the same width for {type(self).__name__}; received {query.size(-1)} and "
                f"{key.size(-1)}. For unequal widths use Bilinear(matrix) or Concat(matrix, vector)."
            )

    def __str__(self) -> str:
        return type(self).__name__


#: A function of whole query and key; `score_function.ScoreRows` wraps one that may be given some rows.
ScoreFunction = Callable[[Tensor, Tensor], Tensor]


def factor_of_rows(factor: Tensor, first: int, count: int) -> Tensor:
    """Give the part of a factor, (*batch, query or 1, 1), that belongs to these query rows."""
    return factor if factor.ndim < 2 or factor.size(-2) == 1 else factor.narrow(-2, first, count)


@dataclass(frozen=True, eq=False)
class Dot(Score):
    r"""Take the plain inner product.

    $$e_{ij} = q_i^\top k_j$$

    Reference: Luong, Pham and Manning (2015), section 3.1, arXiv:1508.04025.

    >>> Dot().dense(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[11.]])
    """

    linear = True

    def dense(self, query: Queries, key: Keys) -> Scores:
        """Give q·k."""
        return query @ key.mT

    def inner(self, query: Queries, key: Keys, attendable: Bool[Tensor, "*attendable key"] | None = None) -> Inner:
        """Is one already."""
        return Inner(query, key, None, 1.0)


@dataclass(frozen=True, eq=False)
class ScaledDot(Score):
    r"""Divide the inner product by the root of the width, so that its variance does not grow with it.

    $$e_{ij} = q_i^\top k_j / \sqrt{d}$$

    where $d$ is the width; `scale` replaces $1/\sqrt{d}$ and may be a learned tensor, of size one along the keys.

    Reference: Vaswani et al. (2017), equation 1, arXiv:1706.03762.

    >>> ScaledDot().dense(torch.tensor([[1.0, 2.0, 2.0, 4.0]]), torch.ones(1, 4))
    tensor([[4.5000]])
    """

    scale: float | Tensor | None = None
    linear = True

    def __post_init__(self) -> None:
        if self.scale is not None and not isinstance(self.scale, Tensor):
            check_number("scale", self.scale)

    def dense(self, query: Queries, key: Keys) -> Scores:
        """Give q·k/√d."""
        query, key, _, scale = ScaledDot.inner(self, query, key)
        return (query * scale) @ key.mT

    def inner(self, query: Queries, key: Keys, attendable: Bool[Tensor, "*attendable key"] | None = None) -> Inner:
        """Is one already."""
        if isinstance(self.scale, Tensor):
            return Inner((query * widened(self.scale)).to(query.dtype), key, None, 1.0)
        return Inner(query, key, None, 1 / math.sqrt(max(key.size(-1), 1)) if self.scale is None else self.scale)

    def check(self, query: Queries, key: Keys, shape: Sequence[int]) -> None:
        """Raise unless the widths agree and the scale is one per row at most."""
        super().check(query, key, shape)
        check_factor("scale", self.scale, shape, query.device)

    def of_rows(self, first: int, count: int) -> "ScaledDot":
        """Take the rows' own scales."""
        if not isinstance(self.scale, Tensor):
            return self
        return replace(self, scale=factor_of_rows(self.scale, first, count))


@dataclass(frozen=True, eq=False)
class Bilinear(Score):
    r"""Compare vectors of unequal width through a matrix.

    $$e_{ij} = q_i^\top M k_j$$

    where $M$ is `matrix`, (query width, key width) or one per head. Luong's "general" score.

    Reference: Luong, Pham and Manning (2015), section 3.1, arXiv:1508.04025.

    >>> Bilinear(torch.ones(2, 3)).dense(torch.ones(5, 2), torch.ones(4, 3)).shape
    torch.Size([5, 4])
    """

    matrix: Tensor
    linear = True
    inner_fits_half = False  # q M sums over the query's features

    def dense(self, query: Queries, key: Keys) -> Scores:
        """Give qᵀMk."""
        return query @ self.matrix.to(query.dtype) @ key.mT

    def inner(self, query: Queries, key: Keys, attendable: Bool[Tensor, "*attendable key"] | None = None) -> Inner:
        """Multiply the query by the matrix once."""
        return Inner(query @ self.matrix.to(query.dtype), key, None, 1.0)

    def check(self, query: Queries, key: Keys, shape: Sequence[int]) -> None:
        """Raise unless the matrix maps one width to the other."""
        expected = (query.size(-1), key.size(-1))
        check_parameter("matrix", self.matrix, expected, "(query width, key width)", shape, query.device)


@dataclass(frozen=True, eq=False)
class Additive(Score):
    r"""Compare every query with every key through a tanh layer.

    $$e_{ij} = v^\top \tanh(q_i + k_j)$$

    where $q_i$ and $k_j$ are already projected and $v$ is `vector`, or one vector per head. With
    `activation="identity"` the score is $v^\top q_i + v^\top k_j$: the first term is the same for every key, so the
    softmax drops it and the weights do not depend on the query. That is why the tanh is there.

    Reference: Bahdanau, Cho and Bengio (2015), section A.1.2, arXiv:1409.0473.
    Differs: $W_a$ and $U_a$ belong to the layer; keys are projected once per source.

    >>> Additive(torch.ones(4)).dense(torch.zeros(1, 2, 4), torch.zeros(1, 3, 4)).shape
    torch.Size([1, 2, 3])
    """

    vector: Tensor
    activation: Activation = "tanh"
    inner_shifts = True

    def __post_init__(self) -> None:
        if self.activation not in get_args(Activation):
            raise ArgumentError(
                f'`activation` must be "tanh" or "identity"; received "{self.activation}". '
                + nearest(self.activation, get_args(Activation))
            )

    def dense(self, query: Queries, key: Keys) -> Scores:
        """Give v·tanh(q + k)."""
        vector = self.vector.to(query.dtype)
        if self.activation == "identity":
            column = vector.unsqueeze(-1)
            return query @ column + (key @ column).mT
        hidden = torch.tanh(query.unsqueeze(-2) + key.unsqueeze(-3))  # *batch query key size
        if vector.ndim == 1:
            return hidden @ vector
        return (hidden @ vector[:, None, :, None]).squeeze(-1)

    @property
    def has_inner(self) -> bool:
        """Return whether the form is linear."""
        return self.activation == "identity"

    def inner(
        self, query: Queries, key: Keys, attendable: Bool[Tensor, "*attendable key"] | None = None
    ) -> Inner | None:
        """Exists for the linear form only: the key's term, times a query of ones, tied to the query by a zero."""
        if self.activation != "identity":
            return None
        return Inner(query[..., :1] * 0 + 1, key @ self.vector.to(key.dtype).unsqueeze(-1), None, 1.0)

    def hidden_size(self, query: Queries, key: Keys) -> int:
        """Hold the tanh layer for every pair."""
        return query.size(-1) if self.activation == "tanh" else 1

    def check(self, query: Queries, key: Keys, shape: Sequence[int]) -> None:
        """Raise unless query, key and vector have one width."""
        super().check(query, key, shape)
        check_parameter("vector", self.vector, (query.size(-1),), "(width,)", shape, query.device)


@dataclass(frozen=True, eq=False)
class Concat(Score):
    r"""Feed query and key, laid end to end, to a tanh layer.

    $$e_{ij} = v^\top \tanh(W [q_i; k_j])$$

    where $W$ is `matrix`, (hidden, query width + key width), and $v$ is `vector`, (hidden,). Since
    $W[q; k] = W_1 q + W_2 k$, this is `Additive` after two projections, and is computed so.

    Reference: Luong, Pham and Manning (2015), section 3.1, arXiv:1508.04025.

    >>> Concat(torch.ones(6, 5), torch.ones(6)).dense(torch.ones(7, 2), torch.ones(4, 3)).shape
    torch.Size([7, 4])
    """

    matrix: Tensor
    vector: Tensor

    def dense(self, query: Queries, key: Keys) -> Scores:
        """Give v·tanh(W[q; k])."""
        additive, query, key = Concat.projected(self, query, key)
        return additive.dense(query, key)

    def projected(self, query: Tensor, key: Tensor) -> tuple[Score, Tensor, Tensor]:
        """Apply the two halves of W."""
        for_query, for_key = self.matrix.to(query.dtype).split([query.size(-1), key.size(-1)], dim=-1)
        return Additive(self.vector), query @ for_query.mT, key @ for_key.mT

    def hidden_size(self, query: Queries, key: Keys) -> int:
        """Hold the tanh layer for every pair."""
        return self.matrix.size(-2)

    def check(self, query: Queries, key: Keys, shape: Sequence[int]) -> None:
        """Raise unless the matrix takes both widths and the vector its output."""
        hidden = self.matrix.size(-2) if isinstance(self.matrix, Tensor) and self.matrix.ndim > 1 else 1
        expected = (hidden, query.size(-1) + key.size(-1))
        check_parameter("matrix", self.matrix, expected, "(hidden, query width + key width)", shape, query.device)
        check_parameter("vector", self.vector, (hidden,), "(hidden,)", shape, query.device)


@dataclass(frozen=True, eq=False)
class Location(Score):
    r"""Score positions by the query alone: the key's content is not used.

    $$e_i = W q_i$$

    where $W$ is `matrix`, (query width, longest source), cut to the number of keys.

    Reference: Luong, Pham and Manning (2015), equation 8, arXiv:1508.04025.

    >>> Location(torch.ones(2, 10)).dense(torch.ones(5, 2), torch.ones(4, 3)).shape
    torch.Size([5, 4])
    """

    matrix: Tensor

    def dense(self, query: Queries, key: Keys) -> Scores:
        """Give W q, cut to the number of keys."""
        return query @ self.matrix[..., : key.size(-2)].to(query.dtype)

    def check(self, query: Queries, key: Keys, shape: Sequence[int]) -> None:
        """Raise unless the matrix takes the query and reaches the last key."""
        longest = self.matrix.size(-1) if isinstance(self.matrix, Tensor) and self.matrix.ndim > 1 else 1
        check_parameter(
            "matrix", self.matrix, (query.size(-1), longest), "(query width, longest source)", shape, query.device
        )
        if key.size(-2) > longest:
            raise ArgumentError(
                f"`key` must have at most {longest} positions, the longest source of Location; received "
                f"{key.size(-2)}. Use a wider matrix or a shorter source."
            )
