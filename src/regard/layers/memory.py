"""Memory: what a layer attends over, projected once. The Transformer's cache and a recurrent decoder's source alike."""

from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from regard.attention import Causal, Mask, Padding, Window
from regard.attention.kernels.blank import blank
from regard.attention.kernels.transforms import transform_in_force
from regard.attention.mask import And, Dense, Harmless, Not, Or, as_mask
from regard.errors import ArgumentError, ArgumentTypeError
from regard.layers.cache import WriteRight, gather, may_write, new_buffer, put, write


class Memory(NamedTuple):
    """Keys and values ready to be attended to, batch first: a plain value that layers take and give back.

    Made by `layer.remember(key, value, mask)`. `reserve` sets the capacity, `append` fills it without changing a shape,
    each batch element at its own length, and `select` re-orders the batch, as beam search does. Outside autograd and
    compiled code `append` writes into the reserved buffer, and copies only where that could be seen: see `WriteRight`.

    >>> memory = Memory.of(torch.ones(2, 3, 4), torch.ones(2, 3, 5), Padding(torch.tensor([3, 1])))
    >>> memory.mask
    tensor([[ True,  True,  True],
            [ True, False, False]])
    >>> memory = memory.reserve(6).append(Memory.of(torch.ones(2, 1, 4), torch.ones(2, 1, 5)))
    >>> memory.length, memory.capacity
    (tensor([4, 2]), 6)
    """

    key: Float[Tensor, "batch *heads capacity key_size"]
    """The keys as the score wants them: projected, split into heads where the layer has heads."""
    value: Float[Tensor, "batch *heads capacity value_size"]
    """The values, likewise."""
    mask: Bool[Tensor, "batch capacity"] | None
    """True where a key may be attended to; None where all may, and all capacity is filled."""
    length: Int[Tensor, " batch"]
    """Where the next key will be put: how many positions of each batch element are filled."""
    turned: bool = False
    """True where the keys have been turned by their positions already: `remember(…, positions=…)`."""
    write_right: WriteRight | None = None
    """The right to append in place. A memory without one holds only finite numbers where its mask forbids."""

    @classmethod
    def of(
        cls,
        key: Float[Tensor, "batch *heads key key_size"],
        value: Float[Tensor, "batch *heads key value_size"],
        mask: Bool[Tensor, "batch key"] | Padding | None = None,
        *,
        turned: bool = False,
        clean: bool = False,
    ) -> "Memory":
        """Hold these keys and values. After a `Padding` the next key goes right behind each element's last.

        `clean` says that what the mask forbids is finite: keys and values were made by `blank_padding`.
        """
        allowed = key_mask(mask, key)
        if isinstance(mask, Padding):
            length = mask.lengths.to(device=key.device, dtype=torch.long).expand(key.size(0))
        else:
            length = torch.full((key.size(0),), key.size(-2), device=key.device)
        if allowed is not None and not clean:  # once, here, instead of at every call
            key, value = (blank(item, _over_heads(allowed, item)) for item in (key, value))
        return cls(key, value, allowed, length, turned)

    @property
    def capacity(self) -> int:
        """How many keys it can hold."""
        return self.key.size(-2)

    def next_positions(self, count: int) -> Int[Tensor, "batch query"]:
        """Give the positions of the next `count` keys: the `query_positions` of the tokens about to be appended."""
        return self.length[:, None] + torch.arange(count, device=self.length.device)

    def reserve(self, capacity: int) -> "Memory":
        """Make the capacity `capacity` keys in all."""
        more = capacity - self.capacity
        if more < 0:
            raise ArgumentError(
                f"`capacity` must be at least what the memory holds, {self.capacity}; received {capacity}."
            )
        if more == 0:
            return self
        filled = self.mask
        if filled is None:
            filled = torch.ones(self.key.size(0), self.capacity, dtype=torch.bool, device=self.key.device)
        mask = F.pad(filled, (0, more))
        if self.write_right is not None and may_write(self.key):
            return self._moved(mask, self.length, capacity=capacity)
        key, value = F.pad(self.key, (0, 0, 0, more)), F.pad(self.value, (0, 0, 0, more))
        return Memory(key, value, mask, self.length, self.turned, self.write_right)

    def _moved(
        self,
        mask: Tensor | None,
        length: Tensor,
        *,
        capacity: int,
        filled: int | None = None,
        rows: Tensor | None = None,
    ) -> "Memory":
        """Copy what is filled, of these rows or of all, into buffers of that capacity that are then our own."""
        filled = self._most() if filled is None else filled
        held = (self.key, self.value)
        key, value = (new_buffer(item, capacity=capacity, filled=filled, rows=rows) for item in held)
        known_filled = None if self.write_right is None else self.write_right.filled
        return Memory(key, value, mask, length, self.turned, WriteRight(key, value, length, filled=known_filled))

    def append(self, more: "Memory", *, filled: int | None = None) -> "Memory":
        """Put the keys of `more` behind those of each batch element; shapes stay, so compiled code need not change.

        What is padding in `more`, by a `Padding` mask, will be written over by the next `append`. `filled` says how
        many keys every batch element holds, where that is known, so that nobody need ask the device.
        """
        counted = self.common_length()
        filled = counted if filled is None else filled
        self._check_append(more, filled)
        assert self.mask is not None
        length, count = self.length + more.length, more.capacity
        counts = self.mask.new_ones(self.mask.size(0), count) if more.mask is None else more.mask
        if not may_write(self.key):
            positions = self.next_positions(count)
            key, value = put(self.key, more.key, at=positions), put(self.value, more.value, at=positions)
            right = None if self.write_right is None else WriteRight.used_up()
            return Memory(key, value, self.mask.scatter(1, positions, counts), length, self.turned, right)
        mine = self.write_right is not None and self.write_right.take(self.key, self.value, self.length)
        held = self if mine else self._moved(self.mask, self.length, capacity=self.capacity, filled=filled)
        key, value, mask = held.key, held.value, self.mask.clone()
        at = self.next_positions(count) if filled is None else filled
        for buffer, new in ((key, more.key), (value, more.value), (mask.unsqueeze(-1), counts.unsqueeze(-1))):
            write(buffer, new, at=at)
        all_count = None if counted is None or more.mask is not None else counted + count
        return Memory(key, value, mask, length, self.turned, WriteRight(key, value, length, filled=all_count))

    def _may_read(self) -> bool:
        """Return whether to ask for the lengths would break no graph and make no accelerator wait."""
        if torch.compiler.is_compiling() or self.length.device.type != "cpu" or not self.length.numel():
            return False
        return transform_in_force() is None

    def _most(self) -> int:
        """Give how many positions are filled at most, as far as that may be read."""
        return min(int(self.length.max()), self.capacity) if self._may_read() else self.capacity

    def _check_append(self, more: "Memory", filled: int | None) -> None:
        if self.turned != more.turned:
            raise ArgumentError(
                f"both memories must have their keys turned by positions, or neither; received turned={self.turned} "
                f"and {more.turned}. For the former write layer.remember(key, positions=memory.next_positions(count))."
            )
        if self.mask is None:
            filled = self.capacity
        elif filled is None:
            if not self._may_read():
                return
            filled = int(self.length.max())
        needed = filled + more.capacity
        if needed > self.capacity:
            raise ArgumentError(
                f"the memory must have a capacity of {needed} keys; received one of {self.capacity}. "
                f"Reserve before appending: memory.reserve({needed})."
            )

    def select(self, rows: Int[Tensor, " rows"], *, filled: int | None = None) -> "Memory":
        """Take these rows of the batch, in this order; a row may come twice.

        `filled` says how many positions are filled at most, where that is known: no others need be copied.
        """
        rows = rows.to(device=self.key.device)
        mask, length = None if self.mask is None else self.mask.index_select(0, rows), self.length.index_select(0, rows)
        if self.write_right is None or not may_write(self.key):
            return Memory(gather(self.key, rows), gather(self.value, rows), mask, length, self.turned, self.write_right)
        return self._moved(mask, length, capacity=self.capacity, filled=filled, rows=rows)

    def common_length(self) -> int | None:
        """Give how many keys every batch element holds, where all hold as many, all count, and asking is free."""
        if self.mask is None:
            return self.capacity
        if self.write_right is not None and self.write_right.filled is not None:
            return self.write_right.filled
        if not self._may_read():
            return None
        least, most = (int(item) for item in self.length.aminmax())
        return most if least == most and bool(self.mask[:, :most].all()) else None

    def first(self, count: int) -> "Memory":
        """See the first `count` positions alone, all of which count: for them no mask is needed."""
        key, value = (item.narrow(-2, 0, count) for item in (self.key, self.value))
        return Memory(key, value, None, self.length, self.turned)

    def trimmed(self) -> "Memory":
        """See what is filled alone, as far as may be attended to: unused capacity then costs nothing."""
        if self.mask is None:
            return self
        count = self.common_length()
        if count is not None:
            return self.first(count)
        if not self._may_read():
            return self
        most = self._most()
        key, value = (item.narrow(-2, 0, most) for item in (self.key, self.value))
        return Memory(key, value, self.mask[:, :most], self.length, self.turned, self.write_right)

    def true_length(self) -> Int[Tensor, " batch"]:
        """Count the keys that may be attended to."""
        return self.length if self.mask is None else self.mask.sum(-1)

    def allowed(
        self,
        mask: Mask | Bool[Tensor, "..."] | None,
        query_length: int,
        query_positions: Int[Tensor, "... query"] | None = None,
    ) -> Mask | None:
        """Join the memory's own mask with the one of a call, which may be (query, key), (batch, query, key) or a mask.

        A `Causal` or `Window` that says nothing of positions is put at `query_positions`, or where `locate` says.
        """
        if isinstance(mask, Tensor) and mask.ndim == 3 and self.key.ndim == 4:
            mask = mask.unsqueeze(1)
        call_mask = None if mask is None else as_mask(mask)
        if call_mask is not None and leaves_positions_open(call_mask):
            positions = self.locate(query_length) if query_positions is None else query_positions
            call_mask = call_mask if positions is None else put_at(call_mask, positions)
        if self.mask is None:
            return call_mask
        tensor = self.mask[(slice(None), *[None] * (self.key.ndim - 2))]  # batch 1 (1) key
        own = Harmless(tensor) if self.write_right is None else Dense(tensor)
        return own if call_mask is None else own & call_mask

    def locate(self, query_length: int) -> Int[Tensor, "batch query"] | None:
        """Give the positions of queries by default: at the last keys. None means that the ends align.

        With unused capacity or padding, only one query can be placed so: the last key of each batch element.
        """
        if self.mask is None or query_length == self.capacity:
            return None
        if query_length == 1:
            return self.length[:, None] - 1
        raise ArgumentError(
            f"`query_positions` must say where the {query_length} queries stand among {self.capacity} positions, some "
            "of them empty; received None. Before appending, memory.next_positions(count) gives it."
        )


