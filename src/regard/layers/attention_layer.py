"""What an attention layer is: the protocol that blocks and decoders call, and the interface that each layer declares.

A block calls any attention in one way, `remember_keys` once and `attend_to` for the queries; the `Interface` says which
arguments that layer has beyond those that all have.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules import module as torch_module

from regard.attention import Attended, Causal, Mask, Padding, Position
from regard.errors import ArgumentError
from regard.layers.fused.choose import unwatched
from regard.layers.memory import Memory, blank_own
from regard.layers.static_memory import StaticMemory


class Attentional(NamedTuple):
    """What a Luong layer gives."""

    vector: Float[Tensor, "batch query state_size"]
    """The attentional vector, h̃: what the next word is predicted from."""
    context: Float[Tensor, "batch query value_size"]
    """The weighted sum of the memory, c."""
    weights: Float[Tensor, "batch query key"] | None
    """How much each memory counted, if asked for."""


@dataclass(frozen=True, kw_only=True)
class Interface:
    """What an attention layer takes and gives beyond `layer(query, memory, mask=…, return_weights=…)`."""

    memory: bool = True
    """It attends over what its `remember(key, value, mask)` gives; False where it attends over its own sequence."""
    key_positions: bool = False
    """`remember` takes `positions`: where the keys stand among those they will be appended to."""
    query_positions: bool = False
    """A call takes `query_positions`: where the queries stand among the keys."""
    step: bool = False
    """`query_positions` is wanted over another sequence too: the step of the decoder that each query belongs to."""
    position: bool = False
    """A call takes `position`, in place of the layer's own."""
    alone: bool = False
    """Called without a memory it attends to the queries' own sequence."""
    table: bool = False
    """It attends to keys in rows that a table names (`StaticMemory`); for others, and for a class that only inherits
    this, they are gathered first."""
    joins: bool = False
    """It gives `Attentional`, context and query joined to one vector, in place of the context."""


@runtime_checkable
class AttentionLayer(Protocol):
    """A module that projects a memory once and attends over it; it declares the rest as its `interface`.

    A layer over its own sequence (`interface.memory` False) is called without a memory. A module that declares nothing
    gets the arguments that every layer has, and no others.
    """

    interface: Interface

    def remember(
        self,
        key: Float[Tensor, "batch key key_size"],
        value: Float[Tensor, "batch key value_size"] | None = None,
        mask: Bool[Tensor, "batch key"] | Padding | None = None,
    ) -> Memory:
        """Do once per source what does not depend on the query."""

    def __call__(
        self,
        query: Float[Tensor, "batch query query_size"],
        memory: Memory,
        *,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "batch query value_size"] | Attended | Attentional:
        """Attend to the memory once for each query."""


def interface_of(attention: nn.Module) -> Interface:
    """Give the interface that a layer declares, or the plain one.

    >>> from regard.layers.mechanisms.multi_head import MultiHeadAttention
    >>> interface_of(MultiHeadAttention(4, 2)).query_positions, interface_of(nn.Identity()).memory
    (True, False)
    """
    declared = getattr(attention, "interface", None)
    return declared if isinstance(declared, Interface) else Interface(memory=hasattr(attention, "remember"))


def remember_keys(
    attention: nn.Module,
    key: Float[Tensor, "batch key key_size"],
    value: Float[Tensor, "batch key value_size"] | None = None,
    mask: Bool[Tensor, "batch key"] | Padding | None = None,
    *,
    positions: Int[Tensor, "... key"] | None = None,
) -> Memory:
    """Have a layer project the keys and values that it will attend to; `positions` are for one that takes them."""
    interface = interface_of(attention)
    if not interface.memory:
        raise ArgumentError(
            f"the attention of this block must have remember(key, value, mask); received {type(attention).__name__}."
        )
    options = {"positions": positions} if interface.key_positions else {}
    memory: Memory = attention.remember(key, value, mask, **options)  # type: ignore[operator]
    return memory


def empty_memory(attention: nn.Module, nothing: Float[Tensor, "batch 0 size"], capacity: int) -> Memory:
    """Give a memory with capacity for so many keys and values, none of them filled."""
    positions = torch.zeros(0, dtype=torch.long, device=nothing.device)
    return remember_keys(attention, nothing, positions=positions).reserve(capacity)


