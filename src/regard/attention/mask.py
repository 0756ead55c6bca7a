"""Masks: which key a query may attend to. True means "may attend", everywhere.

Masks are small values that combine: `Causal() & Padding(lengths)`, `Window(8, 0) | Documents(ids)`, `~mask`.
`dense(shape, device)` gives the boolean tensor, with size-one axes where the mask does not vary.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.attention.checks import check_count, check_flag, undefined
from regard.errors import ArgumentError, ArgumentTypeError

Align = Literal["end", "start"]


class Mask:
    """Says for every query and key whether the one may attend to the other.

    What kernels make of a mask is kept with it (`prepared.py`): for all layers that share a mask it is made once.
    """

    #: True where the mask was made while a CUDA graph was captured: what is made of it belongs to that graph.
    captured: bool = False

    def __getstate__(self) -> dict[str, object]:
        """Leave out what kernels made of it."""
        return {name: value for name, value in vars(self).items() if name not in ("prepared", "promising")}

    def dense(self, shape: Sequence[int], device: torch.device | None = None) -> Bool[Tensor, "..."]:
        """Give a boolean tensor that broadcasts to `shape` = (*batch, query, key)."""
        raise undefined(self, "dense(shape, device)")

    def __and__(self, other: "Mask | Tensor") -> "Mask":
        return And(self, as_mask(other))

    def __or__(self, other: "Mask | Tensor") -> "Mask":
        return Or(self, as_mask(other))

    def __rand__(self, other: Tensor) -> "Mask":
        return And(as_mask(other), self)

    def __ror__(self, other: Tensor) -> "Mask":
        return Or(as_mask(other), self)

    def __invert__(self) -> "Mask":
        return Not(self)

    def __bool__(self) -> bool:
        raise ArgumentTypeError(
            f"a mask must be joined by & (both allow), | (either allows) and ~ (not); received {self!r} where Python "
            "wants true or false, as `and`, `or`, `not` and `if` do. Write mask & other, or mask is not None."
        )


def as_mask(mask: Mask | Tensor) -> Mask:
    """Wrap a boolean tensor; leave a mask as it is."""
    if isinstance(mask, Mask):
        return mask
    if isinstance(mask, type) and issubclass(mask, Mask):
        raise ArgumentTypeError(f"`mask` must be a mask; received the class {mask.__name__}. Write {mask.__name__}(…).")
    if not isinstance(mask, Tensor):
        raise ArgumentTypeError(f"`mask` must be a boolean tensor or a mask; received {type(mask).__name__}.")
    if mask.dtype.is_floating_point:
        raise ArgumentTypeError(
            f"`mask` must be boolean, True where a query may attend; received {mask.dtype}. Numbers to add to the "
            "scores go into `bias`; for a mask of ones and zeros write mask.bool()."
        )
    if mask.dtype != torch.bool:
        raise ArgumentTypeError(
            f"`mask` must be boolean, True where a query may attend; received {mask.dtype}. Write mask.bool()."
        )
    return Dense(mask)


@dataclass(frozen=True, eq=False)
class Dense(Mask):
    """A boolean tensor that broadcasts to (*batch, query, key)."""

    tensor: Bool[Tensor, "..."]

    def dense(self, shape: Sequence[int], device: torch.device | None = None) -> Bool[Tensor, "..."]:
        """Give the tensor itself."""
        return self.tensor

    def __repr__(self) -> str:
        return f"Dense{tuple(self.tensor.shape)}"


@dataclass(frozen=True, eq=False)
class Harmless(Dense):
    """A tensor over keys and values that are finite where it forbids: kernels need not see to that."""

    source: Mask | None = None
    """The mask that the tensor was made of, where it says the same of these keys."""


@dataclass(frozen=True, eq=False)
class And(Mask):
    """Both must allow."""

    left: Mask
    right: Mask

    @property
    def captured(self) -> bool:  # type: ignore[override]
        """Return whether one of its parts was made while a CUDA graph was captured."""
        return self.left.captured or self.right.captured

    def dense(self, shape: Sequence[int], device: torch.device | None = None) -> Bool[Tensor, "..."]:
        """Give left ∧ right."""
        return self.left.dense(shape, device) & self.right.dense(shape, device)

    def __repr__(self) -> str:
        return f"({self.left!r} & {self.right!r})"


@dataclass(frozen=True, eq=False)
class Or(Mask):
    """One must allow."""

    left: Mask
    right: Mask

    def dense(self, shape: Sequence[int], device: torch.device | None = None) -> Bool[Tensor, "..."]:
        """Give left ∨ right."""
        return self.left.dense(shape, device) | self.right.dense(shape, device)

    def __repr__(self) -> str:
        return f"({self.left!r} | {self.right!r})"


@dataclass(frozen=True, eq=False)
class Not(Mask):
    """The opposite: `~mask`, which torch.compile cannot trace in every version; `Not(mask)` it can."""

    inverse: Mask

    @property
    def captured(self) -> bool:  # type: ignore[override]
        """Return whether its inverse was made while a CUDA graph was captured."""
        return self.inverse.captured

    def dense(self, shape: Sequence[int], device: torch.device | None = None) -> Bool[Tensor, "..."]:
        """Give ¬mask."""
        return ~self.inverse.dense(shape, device)

    def __repr__(self) -> str:
        return f"~{self.inverse!r}"


@dataclass(frozen=True, eq=False)
class Window(Mask):
    """Attend from `left` positions before the query's own position to `right` positions after it; None has no limit.

    With unequal lengths the ends align: the last query stands at the last key. `align="start"` puts the first query at
    the first key. `positions` gives the key that each query stands at, (query,) or (batch, query), for ragged caches.

    >>> Window(1, 0).dense((3, 3)).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 1, 1]], dtype=torch.int32)
    """

    left: int | None
    right: int | None
    align: Align = field(default="end", kw_only=True)
    positions: Int[Tensor, "... query"] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for name, value in (("left", self.left), ("right", self.right)):
            if value is not None:
                check_count(name, value)
            if value is not None and value < 0:
                raise ArgumentError(
                    f"`{name}` of Window must be zero or more; received {value}. None means no limit on that side."
                )
        check_align(self.align)

    def dense(self, shape: Sequence[int], device: torch.device | None = None) -> Bool[Tensor, "..."]:
        """Give −left ≤ j − i ≤ right."""
        offset = key_offsets(shape, device, align=self.align, positions=self.positions)
        allowed = torch.ones_like(offset, dtype=torch.bool)
        if self.left is not None:
            allowed = allowed & (offset >= -self.left)
        if self.right is not None:
            allowed = allowed & (offset <= self.right)
        return allowed


@dataclass(frozen=True, eq=False)
class Causal(Mask):
    """Attend to the query's own position and before, never to the future.

    With unequal lengths the ends align: the last query sees every key, as one step of decoding needs.
    `align="start"` puts the first query at the first key. `positions` as in `Window`.

    >>> Causal().dense((2, 3)).int()
    tensor([[1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """

    align: Align = "end"
    positions: Int[Tensor, "... query"] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_align(self.align)

    def dense(self, shape: Sequence[int], device: torch.device | None = None) -> Bool[Tensor, "..."]:
        """Give j ≤ i."""
        return key_offsets(shape, device, align=self.align, positions=self.positions) <= 0


@dataclass(frozen=True, eq=False)
class Padding(Mask):
    """Attend to the first `lengths[b]` keys of batch element b, never to the padding behind them.

    >>> Padding(torch.tensor([2, 0])).dense((2, 1, 3)).int()
    tensor([[[1, 1, 0]],
            [[0, 0, 0]]], dtype=torch.int32)
    """

    lengths: Int[Tensor, " batch"] | Int[Tensor, ""]
    finite: bool = field(default=False, kw_only=True)
    """A promise that query, key and value hold no NaN and no infinity, padding included: nothing is zeroed then."""

    def __post_init__(self) -> None:
        _check_integers("lengths", self.lengths)
        check_flag("finite", self.finite)
        if self.lengths.is_cuda and not torch.compiler.is_compiling() and torch.cuda.is_current_stream_capturing():
            object.__setattr__(self, "captured", True)

    def dense(self, shape: Sequence[int], device: torch.device | None = None) -> Bool[Tensor, "..."]:
        """Give j < length."""
        if self.lengths.ndim:
            _check_batch("lengths", self.lengths, 1, shape)
        after = len(shape) - 1 if self.lengths.ndim else 1
        lengths = self.lengths.to(device=device)  # from a loader they often come on the CPU
        return torch.arange(shape[-1], device=device) < lengths.reshape(-1, *[1] * after)


@dataclass(frozen=True, eq=False)
class Documents(Mask):
    """Attend inside one's own document only: sentences of unequal length packed in one row, without padding.

    `ids` names the document of each position, (position,) or (batch, position); where queries and keys differ,
    `key_ids` names the keys'. A negative id is padding: it attends to nothing and nothing attends to it.

    >>> Documents.of_lengths([1, 2]).dense((3, 3)).int()
    tensor([[1, 0, 0],
            [0, 1, 1],
            [0, 1, 1]], dtype=torch.int32)
    """

    ids: Int[Tensor, "... query"]
    key_ids: Int[Tensor, "... key"] | None = None

    def __post_init__(self) -> None:
        _check_integers("ids", self.ids)
        if self.key_ids is not None:
            _check_integers("key_ids", self.key_ids)

    @classmethod
    def of_lengths(cls, lengths: Sequence[int], device: torch.device | None = None) -> "Documents":
        """Number the documents of a packed row from their lengths."""
        if any(length < 0 for length in lengths):
            raise ArgumentError(f"`lengths` must be zero or more; received {list(lengths)}.")
        sizes = torch.as_tensor(lengths, device=device, dtype=torch.long)
        documents = torch.arange(len(sizes), device=device)
        return cls(documents.repeat_interleave(sizes, output_size=int(sum(lengths))))  # a size known while compiling

    def dense(self, shape: Sequence[int], device: torch.device | None = None) -> Bool[Tensor, "..."]:
        """Give "same document"."""
        key_ids = self.ids if self.key_ids is None else self.key_ids
        for name, ids, length in (("ids", self.ids, shape[-2]), ("key_ids", key_ids, shape[-1])):
            if ids.shape[-1:] != (length,):
                raise ArgumentError(
                    f"`{name}` of Documents must name {length} positions; received shape {tuple(ids.shape)}. Where "
                    "queries and keys differ in number, give `ids` for the queries and `key_ids` for the keys."
                )
        query = over_batch("ids", self.ids, shape).unsqueeze(-1).to(device=device)
        key = over_batch("key_ids", key_ids, shape).unsqueeze(-2).to(device=device)
        return (query == key) & (key >= 0)


def check_align(align: str) -> None:
    """Raise unless `align` is one of the two."""
    if align not in ("end", "start"):
        raise ArgumentError(f'`align` must be "end" or "start"; received "{align}".')


def _check_integers(name: str, value: Tensor) -> None:
    if not isinstance(value, Tensor) or value.dtype.is_floating_point or value.dtype == torch.bool:
        result = str(value.dtype) if isinstance(value, Tensor) else type(value).__name__
        raise ArgumentTypeError(f"`{name}` must be a tensor of integers; received {result}.")


def _check_batch(name: str, value: Tensor, axes: int, shape: Sequence[int]) -> None:
    """Raise unless `value` has that many axes, the first of them the batch's."""
    if len(shape) < 3 or value.ndim != axes or (value.size(0) != 1 and value.size(0) != shape[0]):
        batch = shape[0] if len(shape) > 2 else "no batch axis"
        raise ArgumentError(
            f"`{name}` must speak of the batch on axis 0, {batch}; received shape {tuple(value.shape)}. "
            "Axis 0 of query and key is the batch."
        )


def over_batch(name: str, value: Tensor, shape: Sequence[int]) -> Tensor:
    """Lay (batch, n) along axis 0 of `shape` = (batch, …, query, key), or (n,) along no batch: gives (batch, 1…, n)."""
    if value.ndim == 1:
        return value
    _check_batch(name, value, 2, shape)
    return value.view(value.size(0), *[1] * (len(shape) - 3), value.size(-1))


def key_offsets(
    shape: Sequence[int],
    device: torch.device | None,
    *,
    align: Align = "end",
    positions: Tensor | None = None,
) -> Int[Tensor, "... query key"]:
    """Give j − i, the position of each key relative to each query."""
    query_length, key_length = shape[-2], shape[-1]
    if positions is None:
        first = key_length - query_length if align == "end" else 0
        query = torch.arange(query_length, device=device) + first
    else:
        query = located("positions", positions, query_length, shape).to(device=device)
    return torch.arange(key_length, device=device) - query.unsqueeze(-1)


def located(name: str, positions: Tensor, length: int, shape: Sequence[int]) -> Tensor:
    """Expand the positions of queries or keys over the batch, or raise where they are not `length` integers."""
    _check_integers(name, positions)
    if positions.shape[-1:] != (length,):
        raise ArgumentError(f"`{name}` must name {length} positions; received shape {tuple(positions.shape)}.")
    return over_batch(name, positions, shape)


def from_torch_mha(
    mask: Tensor | None = None, *, key_padding_mask: Tensor | None = None, num_heads: int | None = None
) -> Bool[Tensor, "..."]:
    """Turn masks made for `nn.MultiheadAttention`, where True means "ignore", into ours, where True means "may attend".

    `mask` is its `attn_mask`, (query, key) or (batch · heads, query, key), the latter with `num_heads`;
    `key_padding_mask` is (batch, key). The result broadcasts to (batch, heads, query, key).

    >>> from_torch_mha(torch.tensor([[False, True], [False, False]]))
    tensor([[ True, False],
            [ True,  True]])
    """
    if mask is None and key_padding_mask is None:
        raise ArgumentError("`mask` or `key_padding_mask` must be given; received neither.")
    allowed: Tensor | None = None
    if mask is not None:
        allowed = ~_boolean("mask", mask)
        if mask.ndim == 3:
            if not num_heads or mask.size(0) % num_heads:
                raise ArgumentError(
                    f"`num_heads` must divide the first axis of a three-axis mask, {mask.size(0)}; "
                    f"received {num_heads}."
                )
            allowed = allowed.unflatten(0, (-1, num_heads))
    if key_padding_mask is not None:
        keys = ~_boolean("key_padding_mask", key_padding_mask)[..., None, None, :]
        allowed = keys if allowed is None else allowed & keys
    assert allowed is not None
    return allowed


def _boolean(name: str, mask: Tensor) -> Tensor:
    if mask.dtype != torch.bool:
        raise ArgumentTypeError(
            f"`{name}` must be boolean; received {mask.dtype}. A float mask of nn.MultiheadAttention is added to the "
            "scores: pass it to `attention` as `bias`."
        )
    return mask