def blank_padding(
    mask: Bool[Tensor, "batch key"] | Padding | None,
    key: Float[Tensor, "batch key key_size"],
    value: Float[Tensor, "batch key value_size"] | None = None,
) -> tuple[Float[Tensor, "batch key key_size"], Float[Tensor, "batch key value_size"]]:
    """Zero the keys and values, by default the keys, that nobody may attend to, before a layer projects them.

    The gradient of a projection is a product with what it was given, and zero times NaN is NaN: blanked only behind the
    projection, NaN in padding would still reach its parameters.
    """
    value = key if value is None else value
    allowed = key_mask(mask, key)
    if allowed is None:
        return key, value
    blanked = blank(key, allowed)
    return blanked, blanked if value is key else blank(value, allowed)


def blank_own_padding(
    sequence: Float[Tensor, "batch length size"], mask: Mask | Bool[Tensor, "..."] | None
) -> Float[Tensor, "batch length size"]:
    """Zero the padding of a sequence that attends to itself, where the mask holds a `Padding`, as key and as query.

    Whatever it held, the rows of padding that a layer gives back are then the same.
    """
    match mask:
        case Padding() if _is_plain(mask):
            allowed = key_mask(mask, sequence)
            assert allowed is not None
            return torch.where(allowed.unsqueeze(-1), sequence, 0.0)
        case And():
            return blank_own_padding(blank_own_padding(sequence, mask.left), mask.right)
    return sequence


