"""What a Transformer's decoder keeps: the source, and the target so far, in a cache that grows or has one shape."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from regard.layers.cache import as_held, by_position
from regard.layers.memory import Memory
from regard.layers.static_memory import StaticMemory, gather_rows


class TransformerMemory(NamedTuple):
    """The source as each block of the decoder attends to it, one row per sentence."""

    blocks: tuple[Memory, ...]
    """Keys and values, for each block its own."""

    @property
    def rows(self) -> int:
        """How many sentences."""
        return self.blocks[0].key.size(0)

    def select(self, rows: Int[Tensor, " chosen"]) -> "TransformerMemory":
        """Take these sentences, in this order."""
        return TransformerMemory(tuple(item.select(rows) for item in self.blocks))


class TransformerState(NamedTuple):
    """The target so far as each block of the decoder attends to it, one row per hypothesis."""

    blocks: tuple[Memory, ...]
    """Keys and values, for each block its own, in a fixed capacity."""
    length: int | None
    """How many tokens every row holds: known without asking the device. None where the device alone counts."""

    @property
    def rows(self) -> int:
        """How many hypotheses."""
        return self.blocks[0].key.size(0)

    def select(self, rows: Int[Tensor, " chosen"]) -> "TransformerState":
        """Take these hypotheses, in this order; one may come twice."""
        return TransformerState(tuple(item.select(rows, filled=self.length) for item in self.blocks), self.length)

    def fixed(self, capacity: int) -> "StaticState":
        """Give the state before any token in tensors of one shape for `capacity` tokens: a step can then be captured.

        What is held already is not taken along. What is empty takes no memory until it is copied.
        """
        return StaticState.from_empty(self.blocks, capacity)

    def with_capacity(self, more: int) -> "TransformerState":
        """Reserve capacity for `more` tokens where there is none, by doubling."""
        if self.length is None:
            return self
        capacity, needed = self.blocks[0].capacity, self.length + more
        if needed <= capacity:
            return self
        capacity_needed = max(needed, 2 * capacity)
        return TransformerState(tuple(item.reserve(capacity_needed) for item in self.blocks), self.length)

    def next_positions(self, count: int) -> Int[Tensor, "..."]:
        """Give the positions of the next `count` tokens, the same in all rows."""
        if torch.compiler.is_compiling() or self.length is None:
            return self.blocks[0].next_positions(count)
        return torch.arange(self.length, self.length + count, device=self.blocks[0].key.device)

    def after(self, blocks: Sequence[Memory], count: int) -> "TransformerState":
        """Give the state after a step that has appended `count` tokens to these."""
        return TransformerState(tuple(blocks), None if self.length is None else self.length + count)


class Cache(NamedTuple):
    """The keys and values of one block, each where it was written: see `layers/cache.py` for the order of the axes."""

    key: Float[Tensor, "rows capacity *heads key_size"]
    value: Float[Tensor, "rows capacity *heads value_size"]
    turned: bool
    """True where the keys have been turned by their positions already."""

    def settled(self, table: Int[Tensor, "hypotheses capacity"] | None, capacity: int) -> "Cache":
        """Copy each hypothesis into its own row, with capacity for so many tokens."""
        key, value = (_settled(item, table, capacity) for item in (self.key, self.value))
        return Cache(key, value, self.turned)


class StaticState(NamedTuple):
    """The target so far in tensors of one shape: a step writes in place and asks the host nothing.

    Keys and values stay where they were written, and hypotheses are re-ordered in one small table for all blocks: see
    `StaticMemory`. Like it, this is no value: whoever keeps an older one reads new keys.
    """

    caches: tuple[Cache, ...]
    """Keys and values, for each block its own."""
    length: Int[Tensor, "1"]
    """How many tokens every row holds."""
    table: Int[Tensor, "hypotheses capacity"] | None
    """Which row of a cache holds each token of each hypothesis; None where hypotheses have never been selected."""
    numbers: Int[Tensor, " numbers"]
    """0, 1, 2, …: as many as there are rows or positions."""

    @classmethod
    def from_empty(cls, blocks: Sequence[Memory], capacity: int) -> "StaticState":
        """Make one of memories that hold nothing yet."""
        caches = tuple(Cache(_zeros(item.key, capacity), _zeros(item.value, capacity), item.turned) for item in blocks)
        rows, device = blocks[0].key.size(0), blocks[0].key.device
        numbers = torch.arange(max(rows, capacity), device=device)
        return cls(caches, torch.zeros(1, dtype=torch.long, device=device), None, numbers)

    @property
    def rows(self) -> int:
        """How many hypotheses."""
        return self.caches[0].key.size(0)

    @property
    def capacity(self) -> int:
        """How many tokens there is space for."""
        return self.caches[0].key.size(1)

    def select(self, rows: Int[Tensor, " chosen"]) -> "StaticState":
        """Take these hypotheses, in this order; one may come twice. No key is copied unless their number changes."""
        if self.table is None:
            chosen = self._replace(table=rows.unsqueeze(1).repeat(1, self.capacity))
        else:
            chosen = self._replace(table=self.table.index_select(0, rows))
        return chosen if len(rows) == self.rows else chosen.fixed(self.capacity)

    def fixed(self, capacity: int) -> "StaticState":
        """Copy all hypotheses, each into its own row, with capacity for so many tokens; there is no table then."""
        caches = tuple(cache.settled(self.table, capacity) for cache in self.caches)
        numbers = torch.arange(max(caches[0].key.shape[:2]), device=self.numbers.device)
        return StaticState(caches, self.length, None, numbers)

    def with_capacity(self, more: int) -> TransformerState:
        """Open it for `more` tokens: give the memories of all blocks, in which they count already."""
        new = self.length if more == 1 else self.length + self.numbers[:more]
        length = self.length + more
        mask = (self.numbers[: self.capacity] < length).unsqueeze(0)
        if self.table is not None:  # each hypothesis writes into its own row
            self.table.index_copy_(1, new, self.numbers[: self.rows].unsqueeze(1).expand(-1, more))
        memories = []
        for key, value, turned in self.caches:
            held = as_held(key.contiguous()), as_held(value.contiguous())
            memories.append(StaticMemory(*held, mask, length, turned, new=new, table=self.table))
        return TransformerState(tuple(memories), None)

    def after(self, blocks: Sequence[Memory], count: int) -> "StaticState":
        """Give the state after a step that has appended `count` tokens to these."""
        caches = tuple(Cache(by_position(item.key), by_position(item.value), item.turned) for item in blocks)
        return StaticState(caches, blocks[0].length, self.table, self.numbers)


def _zeros(held: Float[Tensor, "rows *heads held size"], capacity: int) -> Float[Tensor, "rows {capacity} *heads size"]:
    """Give a buffer of zeros, all of them one number."""
    rows, _, *rest = by_position(held).shape
    return held.new_zeros(()).expand(rows, capacity, *rest)


def _settled(buffer: Tensor, table: Tensor | None, capacity: int) -> Tensor:
    held = buffer if table is None else gather_rows(buffer, table)
    more = capacity - held.size(1)
    return F.pad(held, (*[0, 0] * (held.ndim - 2), 0, more)) if more else held
