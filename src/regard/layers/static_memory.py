"""A cache of one shape throughout, filled at an index that the device alone knows: what a captured step can write."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.layers.cache import as_held, by_position
from regard.layers.memory import Memory


class StaticMemory(Memory):
    """A memory in a step that never asks the host: every row holds equally many keys, and the mask hides the rest.

    It is opened for the keys of one step: `length` and `mask` count them already, and `append` writes them in place at
    the positions `new`. What is not filled is zero, so nothing need be blanked before it is attended to. Unlike
    `Memory` it is no value: whoever keeps an older one reads new keys.

    Keys and values stay where they were written. With a `table`, position p of row r lies in row `table[r, p]` of
    `key` and `value`, so that beam search re-orders small integers. A new key of row r is always written into row r.

    >>> zeros, table = torch.zeros(2, 3, 4), torch.tensor([[1, 0, 0], [1, 1, 1]])
    >>> mask, length = torch.tensor([[True, True, False]]), torch.tensor([2])
    >>> memory = StaticMemory(zeros, zeros.clone(), mask, length, new=torch.tensor([1]), table=table)
    >>> memory = memory.append(Memory.of(torch.ones(2, 1, 4), torch.ones(2, 1, 4)))
    >>> memory.key[..., 0]
    tensor([[0., 1., 0.],
            [0., 1., 0.]])
    """

    new: Int[Tensor, " new"]
    """Where `append` writes."""
    table: Int[Tensor, "batch capacity"] | None
    """Which row of `key` and `value` holds each position of each row; None where it is the row itself."""

    def __new__(
        cls,
        key: Float[Tensor, "rows *heads capacity key_size"],
        value: Float[Tensor, "rows *heads capacity value_size"],
        mask: Bool[Tensor, "1 capacity"],
        length: Int[Tensor, "1"],
        turned: bool = False,
        *,
        new: Int[Tensor, " new"],
        table: Int[Tensor, "batch capacity"] | None = None,
    ) -> "StaticMemory":
        """Hold keys and values, of which the `length` first positions count."""
        memory = super().__new__(cls, key, value, mask, length, turned)
        memory.new, memory.table = new, table
        return memory

    def next_positions(self, count: int) -> Int[Tensor, " count"]:
        """Give the positions of the keys that it is opened for, the same in all rows."""
        return self.new

    def append(self, more: Memory, *, filled: int | None = None) -> "StaticMemory":
        """Write the keys of `more`, all of which count, at the positions that it is opened for."""
        for held, new in ((self.key, more.key), (self.value, more.value)):
            held.index_copy_(-2, self.new, new.to(held.dtype))
        return self

    def gathered(self) -> Memory:
        """Copy the keys and values of each row into its own row."""
        if self.table is None:
            return self
        key, value = (as_held(gather_rows(by_position(item), self.table)) for item in (self.key, self.value))
        return Memory(key, value, self.mask, self.length, self.turned)

    def common_length(self) -> int | None:
        """Give nothing: the device alone knows."""
        return None


def gather_rows(
    buffer: Float[Tensor, "rows capacity *heads size"], table: Int[Tensor, "batch capacity"]
) -> Float[Tensor, "batch capacity *heads size"]:
    """Copy each position from the row that the table names.

    >>> gather_rows(torch.tensor([[[1.0], [2.0]], [[3.0], [4.0]]]), torch.tensor([[1, 0]])).tolist()
    [[[3.0], [2.0]]]
    """
    return buffer[table, torch.arange(buffer.size(1), device=table.device)]