def _over_heads(mask: Tensor, held: Tensor) -> Tensor:
    return mask[(slice(None), *[None] * (held.ndim - 3))]  # batch (1) key


def check_memory(memory: object) -> None:
    """Raise unless `memory` is one: whoever comes from torch's layers passes keys here."""
    if not isinstance(memory, Memory):
        raise ArgumentTypeError(
            f"`memory` must be a Memory; received {type(memory).__name__}. Keys and values are projected once: "
            "layer(query, layer.remember(key, value, mask))."
        )


def key_mask(
    mask: Bool[Tensor, "batch key"] | Padding | None, key: Float[Tensor, "batch *heads key key_size"]
) -> Bool[Tensor, "batch key"] | None:
    """Read a mask that speaks of keys alone, whoever asks."""
    if mask is None:
        return None
    batch, length = key.size(0), key.size(-2)
    if isinstance(mask, Padding) and _is_plain(mask):
        lengths = mask.lengths.to(key.device)
        if lengths.ndim and lengths.size(0) != batch:
            raise ArgumentError(
                f"`lengths` of Padding must speak of the batch, {batch}; received {tuple(lengths.shape)}."
            )
        return (torch.arange(length, device=key.device) < lengths.unsqueeze(-1)).expand(batch, length)
    read = as_mask(mask)
    if not isinstance(read, Dense):
        raise ArgumentError(
            "`mask` must speak of the keys alone, a boolean (batch, key) tensor or Padding(lengths); received "
            f"{type(mask).__name__}. A mask that depends on the query goes to the call: layer(query, memory, mask=…)."
        )
    if tuple(read.tensor.shape) != (batch, length):
        raise ArgumentError(
            f"`mask` must have shape (batch, key) = {(batch, length)}; received {tuple(read.tensor.shape)}."
        )
    return read.tensor


