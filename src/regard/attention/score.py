"""Scores: how well a query matches a key, before normalizing (e_ij).

Every score states `dense(query, key)`, its definition. One that is an inner product in disguise also states
`inner(query, key)`, which rewrites it as scale · q'k'ᵀ + bias + (a constant per row), the form fused kernels take.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention.tensors import check_factor, check_parameter, check_positive, kernel_dtype, widened
from regard.errors import ArgumentError, nearest

Activation = Literal["tanh", "identity"]


class Inner(NamedTuple):
    """A score as an inner product: scale · query @ keyᵀ + bias, up to a constant per row."""

    query: Float[Tensor, "*batch query inner"]
    key: Float[Tensor, "*batch key inner"]
    bias: Float[Tensor, "*batch one key"] | None
    scale: float


class Score(ABC):
    """Compares every query with every key."""

    #: True where the score is linear in the key, so that Shaw's a_ij may be added to it.
    linear: bool = False

    @abstractmethod
    def dense(
        self, query: Float[Tensor, "*batch query query_size"], key: Float[Tensor, "*batch key key_size"]
    ) -> Float[Tensor, "*batch query key"]:
        """Give the score of every pair, by definition."""

    @property
    def has_inner(self) -> bool:
        """Tell whether `inner` gives a form: where it is stated, unless the score knows better."""
        return type(self).inner is not Score.inner

    def inner(self, query: Tensor, key: Tensor, attendable: Bool[Tensor, "*batch key"] | None = None) -> Inner | None:
        """Rewrite the score as an inner product; None where there is no such form."""
        return None

    def projected(self, query: Tensor, key: Tensor) -> tuple["Score", Tensor, Tensor]:
        """Do once the work that does not depend on the pair; by default there is none."""
        return self, query, key

    def hidden_size(self, query: Tensor, key: Tensor) -> int:
        """Say how many numbers `dense` holds per pair; above one, backend "chunked" pays."""
        return 1

    def check(self, query: Tensor, key: Tensor, shape: Sequence[int]) -> None:
        """Raise if the widths of query and key do not suit; `shape` is that of the scores, (*batch, query, key)."""
        if query.size(-1) != key.size(-1):
            raise ArgumentError(
                f"`query` and `key` must have the same width for {type(self).__name__}; received {query.size(-1)} and "
                f"{key.size(-1)}. For unequal widths use Bilinear(matrix) or Concat(matrix, vector)."
            )

    def __str__(self) -> str:
        return type(self).__name__


ScoreFunction = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Dot(Score):
    r"""Take the plain inner product.

    $$e_{ij} = q_i^\top k_j$$

    Reference: Luong, Pham and Manning (2015), section 3.1, arXiv:1508.04025.

    >>> Dot().dense(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([[11.]])
    """

    linear = True

    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        """Give q·k."""
        return query @ key.mT

    def inner(self, query: Tensor, key: Tensor, attendable: Tensor | None = None) -> Inner:
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

    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        """Give q·k/√d."""
        query, key, _, scale = self.inner(query, key)
        return (query * scale) @ key.mT

    def inner(self, query: Tensor, key: Tensor, attendable: Tensor | None = None) -> Inner:
        """Is one already."""
        if isinstance(self.scale, Tensor):
            return Inner((query * widened(self.scale)).to(query.dtype), key, None, 1.0)
        return Inner(query, key, None, 1 / math.sqrt(max(key.size(-1), 1)) if self.scale is None else self.scale)

    def check(self, query: Tensor, key: Tensor, shape: Sequence[int]) -> None:
        """Raise unless the widths agree and the scale is one per row at most."""
        super().check(query, key, shape)
        check_factor("scale", self.scale, shape)


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

    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        """Give qᵀMk."""
        return query @ self.matrix.to(query.dtype) @ key.mT

    def inner(self, query: Tensor, key: Tensor, attendable: Tensor | None = None) -> Inner:
        """Multiply the query by the matrix once."""
        return Inner(query @ self.matrix.to(query.dtype), key, None, 1.0)

    def check(self, query: Tensor, key: Tensor, shape: Sequence[int]) -> None:
        """Raise unless the matrix maps one width to the other."""
        expected = (query.size(-1), key.size(-1))
        check_parameter("matrix", self.matrix, expected, "(query width, key width)", shape)


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

    def __post_init__(self) -> None:
        if self.activation not in get_args(Activation):
            raise ArgumentError(
                f'`activation` must be "tanh" or "identity"; received "{self.activation}". '
                + nearest(self.activation, get_args(Activation))
            )

    def dense(self, query: Tensor, key: Tensor) -> Tensor:
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
        """Tell whether the form is linear."""
        return self.activation == "identity"

    def inner(self, query: Tensor, key: Tensor, attendable: Tensor | None = None) -> Inner | None:
        """Exists for the linear form only: the key's term, times a query of ones, tied to the query by a zero."""
        if self.activation != "identity":
            return None
        return Inner(query[..., :1] * 0 + 1, key @ self.vector.to(key.dtype).unsqueeze(-1), None, 1.0)

    def hidden_size(self, query: Tensor, key: Tensor) -> int:
        """Hold the tanh layer for every pair."""
        return query.size(-1) if self.activation == "tanh" else 1

    def check(self, query: Tensor, key: Tensor, shape: Sequence[int]) -> None:
        """Raise unless query, key and vector have one width."""
        super().check(query, key, shape)
        check_parameter("vector", self.vector, (query.size(-1),), "(width,)", shape)


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

    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        """Give v·tanh(W[q; k])."""
        additive, query, key = self.projected(query, key)
        return additive.dense(query, key)

    def projected(self, query: Tensor, key: Tensor) -> tuple[Score, Tensor, Tensor]:
        """Apply the two halves of W."""
        for_query, for_key = self.matrix.to(query.dtype).split([query.size(-1), key.size(-1)], dim=-1)
        return Additive(self.vector), query @ for_query.mT, key @ for_key.mT

    def hidden_size(self, query: Tensor, key: Tensor) -> int:
        """Hold the tanh layer for every pair."""
        return self.matrix.size(-2)

    def check(self, query: Tensor, key: Tensor, shape: Sequence[int]) -> None:
        """Raise unless the matrix takes both widths and the vector its output."""
        hidden = self.matrix.size(-2) if isinstance(self.matrix, Tensor) and self.matrix.ndim > 1 else 1
        expected = (hidden, query.size(-1) + key.size(-1))
        check_parameter("matrix", self.matrix, expected, "(hidden, query width + key width)", shape)
        check_parameter("vector", self.vector, (hidden,), "(hidden,)", shape)


@dataclass(frozen=True, eq=False)
class Gaussian(Score):
    r"""Prefer near keys: the logarithm of a Gaussian kernel.

    $$e_{ij} = -\lVert q_i - k_j \rVert^2 / 2\sigma^2$$

    where $\sigma$ is `bandwidth`, a number or a learned tensor, of size one along the keys. With `Softmax` this is
    Nadaraya-Watson regression. On keys of equal norm the weights are those of `Dot`.

    Reference: Nadaraya (1964); Watson (1964).

    >>> Gaussian(1.0).dense(torch.tensor([[0.0]]), torch.tensor([[0.0], [2.0]]))
    tensor([[-0., -2.]])
    """

    bandwidth: float | Tensor = 1.0

    def __post_init__(self) -> None:
        check_positive("bandwidth", self.bandwidth)

    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        """Give −‖q − k‖²/2σ²."""
        difference = query.unsqueeze(-2) - key.unsqueeze(-3)  # *batch query key size
        bandwidth = widened(self.bandwidth) if isinstance(self.bandwidth, Tensor) else self.bandwidth
        return (difference.square().sum(-1) / (-2 * bandwidth**2)).to(query.dtype)

    def inner(self, query: Tensor, key: Tensor, attendable: Tensor | None = None) -> Inner:
        """Expand the square around the mean of the attendable keys; ‖q‖² is constant along a row.

        Distances do not change when both sides move; without the move, inputs far from the origin would cancel badly.
        Keys many bandwidths apart still cancel: float32 is off by 0.03 at 1000 of them. So no backend chooses this form
        by itself; backend="sdpa" asks for it.
        The squared norm is one more feature of the key, in two parts, so that half precision does not round it away.
        """
        center = _mean_key(key, attendable)
        query, key = query - center, key - center
        norm = widened(key).square().sum(-1, keepdim=True) * -0.5
        high = norm.to(kernel_dtype(key)).to(key.dtype)
        low = (norm - high).to(key.dtype)
        ones = query.new_ones(()).expand(*query.shape[:-1], 2)
        wide = torch.cat([query, ones], dim=-1)
        if isinstance(self.bandwidth, Tensor):
            wide, scale = (wide / widened(self.bandwidth) ** 2).to(query.dtype), 1.0
        else:
            scale = 1 / self.bandwidth**2
        return Inner(wide, torch.cat([key, high, low], dim=-1), None, scale)

    def check(self, query: Tensor, key: Tensor, shape: Sequence[int]) -> None:
        """Raise unless the widths agree and the bandwidth is one per row at most."""
        super().check(query, key, shape)
        check_factor("bandwidth", self.bandwidth, shape)

    def hidden_size(self, query: Tensor, key: Tensor) -> int:
        """Hold the difference of every pair."""
        return query.size(-1)


def _mean_key(key: Tensor, attendable: Tensor | None) -> Tensor:
    """Average the keys that may be attended to; any center is right, a near one is accurate."""
    wide = widened(key.detach())
    if attendable is None:
        return (wide.sum(-2, keepdim=True) / max(key.size(-2), 1)).to(key.dtype)
    count = attendable.sum(-1, keepdim=True).clamp_min(1).unsqueeze(-1)
    return ((wide * attendable.unsqueeze(-1)).sum(-2, keepdim=True) / count).to(key.dtype)


@dataclass(frozen=True, eq=False)
class Cosine(Score):
    r"""Compare directions, whatever the lengths.

    $$e_{ij} = \cos(q_i, k_j) / \tau$$

    where $\tau$ is `temperature`, a number or a learned tensor, of size one along the keys. A vector of zeros has
    cosine zero with everything.

    Reference: Graves, Wayne and Danihelka (2014), equations 5 and 6, arXiv:1410.5401 (with $\beta = 1/\tau$).

    >>> Cosine(0.5).dense(torch.tensor([[3.0, 0.0]]), torch.tensor([[7.0, 0.0], [0.0, 1.0]]))
    tensor([[2., 0.]])
    """

    temperature: float | Tensor = 1.0

    def __post_init__(self) -> None:
        check_positive("temperature", self.temperature)

    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        """Give cos(q, k)/τ."""
        query, key, _, scale = self.inner(query, key)
        return (query * scale) @ key.mT

    def inner(self, query: Tensor, key: Tensor, attendable: Tensor | None = None) -> Inner:
        """Normalize both sides once."""
        if isinstance(self.temperature, Tensor):
            return Inner((_unit(query) / widened(self.temperature)).to(query.dtype), _unit(key), None, 1.0)
        return Inner(_unit(query), _unit(key), None, 1 / self.temperature)

    def check(self, query: Tensor, key: Tensor, shape: Sequence[int]) -> None:
        """Raise unless the widths agree and the temperature is one per row at most."""
        super().check(query, key, shape)
        check_factor("temperature", self.temperature, shape)


def _unit(vector: Tensor) -> Tensor:
    """Scale to length one; zero stays zero, with zero gradient.

    Dividing by the sum of magnitudes first keeps the squares of very long and very short vectors in range.
    """
    wide = widened(vector)
    total = wide.detach().abs().sum(-1, keepdim=True)
    zero = total == 0
    wide = wide / total.masked_fill(zero, 1)
    square = wide.square().sum(-1, keepdim=True).masked_fill(zero, 1)
    return (wide * square.rsqrt()).masked_fill(zero, 0).to(vector.dtype)


@dataclass(frozen=True, eq=False)
class Location(Score):
    r"""Score places by the query alone: the key's content is not looked at.

    $$e_i = W q_i$$

    where $W$ is `matrix`, (query width, longest source), cut to the number of keys.

    Reference: Luong, Pham and Manning (2015), equation 8, arXiv:1508.04025.

    >>> Location(torch.ones(2, 10)).dense(torch.ones(5, 2), torch.ones(4, 3)).shape
    torch.Size([5, 4])
    """

    matrix: Tensor

    def dense(self, query: Tensor, key: Tensor) -> Tensor:
        """Give W q, cut to the number of keys."""
        return query @ self.matrix[..., : key.size(-2)].to(query.dtype)

    def check(self, query: Tensor, key: Tensor, shape: Sequence[int]) -> None:
        """Raise unless the matrix takes the query and reaches the last key."""
        longest = self.matrix.size(-1) if isinstance(self.matrix, Tensor) and self.matrix.ndim > 1 else 1
        check_parameter("matrix", self.matrix, (query.size(-1), longest), "(query width, longest source)", shape)
        if key.size(-2) > longest:
            raise ArgumentError(
                f"`key` must have at most {longest} positions, the longest source of Location; received "
                f"{key.size(-2)}. Use a wider matrix or a shorter source."
            )
