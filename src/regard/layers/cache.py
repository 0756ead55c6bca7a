"""The cache: buffers that a memory grows in, and the right to write into one without a copy.

A buffer holds the positions of each batch element side by side, whatever axes lie between: (batch, position, …, size).
So a new position is written, and a batch element copied, in one piece.
"""

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from regard.attention.kernels.transforms import transform_in_force


class WriteRight:
    """The right to append to one memory without a copy: copy on second append.

    A memory is a value, yet appending to it need not copy it: what is written lies behind all that it, or any memory
    it was made of, shows. Only two continuations of the same memory would write to the same positions. So the first
    append uses the right up, and its result gets a new one; a second append finds it used, and copies.

    >>> key, value, length = torch.zeros(1, 4, 2), torch.zeros(1, 4, 2), torch.tensor([1])
    >>> right = WriteRight(key, value, length)
    >>> right.take(key, value, length), right.take(key, value, length)
    (True, False)
    """

    def __init__(self, *tensors: Tensor, filled: int | None = None) -> None:
        self._rights = [tensors]
        self.filled = filled
        """How many keys every batch element holds, all of which count, where that is known."""

    @classmethod
    def used_up(cls) -> "WriteRight":
        """Give a right that is used up: of a memory that was copied, of which nothing is known."""
        right = cls()
        right._rights.clear()
        return right

    def take(self, *tensors: Tensor) -> bool:
        """Use the right up, if it is there, for these very tensors, and if they may be written to here."""
        if not self._rights or not all(mine is tensor for mine, tensor in zip(self._rights[0], tensors, strict=True)):
            return False
        if tensors[0].is_inference() and not torch.is_inference_mode_enabled():
            return False  # torch raises for writes into inference tensors outside inference mode
        self._rights.clear()
        return True


def may_write(buffer: Shaped[Tensor, "..."]) -> bool:
    """Return whether writing in place would go unnoticed: by autograd, by a compiler, by a transform."""
    if torch.compiler.is_compiling() or torch.is_grad_enabled():
        return False
    return type(buffer) in (Tensor, torch.nn.Parameter) and transform_in_force() is None


def by_position(tensor: Float[Tensor, "batch *heads position size"]) -> Float[Tensor, "batch position *heads size"]:
    """See a tensor of keys or values in the order in which a buffer holds them."""
    return tensor if tensor.ndim == 3 else tensor.movedim(-2, 1)


def as_held(buffer: Float[Tensor, "batch position *heads size"]) -> Float[Tensor, "batch *heads position size"]:
    """See a buffer as the memory shows it."""
    return buffer if buffer.ndim == 3 else buffer.movedim(1, -2)


def new_buffer(
    held: Float[Tensor, "batch *heads position size"],
    *,
    capacity: int,
    filled: int,
    rows: Int[Tensor, " rows"] | None = None,
) -> Float[Tensor, "rows *heads {capacity} size"]:
    """Make a buffer of that capacity and copy the first `filled` positions, of these rows or of all.

    The other positions are not initialized: no memory may show them.
    """
    old = by_position(held)
    batch = held.size(0) if rows is None else rows.size(0)
    buffer = held.new_empty(batch, capacity, *old.shape[2:])
    if rows is None:
        buffer[:, :filled].copy_(old[:, :filled])
    else:
        torch.index_select(old[:, :filled], 0, rows, out=buffer[:, :filled])
    return as_held(buffer)


def gather(
    held: Float[Tensor, "batch *heads position size"], rows: Int[Tensor, " rows"]
) -> Float[Tensor, "rows *heads position size"]:
    """Copy these rows, all their positions, as they lie; on a CPU several times as quick as `held[rows]`."""
    if held.is_contiguous():
        return held.index_select(0, rows)
    return as_held(by_position(held).index_select(0, rows))


def write(
    held: Shaped[Tensor, "batch *heads position size"],
    new: Shaped[Tensor, "batch *heads new size"],
    *,
    at: int | Int[Tensor, "batch new"],
) -> None:
    """Write new positions into a buffer, behind the first `at` of every row or each at its own index."""
    if isinstance(at, int):
        held.narrow(-2, at, new.size(-2)).copy_(new)
    else:
        held.scatter_(-2, _index(held, new, at), new.to(held.dtype))


def put(
    held: Float[Tensor, "batch *heads position size"],
    new: Float[Tensor, "batch *heads new size"],
    *,
    at: Int[Tensor, "batch new"],
) -> Float[Tensor, "batch *heads position size"]:
    """Do the same to a copy, so that gradients pass and shapes stay."""
    return held.scatter(-2, _index(held, new, at), new.to(held.dtype))


def _index(held: Tensor, new: Tensor, positions: Tensor) -> Tensor:
    return positions[(slice(None), *[None] * (held.ndim - 3), slice(None), None)].expand(
        new.shape
    )  # batch (1) new size