def attend_to(
    attention: nn.Module,
    query: Float[Tensor, "batch query query_size"],
    memory: Memory | None,
    *,
    mask: Mask | Bool[Tensor, "..."] | None = None,
    query_positions: Int[Tensor, "... query"] | None = None,
    position: Position | None = None,
    return_weights: bool = False,
) -> tuple[Float[Tensor, "batch query value_size"], Float[Tensor, "batch *heads query key"] | None]:
    """Attend by any layer; give the context, or the attentional vector, and the weights, if asked for."""
    offered = {"query_positions": query_positions, "position": position}
    options = {name: value for name, value in offered.items() if value is not None}
    interface = interface_of(attention)
    for name in options:
        if not getattr(interface, name):
            raise ArgumentError(
                f"`{name}` must be None for an attention that does not take it; received one for "
                f"{type(attention).__name__}. A layer declares what it takes as its `interface`."
            )
    memories = () if memory is None else (memory,)
    result = attention(query, *memories, mask=mask, return_weights=return_weights, **options)
    if isinstance(result, Attentional):
        return result.vector, result.weights
    if isinstance(result, Attended):
        return result.context, result.weights
    return result, None


def attend_to_itself(
    attention: nn.Module,
    states: Float[Tensor, "batch length size"],
    *,
    mask: Mask | Bool[Tensor, "..."] | None = None,
    position: Position | None = None,
    return_weights: bool = False,
) -> tuple[Float[Tensor, "batch length value_size"], Float[Tensor, "batch *heads length length"] | None]:
    """Let every position of a sequence attend to the others by any layer; its padding is zeroed as key and value."""
    interface, memory = interface_of(attention), None
    if interface.memory:
        own = position is not None or getattr(attention, "position", None) is not None
        keys, mask = blank_own(states, mask, narrowed=own or not interface.alone)  # a layer may narrow its mask
        if keys is not states or not interface.alone:
            memory = remember_keys(attention, keys)
    return attend_to(attention, states, memory, mask=mask, position=position, return_weights=return_weights)


def attend_causally(
    attention: nn.Module,
    query: Float[Tensor, "batch new size"],
    state: Memory,
    *,
    mask: Bool[Tensor, "batch new"] | Padding | None = None,
    filled: int | None = None,
    return_weights: bool = False,
) -> tuple[Float[Tensor, "batch new value_size"], Memory, Float[Tensor, "batch *heads new key"] | None]:
    """Append the new positions to the state, then let each attend to itself and to what came before.

    `mask` says which of the new positions count; `filled`, how many positions every row holds, if that is known. Then
    only those are attended to, and without a mask.
    """
    capacity = state.capacity
    held, state, positions = append_positions(attention, query, state, mask=mask, filled=filled)
    result, weights = attend_to(
        attention,
        query,
        held,
        mask=causal_mask(positions),
        query_positions=positions if interface_of(attention).query_positions else None,
        return_weights=return_weights,
    )
    if weights is not None and weights.size(-1) < capacity:
        weights = F.pad(weights, (0, capacity - weights.size(-1)))
    return result, state, weights


def append_positions(
    attention: nn.Module,
    query: Float[Tensor, "batch new size"],
    state: Memory,
    *,
    mask: Bool[Tensor, "batch new"] | Padding | None = None,
    filled: int | None = None,
) -> tuple[Memory, Memory, Int[Tensor, "*batch_or_none new"]]:
    """Append the new positions; give what they attend to, the state that holds it, and where they stand in it."""
    if mask is not None:
        filled = None
    elif filled is None:
        filled = state.common_length()
    count = query.size(1)
    if filled is None:
        positions = state.next_positions(count)
    else:
        positions = torch.arange(filled, filled + count, device=query.device)
    state = state.append(remember_keys(attention, query, mask=mask, positions=positions), filled=filled)
    held = state if filled is None else state.first(filled + count)
    if isinstance(held, StaticMemory) and not _reads_table(attention):
        held = held.gathered()
    return held, state, positions


def causal_mask(positions: Int[Tensor, "*batch_or_none new"]) -> Causal | None:
    """Give the mask of new positions; a single one attends to all that is filled."""
    return None if positions.size(-1) == 1 else Causal(positions=positions)


def _reads_table(attention: nn.Module) -> bool:
    """Return whether a layer finds keys by a table, and nobody watches it, who would find none.

    Its own class says so, since a subclass may read them otherwise.
    """
    declared = vars(type(attention)).get("interface")
    reads = isinstance(declared, Interface) and declared.table
    return reads and unwatched(attention) and not torch_module._has_any_global_hook()
