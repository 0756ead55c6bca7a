"""The Transformer's encoder block: self-attention, then feed-forward. With a causal mask it serves language models."""

from typing import ClassVar, Literal, NamedTuple, overload

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Mask, Padding, Position
from regard.errors import ArgumentTypeError
from regard.layers.attention_layer import attend_causally, attend_to_itself, empty_memory
from regard.layers.mechanisms.multi_head import MultiHeadAttention
from regard.layers.memory import Memory
from regard.layers.transformer.residual import (
    Norm,
    Residual,
    read_feed_forward,
    read_residuals,
    torch_parts,
    width_of,
    write_torch,
)


class EncoderBlockOutput(NamedTuple):
    """What an encoder block gives when asked for its weights."""

    states: Tensor
    """(batch, length, size)."""
    weights: Tensor | None
    """Those of its attention, (batch, heads, query, key) for multi-head attention."""


class EncoderBlockStep(NamedTuple):
    """What one step of an encoder block gives."""

    states: Tensor
    """(batch, new, size)."""
    state: Memory
    """The keys and values so far, these included: for the next step."""
    weights: Tensor | None
    """Those of its attention, if asked for."""


class TransformerEncoderBlock(nn.Module):
    r"""Let every position attend to the others, then transform each by itself.

    $$y = x + \text{attention}(\text{norm}(x)), \qquad z = y + \text{feed-forward}(\text{norm}(y))$$

    That is `norm="pre"`; "post", the paper's, is $\text{norm}(x + \text{attention}(x))$, and so on. `attention` is any
    layer that is called as `attention(query, memory, mask=…)` on what its `remember` gives, or as
    `attention(states, mask=…)`, and mixes values as wide as the block; `feed_forward` says that width as its `size`.

    `start` and `step` compute the same as a call with `Causal()`, a few positions at a time, for every attention that
    does not ask how long the sentence will be, as local-p does.

    Reference: Vaswani et al. (2017), section 3.1, arXiv:1706.03762; Xiong et al. (2020), table 1, arXiv:2002.04745.

    >>> import torch
    >>> from regard.layers.transformer.feed_forward import FeedForward
    >>> block = TransformerEncoderBlock(MultiHeadAttention(8, 2), FeedForward(8, 32))
    >>> block(torch.zeros(2, 5, 8), mask=Padding(torch.tensor([5, 3]))).shape
    torch.Size([2, 5, 8])
    """

    fusible: ClassVar[bool] = True

    def __init__(
        self,
        attention: nn.Module,
        feed_forward: nn.Module,
        *,
        norm: Norm = "pre",
        dropout: float = 0.0,
        epsilon: float = 1e-5,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.size = width_of(feed_forward)
        self.attention = attention
        self.attention_residual = Residual(self.size, norm=norm, dropout=dropout, epsilon=epsilon, bias=bias)
        self.feed_forward = feed_forward
        self.feed_forward_residual = Residual(self.size, norm=norm, dropout=dropout, epsilon=epsilon, bias=bias)

    @overload
    def forward(
        self, states: Tensor, *, mask: Mask | Tensor | None = ..., position: Position | None = ...
    ) -> Tensor: ...

    @overload
    def forward(
        self,
        states: Tensor,
        *,
        mask: Mask | Tensor | None = ...,
        position: Position | None = ...,
        return_weights: Literal[True],
    ) -> EncoderBlockOutput: ...

    @overload
    def forward(
        self,
        states: Tensor,
        *,
        mask: Mask | Tensor | None = ...,
        position: Position | None = ...,
        return_weights: bool,
    ) -> Tensor | EncoderBlockOutput: ...

    def forward(
        self,
        states: Float[Tensor, "batch length size"],
        *,
        mask: Mask | Bool[Tensor, "..."] | None = None,
        position: Position | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "batch length size"] | EncoderBlockOutput:
        """Read whole sequences. `position`, where it depends on the sentence, goes to the attention."""
        inner = self.attention_residual.enter(states)
        output, weights = attend_to_itself(
            self.attention, inner, mask=mask, position=position, return_weights=return_weights
        )
        states = self._feed_forward(self.attention_residual.leave(states, output))
        return EncoderBlockOutput(states, weights) if return_weights else states

    def _feed_forward(self, states: Tensor) -> Tensor:
        output = self.feed_forward(self.feed_forward_residual.enter(states))
        return self.feed_forward_residual.leave(states, output)

    def start(self, batch_size: int, capacity: int) -> Memory:
        """Give a cache for the keys and values of `capacity` positions, none of them filled."""
        nothing = self.attention_residual.norm.weight.new_zeros(batch_size, 0, self.size)
        return empty_memory(self.attention, nothing, capacity)

    def step(
        self,
        states: Float[Tensor, "batch new size"],
        state: Memory,
        *,
        mask: Bool[Tensor, "batch new"] | Padding | None = None,
        filled: int | None = None,
        return_weights: bool = False,
    ) -> EncoderBlockStep:
        """Read the next positions, which attend to themselves and to what came before; `mask` says which count.

        `filled` says how many positions every row holds, all of which count, where that is known: a GPU is then not
        asked about it, and does not attend to empty capacity.
        """
        inner = self.attention_residual.enter(states)
        output, state, weights = attend_causally(
            self.attention,
            inner,
            state,
            mask=mask,
            filled=filled,
            return_weights=return_weights,
        )
        return EncoderBlockStep(self._feed_forward(self.attention_residual.leave(states, output)), state, weights)

    @classmethod
    def from_torch(cls, layer: nn.TransformerEncoderLayer) -> "TransformerEncoderBlock":
        """Copy a torch layer, parameters and all. Ours is batch first, whichever way the original was.

        Masks change meaning on the way: `regard.from_torch_mha` turns them.

        >>> import torch
        >>> theirs = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True).eval()
        >>> ours, x = TransformerEncoderBlock.from_torch(theirs), torch.randn(2, 3, 8)
        >>> torch.allclose(ours(x), theirs(x), atol=1e-6)
        True
        """
        if not isinstance(layer, nn.TransformerEncoderLayer):
            raise ArgumentTypeError(f"`layer` must be an nn.TransformerEncoderLayer; received {type(layer).__name__}.")
        block = cls(
            MultiHeadAttention.from_torch(layer.self_attn),
            read_feed_forward(layer),
            norm="pre" if layer.norm_first else "post",
        )
        read_residuals(layer, block._residuals())
        return block.train(layer.training)

    def to_torch(self, *, batch_first: bool = True) -> nn.TransformerEncoderLayer:
        """Copy into a torch layer, which has multi-head attention without positions, relu and gelu only."""
        attention, feed_forward = torch_parts(self.attention, self.feed_forward)
        layer = nn.TransformerEncoderLayer(
            self.size,
            attention.num_heads,
            feed_forward.expand.out_features,
            activation=feed_forward.activation,
            batch_first=batch_first,
            norm_first=self.attention_residual.kind == "pre",
        )
        layer.self_attn = attention.to_torch(batch_first=batch_first)
        write_torch(layer, feed_forward, self._residuals())
        return layer.train(self.training)

    def _residuals(self) -> tuple[Residual, ...]:
        """Give the residuals in torch's order."""
        return self.attention_residual, self.feed_forward_residual