def _is_plain(mask: Padding) -> bool:
    """Return whether the lengths decide alone: a subclass may forbid other keys."""
    return type(mask).dense is Padding.dense


def leaves_positions_open(mask: Mask) -> bool:
    """Return whether a mask leaves open where the queries stand."""
    match mask:
        case Causal() | Window():
            return mask.positions is None and mask.align == "end"
        case And() | Or():
            return leaves_positions_open(mask.left) or leaves_positions_open(mask.right)
        case Not():
            return leaves_positions_open(mask.inverse)
    return False


def speaks_of_keys(mask: Mask | Bool[Tensor, "..."] | None) -> bool:
    """Return whether a mask names keys one by one, so that it must be given as many as it names."""
    match mask:
        case None | Causal() | Window() | Padding():
            return False
        case And() | Or():
            return speaks_of_keys(mask.left) or speaks_of_keys(mask.right)
        case Not():
            return speaks_of_keys(mask.inverse)
    return True


def put_at(mask: Mask, query_positions: Int[Tensor, "... query"]) -> Mask:
    """Put the queries of every `Causal` and `Window` inside a mask where they stand.

    >>> put_at(Causal(), torch.tensor([[1], [0]])).dense((2, 1, 3))
    tensor([[[ True,  True, False]],
            [[ True, False, False]]])
    """
    match mask:
        case Causal() | Window() if leaves_positions_open(mask):
            return replace(mask, positions=query_positions)
        case And() | Or():
            return type(mask)(put_at(mask.left, query_positions), put_at(mask.right, query_positions))
        case Not():
            return Not(put_at(mask.inverse, query_positions))
    return mask
