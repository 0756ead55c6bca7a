"""The Transformer's decoder block: causal self-attention, attention over the source, then feed-forward."""

from typing import ClassVar, Literal, NamedTuple, overload

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Causal, Mask, Padding
from regard.errors import ArgumentTypeError
from regard.layers.attention_layer import attend_causally, attend_to, attend_to_itself, empty_memory, remember_keys
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

CAUSAL = Causal()


class DecoderBlockOutput(NamedTuple):
    """What a decoder block gives when asked for its weights."""

    states: Tensor
    """(batch, length, size)."""
    self_weights: Tensor | None
    """How much each position attended to those before it, (batch, heads, query, key) for multi-head attention."""
    cross_weights: Tensor | None
    """How much each position attended to the source."""


class DecoderBlockStep(NamedTuple):
    """What one step of a decoder block gives."""

    states: Tensor
    """(batch, new, size)."""
    state: Memory
    """The keys and values so far, these included: for the next step."""
    self_weights: Tensor | None
    """How much each new position attended to those before it, if asked for."""
    cross_weights: Tensor | None
    """How much each new position attended to the source, if asked for."""


class TransformerDecoderBlock(nn.Module):
    r"""Let every position attend to those before it, then to the source, then transform each by itself.

    $$y = x + \text{self}(\text{norm}(x)), \qquad z = y + \text{cross}(\text{norm}(y), \text{memory}), \qquad
    z + \text{feed-forward}(\text{norm}(z))$$

    That is `norm="pre"`; "post", the paper's, normalizes each sum instead. Both attentions are any layers that attend
    over what their `remember` gives and mix values as wide as the block.

    `memory = block.remember(source)` once per source. `start` and `step` compute the same as a call, a few positions
    at a time: the state holds the keys and values so far, in a fixed capacity.

    Reference: Vaswani et al. (2017), section 3.1, arXiv:1706.03762; Xiong et al. (2020), table 1, arXiv:2002.04745.

    >>> import torch
    >>> from regard.layers.transformer.feed_forward import FeedForward
    >>> block = TransformerDecoderBlock(MultiHeadAttention(8, 2), MultiHeadAttention(8, 2), FeedForward(8, 32))
    >>> memory = block.remember(torch.zeros(2, 5, 8))
    >>> block(torch.zeros(2, 3, 8), memory).shape
    torch.Size([2, 3, 8])
    >>> states, state, _, _ = block.step(torch.zeros(2, 1, 8), block.start(2, capacity=20), memory)
    >>> states.shape, state.length
    (torch.Size([2, 1, 8]), tensor([1, 1]))
    """

    fusible: ClassVar[bool] = True

    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        feed_forward: nn.Module,
        *,
        norm: Norm = "pre",
        dropout: float = 0.0,
        epsilon: float = 1e-5,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.size = width_of(feed_forward)
        self.self_attention = self_attention
        self.self_attention_residual = Residual(self.size, norm=norm, dropout=dropout, epsilon=epsilon, bias=bias)
        self.cross_attention = cross_attention
        self.cross_attention_residual = Residual(self.size, norm=norm, dropout=dropout, epsilon=epsilon, bias=bias)
        self.feed_forward = feed_forward
        self.feed_forward_residual = Residual(self.size, norm=norm, dropout=dropout, epsilon=epsilon, bias=bias)

    def remember(
        self,
        key: Float[Tensor, "batch key key_size"],
        value: Float[Tensor, "batch key value_size"] | None = None,
        mask: Bool[Tensor, "batch key"] | Padding | None = None,
    ) -> Memory:
        """Project the source for this block, once."""
        return remember_keys(self.cross_attention, key, value, mask)

    @overload
    def forward(
        self,
        states: Tensor,
        memory: Memory,
        *,
        mask: Mask | Tensor | None = ...,
        cross_mask: Mask | Tensor | None = ...,
    ) -> Tensor: ...

    @overload
    def forward(
        self,
        states: Tensor,
        memory: Memory,
        *,
        mask: Mask | Tensor | None = ...,
        cross_mask: Mask | Tensor | None = ...,
        return_weights: Literal[True],
    ) -> DecoderBlockOutput: ...

    @overload
    def forward(
        self,
        states: Tensor,
        memory: Memory,
        *,
        mask: Mask | Tensor | None = ...,
        cross_mask: Mask | Tensor | None = ...,
        return_weights: bool,
    ) -> Tensor | DecoderBlockOutput: ...

    def forward(
        self,
        states: Float[Tensor, "batch length size"],
        memory: Memory,
        *,
        mask: Mask | Bool[Tensor, "..."] | None = CAUSAL,
        cross_mask: Mask | Bool[Tensor, "..."] | None = None,
        return_weights: bool = False,
    ) -> Float[Tensor, "batch length size"] | DecoderBlockOutput:
        """Read whole sequences; `mask` is that of the self-attention, `cross_mask` narrows the memory's own."""
        inner = self.self_attention_residual.enter(states)
        output, self_weights = attend_to_itself(self.self_attention, inner, mask=mask, return_weights=return_weights)
        states = self.self_attention_residual.leave(states, output)
        states, cross_weights = self._attend_across(states, memory, cross_mask, return_weights)
        return DecoderBlockOutput(states, self_weights, cross_weights) if return_weights else states

    def _attend_across(
        self, states: Tensor, memory: Memory, mask: Mask | Tensor | None, return_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Attend to the source, then feed forward."""
        inner = self.cross_attention_residual.enter(states)
        output, weights = attend_to(self.cross_attention, inner, memory, mask=mask, return_weights=return_weights)
        states = self.cross_attention_residual.leave(states, output)
        output = self.feed_forward(self.feed_forward_residual.enter(states))
        return self.feed_forward_residual.leave(states, output), weights

    def start(self, batch_size: int, capacity: int) -> Memory:
        """Give a cache for the keys and values of `capacity` positions, none of them filled."""
        nothing = self.self_attention_residual.norm.weight.new_zeros(batch_size, 0, self.size)
        return empty_memory(self.self_attention, nothing, capacity)

    def step(
        self,
        states: Float[Tensor, "batch new size"],
        state: Memory,
        memory: Memory,
        *,
        mask: Bool[Tensor, "batch new"] | Padding | None = None,
        filled: int | None = None,
        return_weights: bool = False,
    ) -> DecoderBlockStep:
        """Read the next positions, which attend to themselves and to what came before; `mask` says which count.

        `filled` says how many positions every row holds, all of which count, where that is known: a GPU is then not
        asked about it, and does not attend to empty capacity.
        """
        inner = self.self_attention_residual.enter(states)
        output, state, self_weights = attend_causally(
            self.self_attention,
            inner,
            state,
            mask=mask,
            filled=filled,
            return_weights=return_weights,
        )
        states = self.self_attention_residual.leave(states, output)
        states, cross_weights = self._attend_across(states, memory, None, return_weights)
        return DecoderBlockStep(states, state, self_weights, cross_weights)

    @classmethod
    def from_torch(cls, layer: nn.TransformerDecoderLayer) -> "TransformerDecoderBlock":
        """Copy a torch layer, parameters and all. Ours is batch first, whichever way the original was.

        Masks change meaning on the way: `regard.from_torch_mha` turns them.

        >>> import torch
        >>> theirs = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval()
        >>> ours, x, source = TransformerDecoderBlock.from_torch(theirs), torch.randn(2, 3, 8), torch.randn(2, 4, 8)
        >>> torch.allclose(ours(x, ours.remember(source), mask=None), theirs(x, source), atol=1e-6)
        True
        """
        if not isinstance(layer, nn.TransformerDecoderLayer):
            raise ArgumentTypeError(f"`layer` must be an nn.TransformerDecoderLayer; received {type(layer).__name__}.")
        block = cls(
            MultiHeadAttention.from_torch(layer.self_attn),
            MultiHeadAttention.from_torch(layer.multihead_attn),
            read_feed_forward(layer),
            norm="pre" if layer.norm_first else "post",
        )
        read_residuals(layer, block._residuals())
        return block.train(layer.training)

    def to_torch(self, *, batch_first: bool = True) -> nn.TransformerDecoderLayer:
        """Copy into a torch layer, which has multi-head attention without positions, relu and gelu only."""
        self_attention, feed_forward = torch_parts(self.self_attention, self.feed_forward)
        cross_attention, _ = torch_parts(self.cross_attention, self.feed_forward)
        layer = nn.TransformerDecoderLayer(
            self.size,
            self_attention.num_heads,
            feed_forward.expand.out_features,
            activation=feed_forward.activation,
            batch_first=batch_first,
            norm_first=self.self_attention_residual.kind == "pre",
        )
        layer.self_attn = self_attention.to_torch(batch_first=batch_first)
        layer.multihead_attn = cross_attention.to_torch(batch_first=batch_first)
        write_torch(layer, feed_forward, self._residuals())
        return layer.train(self.training)

    def _residuals(self) -> tuple[Residual, ...]:
        """Give the residuals in torch's order."""
        return self.self_attention_residual, self.cross_attention_residual, self.feed_forward_residual
