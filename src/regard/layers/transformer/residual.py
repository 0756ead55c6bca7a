"""What the two Transformer blocks share: the residual around each sublayer, the look, and torch's layers read over."""

import inspect
from collections.abc import Sequence
from copy import deepcopy
from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import Attended, Causal, Mask, Padding, Position
from regard.errors import ArgumentError
from regard.layers.checks import check_choice
from regard.layers.mechanisms.luong import Attentional
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.memory import Memory
from regard.layers.transformer.feed_forward import FeedForward

Norm = Literal["pre", "post"]
TorchLayer = nn.TransformerEncoderLayer | nn.TransformerDecoderLayer


class Residual(nn.Module):
    r"""Keep what was there and add what a sublayer says of it.

    $$\text{pre:}\ x + f(\text{norm}(x)) \qquad\qquad \text{post:}\ \text{norm}(x + f(x))$$

    The sublayer $f$ is called between `enter` and `leave`; dropout acts on what it says.

    Reference: Vaswani et al. (2017), section 3.1, arXiv:1706.03762 (post); Xiong et al. (2020), table 1,
    arXiv:2002.04745 (pre, which trains without a warm-up).

    >>> residual = Residual(4, norm="pre")
    >>> x = torch.randn(2, 4)
    >>> torch.equal(residual.leave(x, torch.zeros(2, 4)), x)
    True
    """

    def __init__(
        self, size: int, *, norm: Norm = "pre", dropout: float = 0.0, epsilon: float = 1e-5, bias: bool = True
    ) -> None:
        super().__init__()
        check_choice("norm", norm, get_args(Norm))
        if not 0 <= dropout <= 1:
            raise ArgumentError(f"`dropout` must be a probability between 0 and 1; received {dropout}.")
        self.kind: Norm = norm
        self.norm = nn.LayerNorm(size, eps=epsilon, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def enter(self, states: Tensor) -> Tensor:
        """Give what the sublayer is told."""
        text: Tensor = self.norm(states) if self.kind == "pre" else states
        return text

    def leave(self, states: Tensor, said: Tensor) -> Tensor:
        """Add what the sublayer said."""
        if said.shape != states.shape:
            raise ArgumentError(
                f"a sublayer must give back the shape it was told, {tuple(states.shape)}; received "
                f"{tuple(said.shape)}. Attention must mix values as wide as the block."
            )
        total: Tensor = states + self.dropout(said)
        return total if self.kind == "pre" else self.norm(total)

    def extra_repr(self) -> str:
        """Show where the norm is."""
        return repr(self.kind)


def width_of(feed_forward: nn.Module) -> int:
    """Ask a feed-forward layer for its width."""
    size = getattr(feed_forward, "size", None)
    if not isinstance(size, int):
        raise ArgumentError(
            f"`feed_forward` must say its width as an integer attribute `size`; received "
            f"{type(feed_forward).__name__} with {size}."
        )
    return size


def takes_positions(attention: nn.Module) -> bool:
    """Tell whether a layer wants to know where its queries stand."""
    return "query_positions" in inspect.signature(attention.forward).parameters


def remember(
    attention: nn.Module,
    key: Tensor,
    value: Tensor | None = None,
    mask: Tensor | Padding | None = None,
    *,
    positions: Tensor | None = None,
) -> Memory:
    """Have a layer project what it will look at; `positions` are for a layer that turns its keys by them."""
    if not hasattr(attention, "remember"):
        raise ArgumentError(
            f"the attention of this block must have remember(key, value, mask); received {type(attention).__name__}."
        )
    indices = {"positions": positions} if isinstance(attention, MultiHeadAttention) else {}
    memory: Memory = attention.remember(key, value, mask, **indices)  # type: ignore[operator]
    return memory


def make_room(attention: nn.Module, nothing: Tensor, capacity: int) -> Memory:
    """Make room for the keys and values of `capacity` places, none of them filled."""
    positions = torch.zeros(0, dtype=torch.long, device=nothing.device)
    return remember(attention, nothing, positions=positions).reserve(capacity)


def attend_to(
    attention: nn.Module,
    query: Tensor,
    memory: Memory | None,
    *,
    mask: Mask | Tensor | None = None,
    query_positions: Tensor | None = None,
    position: Position | None = None,
    return_weights: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attend by any layer; give what it found and, if asked for, its weights."""
    indices = {"query_positions": query_positions, "position": position}
    received = {name: value for name, value in indices.items() if value is not None}
    memories = () if memory is None else (memory,)
    attended = attention(query, *memories, mask=mask, return_weights=return_weights, **received)
    if isinstance(attended, Attentional):
        return attended.vector, attended.weights
    if isinstance(attended, Attended):
        return attended.context, attended.weights
    return attended, None


def look_back(
    attention: nn.Module,
    query: Tensor,
    state: Memory,
    *,
    mask: Tensor | Padding | None = None,
    positions: bool = False,
    filled: int | None = None,
    return_weights: bool = False,
) -> tuple[Tensor, Memory, Tensor | None]:
    """Remember the new places, then let each look at itself and at what came before.

    `mask` says which of the new places count; `positions`, whether the layer wants to know where they stand; `filled`,
    how many places every row holds, if that is known. Then only those are looked at, and without a mask.
    """
    if mask is not None:
        filled = None
    elif filled is None:
        filled = state.common_length()
    count, capacity = query.size(1), state.capacity
    indices = state.next_positions(count) if filled is None else _places(filled, count, query.device)
    state = state.append(remember(attention, query, mask=mask, positions=indices), filled=filled)
    result, weights = attend_to(
        attention,
        query,
        state if filled is None else state.first(filled + count),
        mask=None if count == 1 else Causal(positions=indices),  # one place alone sees all that is filled
        query_positions=indices if positions else None,
        return_weights=return_weights,
    )
    if weights is not None and weights.size(-1) < capacity:
        weights = F.pad(weights, (0, capacity - weights.size(-1)))
    return result, state, weights


def _places(filled: int, count: int, device: torch.device) -> Tensor:
    return torch.arange(filled, filled + count, device=device)


def read_feed_forward(layer: TorchLayer) -> FeedForward:
    """Copy the feed-forward half of a torch layer."""
    activation = layer.activation
    relu = activation in (F.relu, torch.relu) or isinstance(activation, nn.ReLU)
    gelu = activation is F.gelu or (isinstance(activation, nn.GELU) and activation.approximate == "none")
    if not relu and not gelu:
        raise ArgumentError(f"`layer` must have the activation relu or gelu; received {activation}.")
    sizes = layer.linear1.in_features, layer.linear1.out_features
    feed_forward = FeedForward(*sizes, activation="relu" if relu else "gelu", dropout=layer.dropout.p)
    feed_forward.expand, feed_forward.contract = deepcopy(layer.linear1), deepcopy(layer.linear2)
    return feed_forward


def read_residuals(layer: TorchLayer, residuals: Sequence[Residual]) -> None:
    """Copy the norms of a torch layer."""
    for number, residual in enumerate(residuals, start=1):
        residual.norm = deepcopy(getattr(layer, f"norm{number}"))
        residual.dropout.p = getattr(layer, f"dropout{number}").p


def write_torch(layer: TorchLayer, feed_forward: FeedForward, residuals: Sequence[Residual]) -> None:
    """Copy our feed-forward half, norms and dropouts into a torch layer."""
    layer.linear1, layer.linear2 = deepcopy(feed_forward.expand), deepcopy(feed_forward.contract)
    layer.dropout.p = feed_forward.dropout.p
    for number, residual in enumerate(residuals, start=1):
        setattr(layer, f"norm{number}", deepcopy(residual.norm))
        getattr(layer, f"dropout{number}").p = residual.dropout.p


def torch_parts(attention: nn.Module, feed_forward: nn.Module) -> tuple[MultiHeadAttention, FeedForward]:
    """Give both as what torch's layers have, or raise."""
    if not isinstance(attention, MultiHeadAttention):
        raise ArgumentError(
            f"the attention of the block must be a MultiHeadAttention to become torch's; received "
            f"{type(attention).__name__}."
        )
    if not isinstance(feed_forward, FeedForward) or feed_forward.activation in ("swish", "swiglu"):
        result = feed_forward.activation if isinstance(feed_forward, FeedForward) else type(feed_forward).__name__
        raise ArgumentError(
            f'the feed-forward layer of the block must be a FeedForward with "relu" or "gelu" to become torch\'s; '
            f"received {result}."
        )
    return attention, feed_forward
