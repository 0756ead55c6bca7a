"""Scores by likeness: near in space (Gaussian) or alike in direction (Cosine)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool
from torch import Tensor

from regard.attention.checks import check_factor, check_number
from regard.attention.score import Inner, Score, factor_of_rows
from regard.attention.tensors import Keys, Queries, Scores, kernel_dtype, widened


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
    inner_shifts = True
    inner_fits_half = False  # its squared norms

    def __post_init__(self) -> None:
        if not isinstance(self.bandwidth, Tensor):
            check_number("bandwidth", self.bandwidth, positive=True)

    def dense(self, query: Queries, key: Keys) -> Scores:
        """Give −‖q − k‖²/2σ²."""
        difference = query.unsqueeze(-2) - key.unsqueeze(-3)  # *batch query key size
        bandwidth = widened(self.bandwidth) if isinstance(self.bandwidth, Tensor) else self.bandwidth
        return (difference.square().sum(-1) / (-2 * bandwidth**2)).to(query.dtype)

    def inner(self, query: Queries, key: Keys, attendable: Bool[Tensor, "*attendable key"] | None = None) -> Inner:
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

    def check(self, query: Queries, key: Keys, shape: Sequence[int]) -> None:
        """Raise unless the widths agree and the bandwidth is one per row at most."""
        super().check(query, key, shape)
        check_factor("bandwidth", self.bandwidth, shape, query.device)

    def of_rows(self, first: int, count: int) -> "Gaussian":
        """Take the rows' own bandwidths."""
        if not isinstance(self.bandwidth, Tensor):
            return self
        return replace(self, bandwidth=factor_of_rows(self.bandwidth, first, count))

    def hidden_size(self, query: Queries, key: Keys) -> int:
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
        if not isinstance(self.temperature, Tensor):
            check_number("temperature", self.temperature, positive=True)

    def dense(self, query: Queries, key: Keys) -> Scores:
        """Give cos(q, k)/τ."""
        query, key, _, scale = Cosine.inner(self, query, key)
        return (query * scale) @ key.mT

    def inner(self, query: Queries, key: Keys, attendable: Bool[Tensor, "*attendable key"] | None = None) -> Inner:
        """Normalize both sides once."""
        if isinstance(self.temperature, Tensor):
            return Inner((_unit(query) / widened(self.temperature)).to(query.dtype), _unit(key), None, 1.0)
        return Inner(_unit(query), _unit(key), None, 1 / self.temperature)

    def check(self, query: Queries, key: Keys, shape: Sequence[int]) -> None:
        """Raise unless the widths agree and the temperature is one per row at most."""
        super().check(query, key, shape)
        check_factor("temperature", self.temperature, shape, query.device)

    def of_rows(self, first: int, count: int) -> "Cosine":
        """Take the rows' own temperatures."""
        if not isinstance(self.temperature, Tensor):
            return self
        return replace(self, temperature=factor_of_rows(self.temperature, first, count))


def _unit(vector: Tensor) -> Tensor:
    """Scale to length one; zero stays zero, with zero gradient.

    Dividing by the largest magnitude first keeps the squares of very long and very short vectors in range.
    """
    if not vector.size(-1):
        return vector
    wide = widened(vector)
    largest = wide.detach().abs().amax(-1, keepdim=True)
    zero = largest == 0
    wide = wide / largest.masked_fill(zero, 1)
    square = wide.square().sum(-1, keepdim=True).masked_fill(zero, 1)
    return (wide * square.rsqrt()).masked_fill(zero, 0).to(vector.dtype)
