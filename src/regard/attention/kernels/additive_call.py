"""The operands of the fused additive kernels, whichever of them runs."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

#: Differences of position that allow every pair.
ANY = 1 << 30


class Masking(NamedTuple):
    """Who may attend to what: query i to key j where the mask says so, low ≤ j − i ≤ high and j < length."""

    mask: Bool[Tensor, "element query key"] | None = None
    lengths: Int[Tensor, " lengths"] | None = None
    low: int = -ANY
    high: int = ANY

    @property
    def leaves_out(self) -> bool:
        """Return whether whole tiles are left out."""
        return self.lengths is not None or self.low > -ANY or self.high < ANY

    def dense(self, elements: int, queries: int, keys: int, device: torch.device) -> Bool[Tensor, "..."] | None:
        """Give all of it as one mask that broadcasts to (element, query, key)."""
        if not self.leaves_out:
            return self.mask
        key = torch.arange(keys, device=device)
        apart = key - torch.arange(queries, device=device)[:, None]
        allowed = ((apart >= self.low) & (apart <= self.high)).expand(elements, queries, keys)
        if self.lengths is not None:
            lengths = self.lengths.repeat_interleave(elements // self.lengths.numel())
            allowed = allowed & (key < lengths[:, None, None])
        return allowed if self.mask is None else allowed & self.mask


class Call(NamedTuple):
    """The operands of one call: (element, row, size), a vector for each head in turn, and who may attend."""

    query: Float[Tensor, "element query size"]
    key: Float[Tensor, "element key size"]
    vector: Float[Tensor, "heads size"]
    value: Float[Tensor, "element key width"]
    masking: Masking
    seed: Int[Tensor, " one"] | None
    """Where dropout draws from: one integer on the device."""
    dropout: float

    @property
    def per_length(self) -> int:
        """Return how many elements share a length."""
        lengths = self.masking.lengths
        return 1 if lengths is None else self.query.size(0) // lengths.numel()

    @property
    def numbers(self) -> tuple[int | float, ...]:
        """Give what kernels take behind the sizes: width, heads, who may attend, dropout."""
        masking = self.masking
        strides = (0, 0, 0) if masking.mask is None else masking.mask.stride()
        shape = self.value.size(2), self.vector.size(0), self.per_length
        return *shape, masking.low, masking.high, *strides, float(self.dropout)

    @property
    def flags(self) -> dict[str, bool]:
        """Give what kernels are compiled for."""
        masking = self.masking
        has = {"HAS_LENGTHS": masking.lengths is not None, "HAS_MASK": masking.mask is not None}
        return has | {"HAS_DROPOUT": self.dropout > 0, "FAST": self.value.is_cuda}

    def optional(self, other: Shaped[Tensor, "..."]) -> list[Any]:
        """Give lengths, mask and seed; `other` stands where there is none."""
        mask = None if self.masking.mask is None else self.masking.mask.view(torch.uint8)
        return [either(tensor, other) for tensor in (self.masking.lengths, mask, self.seed)]


class Outputs(NamedTuple):
    """What the kernels give; no weights, but an empty tensor, unless asked for."""

    context: Float[Tensor, "element query width"]
    normalizer: Float[Tensor, "element query"]
    weights: Float[Tensor, "..."]


class Gradients(NamedTuple):
    """The gradients of the operands."""

    query: Float[Tensor, "element query size"]
    key: Float[Tensor, "element key size"]
    vector: Float[Tensor, "heads size"]
    value: Float[Tensor, "element key width"]


class Arrived(NamedTuple):
    """Gradients of context, of weights and, by rows, of log normalizers; None where there is none."""

    context: Float[Tensor, "..."]
    weights: Float[Tensor, "element query key"] | None = None
    rows: Float[Tensor, "element query"] | None = None


def either(tensor: Shaped[Tensor, "..."] | None, other: Shaped[Tensor, "..."]) -> Shaped[Tensor, "..."]:
    """Give the tensor, or the other where there is none: a kernel takes no None that it does not read."""
    return other if tensor is None else tensor


def add_to_vector(
    by_vector: Float[Tensor, "heads size"],
    normalizer: Float[Tensor, "element query"],
    by_normalizer: Float[Tensor, "element query"] | None,
) -> None:
    """Add what log normalizers bring the vector: with them, slopes do not sum to zero, and the 1 of the tanh counts."""
    if by_normalizer is not None:
        whole = by_normalizer.masked_fill(normalizer == -torch.inf, 0.0).sum(-1)
        by_vector.add_(whole.view(-1, by_vector.size(0)).sum(0)[:, None])


def without_weights(arrived: Arrived, weights: Float[Tensor, "element query key"]) -> Arrived:
    """Take each row's sum of weights times their gradients off what reaches the row."""
    if arrived.weights is None:
        return arrived
    product = (weights * arrived.weights).sum(-1)
    return arrived._replace(rows=-product if arrived.rows is None else arrived.rows - product)


def power_of_two(number: int) -> int:
    """Give the next power of two, 16 at least."""
    return max(16, 1 << (number - 1).bit_length())
