"""A Transformer block that attends to memories alone, and never to the states of its own queries."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Mask, Padding
from regard.errors import ArgumentError
from regard.layers.attention_layer import attend_to, remember_keys
from regard.layers.memory import Memory
from regard.layers.transformer.residual import Norm, Residual, width_of


class MemoryBlockOutput(NamedTuple):
    """What a memory block gives."""

    states: Tensor
    """(batch, length, size)."""
    weights: Tensor | None
    """Those of its last attention, (batch, heads, query, key) for multi-head attention, if asked for."""


class TransformerMemoryBlock(nn.Module):
    r"""Attend to one memory after another, then transform each position by itself.

    $$y_0 = x, \qquad y_k = y_{k-1} + \text{attention}_k(\text{norm}(y_{k-1}), M_k), \qquad
    z = y_n + \text{feed-forward}(\text{norm}(y_n))$$

    where $M_k$ are memories that the attentions' `remember` gave. That is `norm="pre"`; "post" normalizes each sum. The
    states of the queries are keys of nothing: what a position computes from its memories reaches no other position, in
    however many blocks.

    Reference: Chen, Sun and Liu (2021), section 3, "static-KV attention", arXiv:2012.07162.

    >>> import torch
    >>> from regard.layers.mechanisms.multi_head import MultiHeadAttention
    >>> from regard.layers.transformer.feed_forward import FeedForward
    >>> block = TransformerMemoryBlock([MultiHeadAttention(8, 2)], FeedForward(8, 32))
    >>> memory = block.remember(0, torch.zeros(2, 3, 8))
    >>> block(torch.zeros(2, 5, 8), [memory]).states.shape
    torch.Size([2, 5, 8])
    """

    def __init__(
        self,
        attentions: Iterable[nn.Module],
        feed_forward: nn.Module,
        *,
        norm: Norm = "pre",
        dropout: float = 0.0,
        epsilon: float = 1e-5,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.size = width_of(feed_forward)
        self.attentions = nn.ModuleList(attentions)
        self.attention_residuals = nn.ModuleList(
            Residual(self.size, norm=norm, dropout=dropout, epsilon=epsilon, bias=bias) for _ in self.attentions
        )
        self.feed_forward = feed_forward
        self.feed_forward_residual = Residual(self.size, norm=norm, dropout=dropout, epsilon=epsilon, bias=bias)

    def remember(
        self,
        number: int,
        key: Float[Tensor, "batch key key_size"],
        value: Float[Tensor, "batch key value_size"] | None = None,
        mask: Bool[Tensor, "batch key"] | Padding | None = None,
    ) -> Memory:
        """Project a memory for the attention of this number, once."""
        return remember_keys(self.attentions[number], key, value, mask)

    def forward(
        self,
        states: Float[Tensor, "batch length size"],
        memories: Sequence[Memory],
        *,
        masks: Sequence[Mask | Bool[Tensor, "..."] | None] | None = None,
        return_weights: bool = False,
    ) -> MemoryBlockOutput:
        """Attend to each memory by the attention of the same number; `masks` narrow the memories' own."""
        masks = [None] * len(memories) if masks is None else masks
        if not len(self.attentions) == len(memories) == len(masks):
            raise ArgumentError(
                f"`memories` must be {len(self.attentions)}, one for each attention, with as many `masks`; received "
                f"{len(memories)} and {len(masks)}."
            )
        weights = None
        last = len(memories) - 1
        for number, (attention, residual, memory, mask) in enumerate(
            zip(self.attentions, self.attention_residuals, memories, masks, strict=True)
        ):
            assert isinstance(residual, Residual)
            inner = residual.enter(states)
            wanted = return_weights and number == last
            output, weights = attend_to(attention, inner, memory, mask=mask, return_weights=wanted)
            states = residual.leave(states, output)
        output = self.feed_forward(self.feed_forward_residual.enter(states))
        return MemoryBlockOutput(self.feed_forward_residual.leave(states, output), weights)
