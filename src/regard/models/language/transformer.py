"""A Transformer decoder alone: each word attends to all before it."""

from collections.abc import Iterable
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.attention import Causal
from regard.errors import ArgumentError
from regard.layers.fused.stack import encode
from regard.layers.memory import Memory
from regard.layers.transformer.encoder_block import TransformerEncoderBlock
from regard.models.embedding import TokenEmbedding
from regard.models.language.network import LanguageNetwork, Reading

#: Capacity that generating starts with, unless `capacity` is passed; it doubles whenever it is full.
CAPACITY = 16


class DecoderState(NamedTuple):
    """Keys and values of each block, and the tokens they were made of."""

    blocks: tuple[Memory, ...]
    tokens: Int[Tensor, "rows length"]

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.tokens.size(0)

    @property
    def length(self) -> int:
        """How many tokens every row holds."""
        return self.tokens.size(1)

    def select(self, rows: Int[Tensor, " chosen"]) -> "DecoderState":
        """Take these rows, in this order; one may come twice."""
        blocks = tuple(item.select(rows, filled=self.length) for item in self.blocks)
        return DecoderState(blocks, self.tokens.index_select(0, rows))


class TransformerLanguageModel(LanguageNetwork):
    r"""Blocks of causal self-attention over at most `context` words.

    $$f_t = \text{norm}(\text{block}_L(\dots \text{block}_1(x_{\le t})))$$

    `read` without a state computes a whole window; with one, the new tokens alone: keys and values of the others are in
    the state. A window that is full goes on from its second half, which is read anew from position 0.

    Reference: Liu et al. (2018), section 4.2.3, arXiv:1801.10198; Radford et al. (2019), section 2.3.

    >>> from regard.layers import FeedForward, MultiHeadAttention
    >>> block = TransformerEncoderBlock(MultiHeadAttention(8, 2), FeedForward(8, 32))
    >>> model = TransformerLanguageModel(TokenEmbedding(10, 8), [block], context=16)
    >>> model(torch.tensor([[1, 2, 3]])).features.shape
    torch.Size([1, 3, 8])
    """

    carries: ClassVar[bool] = False

    def __init__(
        self,
        embedding: TokenEmbedding,
        blocks: Iterable[TransformerEncoderBlock],
        *,
        context: int,
        tie: bool = True,
    ) -> None:
        super().__init__()
        if context < 2:
            raise ArgumentError(f"`context` must be at least 2; received {context}.")
        self.embedding, self.context = embedding, context
        self.blocks = nn.ModuleList(blocks)
        size = embedding.table.embedding_dim
        self.norm = nn.LayerNorm(size)
        self.output = nn.Linear(size, embedding.table.num_embeddings)
        self.reset_parameters()
        if tie:
            self.output.weight = embedding.table.weight

    def reset_parameters(self) -> None:
        """Draw maps from N(0, 0.02²), those that end a branch narrower by the root of their number, as GPT-2."""
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                ends = name.endswith(("attention.output", "feed_forward.contract"))
                nn.init.normal_(module.weight, std=0.02 / (2 * len(self.blocks)) ** (0.5 * ends))
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    @property
    def reach(self) -> int | None:
        """How many tokens it can read at once."""
        return self.context

    def start(self, rows: int, *, capacity: int | None = None) -> DecoderState:
        """Give the state before any token, with capacity for so many."""
        reserved = min(CAPACITY if capacity is None else capacity, self.context)
        nothing = torch.zeros(rows, 0, dtype=torch.long, device=self.norm.weight.device)
        return DecoderState(tuple(block.start(rows, reserved) for block in self._blocks()), nothing)

    def read(
        self, tokens: Int[Tensor, "rows new"], state: DecoderState | None = None, *, weights: bool = False
    ) -> Reading:
        """Read a whole window, or what comes after those read before."""
        if state is None and not weights:
            self._check(tokens.size(1))
            states = self.embedding(tokens)
            return Reading(encode(list(self._blocks()), states, mask=Causal(), norm=self.norm), None)
        state = self.start(tokens.size(0), capacity=tokens.size(1)) if state is None else state
        parts = []
        while tokens.size(1):
            if state.length == self.context:
                kept = state.tokens[:, (self.context + 1) // 2 :]
                state = self._go_on(kept, self.start(state.rows, capacity=self.context), weights=False).state
            part = self._go_on(tokens[:, : self.context - state.length], state, weights=weights)
            tokens, state = tokens[:, part.features.size(1) :], part.state
            parts.append(part)
        return Reading(torch.cat([part.features for part in parts], dim=1), state, _beside(parts))

    def _go_on(self, tokens: Tensor, state: DecoderState, *, weights: bool) -> Reading:
        """Read tokens that fit into the context."""
        new, length = tokens.size(1), state.length
        memories = state.blocks
        if length + new > memories[0].capacity:
            reserved = min(self.context, max(length + new, 2 * memories[0].capacity))
            memories = tuple(item.reserve(reserved) for item in memories)
        states = self.embedding(tokens, torch.arange(length, length + new, device=tokens.device))
        kept, attention_weights = [], []
        for block, memory in zip(self._blocks(), memories, strict=True):
            states, memory, attended = block.step(states, memory, filled=length, return_weights=weights)
            kept.append(memory)
            attention_weights += [] if attended is None else [attended[..., : length + new]]
        after = DecoderState(tuple(kept), torch.cat([state.tokens, tokens], dim=1))
        return Reading(self.norm(states), after, torch.stack(attention_weights, dim=1) if attention_weights else None)

    def _blocks(self) -> Iterable[TransformerEncoderBlock]:
        for block in self.blocks:
            assert isinstance(block, TransformerEncoderBlock)
            yield block

    def _check(self, length: int) -> None:
        if length > self.context:
            raise ArgumentError(
                f"`tokens` must be at most the context, {self.context} in a row; received {length}. Read a longer "
                "text in windows, or from `start()` on."
            )


def _beside(parts: list[Reading]) -> Tensor | None:
    """Lay the weights of several parts under one another, their last positions aligned."""
    attended = [part.weights for part in parts if part.weights is not None]
    width = max((item.size(-1) for item in attended), default=0)
    padded = [F.pad(item, (width - item.size(-1), 0)) for item in attended]
    return torch.cat(padded, dim=-2) if padded else None
