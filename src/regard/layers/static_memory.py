"""A cache of one shape throughout, filled at an index that the device alone knows: what a captured step can write."""

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn import functional as F

from regard.layers.memory import Memory


class StaticMemory(Memory):
    """A memory that never asks the host: every batch element holds equally many keys, and the mask hides the rest.

    `append` writes in place, at `length`, and gives the same tensors back. What is not filled is zero, so nothing need
    be blanked before it is attended to. Unlike `Memory` it is no value: whoever keeps an older one reads new keys.

    >>> memory = StaticMemory.from_empty(Memory.of(torch.ones(2, 0, 4), torch.ones(2, 0, 4)), 3)
    >>> memory = memory.append(Memory.of(torch.ones(2, 1, 4), torch.ones(2, 1, 4)))
    >>> memory.mask, memory.length
    (tensor([[ True, False, False]]), tensor([1]))
    """

    __slots__ = ()

    @classmethod
    def from_empty(cls, memory: Memory, capacity: int) -> "StaticMemory":
        """Make one of a memory that holds nothing yet."""
        key, value = (item.new_zeros(*item.shape[:-2], capacity, item.size(-1)) for item in (memory.key, memory.value))
        length = torch.zeros(1, dtype=torch.long, device=key.device)
        mask = torch.zeros(1, capacity, dtype=torch.bool, device=key.device)
        return cls(key, value, mask, length, memory.turned)

    def next_positions(self, count: int) -> Int[Tensor, " count"]:
        """Give the positions of the next `count` keys, the same in all rows."""
        return self.length + torch.arange(count, device=self.length.device)

    def reserve(self, capacity: int) -> "StaticMemory":
        """Copy into a larger capacity."""
        more = capacity - self.capacity
        assert self.mask is not None
        key, value = (F.pad(item, (0, 0, 0, more)) for item in (self.key, self.value))
        return StaticMemory(key, value, F.pad(self.mask, (0, more)), self.length, self.turned)

    def append(self, more: Memory, *, filled: int | None = None) -> "StaticMemory":
        """Write the keys of `more`, all of which count, behind those that are there."""
        positions = self.next_positions(more.capacity)
        for held, new in ((self.key, more.key), (self.value, more.value)):
            held.index_copy_(-2, positions, new.to(held.dtype))
        length = self.length + more.capacity
        mask = torch.arange(self.capacity, device=length.device) < length.unsqueeze(-1)
        return StaticMemory(self.key, self.value, mask, length, self.turned)

    def select(self, rows: Int[Tensor, " rows"], *, filled: int | None = None) -> "StaticMemory":
        """Copy these rows of the batch, in this order; a row may come twice."""
        key, value = self.key.index_select(0, rows), self.value.index_select(0, rows)
        return StaticMemory(key, value, self.mask, self.length, self.turned)

    def common_length(self) -> int | None:
        """Give nothing: the device alone knows."""
        return None
