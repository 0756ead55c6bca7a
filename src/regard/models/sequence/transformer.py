"""The Transformer: encodes a sentence at once, then generates another word by word, attending to both."""

from collections.abc import Iterable
from typing import ClassVar, Literal, NamedTuple, overload

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Padding
from regard.layers.fused.stack import decode, encode, remember, step
from regard.layers.transformer.decoder_block import DecoderBlockOutput, TransformerDecoderBlock
from regard.layers.transformer.encoder_block import TransformerEncoderBlock
from regard.models.embedding import TokenEmbedding
from regard.models.sequence.prediction import (
    Predicted,
    Read,
    check_lengths,
    check_same_rows,
    check_some,
    log_probabilities,
)
from regard.models.sequence.transformer_state import StaticState, TransformerMemory, TransformerState

#: Capacity that a decoder starts with, unless `capacity` is passed; it doubles whenever it is full.
CAPACITY = 16


class TransformerStep(NamedTuple):
    """What one step gives."""

    log_probabilities: Float[Tensor, "rows new vocabulary"]
    """Of every word, after each of the new tokens."""
    state: TransformerState | StaticState
    """For the next step."""
    weights: Float[Tensor, "rows layers heads new source"] | None
    """How much each new token attended to each source token, if asked for."""


class TransformerDecoder(nn.Module):
    """Generates a target word by word while it attends to a memory, whatever the memory was made of.

    Whoever inherits makes the four parts, and the memory.
    """

    target: TokenEmbedding
    decoder: nn.ModuleList
    decoder_norm: nn.Module
    output: nn.Linear
    softmax_of_features: ClassVar[bool] = True
    """`step` is the log-softmax of `output` over what `step_features` gives, so that search may read the logits."""

    def _decoder(self) -> Iterable[TransformerDecoderBlock]:
        for block in self.decoder:
            assert isinstance(block, TransformerDecoderBlock)
            yield block

    def start(self, memory: TransformerMemory, *, capacity: int | None = None) -> TransformerState:
        """Give the state before any token, with capacity for so many."""
        capacity_needed = CAPACITY if capacity is None else capacity
        return TransformerState(tuple(block.start(memory.rows, capacity_needed) for block in self._decoder()), 0)

    def step(
        self,
        tokens: Int[Tensor, "rows new"],
        state: TransformerState | StaticState,
        memory: TransformerMemory,
        *,
        weights: bool = False,
    ) -> TransformerStep:
        """Read the next tokens, one or more, and predict what follows each."""
        features, state, attended = self.step_features(tokens, state, memory, weights=weights)
        return TransformerStep(log_probabilities(self.output(features)), state, attended)

    def step_features(
        self,
        tokens: Int[Tensor, "rows new"],
        state: TransformerState | StaticState,
        memory: TransformerMemory,
        *,
        weights: bool = False,
    ) -> tuple[
        Float[Tensor, "rows new size"],
        TransformerState | StaticState,
        Float[Tensor, "rows layers heads new source"] | None,
    ]:
        """Read the next tokens up to the output matrix."""
        check_some("tokens", tokens)
        count = tokens.size(1)
        grown = state.with_capacity(count)
        filled = None if torch.compiler.is_compiling() else grown.length  # compiled code keeps its shapes
        states = self.target(tokens, grown.next_positions(count))
        blocks, kept, attention_weights = list(self._decoder()), [], []
        if not weights:
            fused = step(blocks, states, grown.blocks, memory.blocks, norm=self.decoder_norm, filled=filled)
            if fused is not None:
                return fused[0], state.after(fused[1], count), None
        for block, own, source in zip(blocks, grown.blocks, memory.blocks, strict=True):
            states, own, _, attended = block.step(states, own, source, filled=filled, return_weights=weights)
            kept.append(own)
            attention_weights.append(attended)
        return self.decoder_norm(states), state.after(kept, count), _by_layer(attention_weights)

    def read_along(
        self, memory: TransformerMemory, target: Int[Tensor, "batch target"], *, weights: bool = False
    ) -> Read:
        """Read whole targets, each along its memory, up to the output matrix."""
        check_some("target", target)
        states, attended = self.target(target), []
        if not weights:
            return Read(decode(list(self._decoder()), states, memory.blocks, norm=self.decoder_norm), None)
        for block, own in zip(self._decoder(), memory.blocks, strict=True):
            result = block(states, own, return_weights=weights)
            states = result.states if isinstance(result, DecoderBlockOutput) else result
            attended.append(result.cross_weights if isinstance(result, DecoderBlockOutput) else None)
        return Read(self.decoder_norm(states), _by_layer(attended))


class TransformerModel(TransformerDecoder):
    r"""Wire embeddings and blocks into a sequence-to-sequence model.

    $$p(y_i \mid y_{<i}, x) = \text{softmax}(W_o\, \text{decoder}(y_{<i}, \text{encoder}(x)))$$

    where $W_o$ is `output`. With blocks that normalize first (`norm="pre"`) a last norm follows the encoder and the
    decoder: `final_norm`.

    - `forward` reads whole targets, for training; `encode`, `start` and `step` are `GeneratingModel`'s. A step computes
      the new tokens alone: keys and values of the others are in the state.

    Reference: Vaswani et al. (2017), section 3, arXiv:1706.03762; Xiong et al. (2020), table 1, arXiv:2002.04745.
    """

    def __init__(
        self,
        *,
        source: TokenEmbedding,
        encoder: Iterable[TransformerEncoderBlock],
        target: TokenEmbedding,
        decoder: Iterable[TransformerDecoderBlock],
        vocabulary_size: int,
        final_norm: bool,
    ) -> None:
        super().__init__()
        self.source = source
        self.encoder = nn.ModuleList(encoder)
        self.target = target
        self.decoder = nn.ModuleList(decoder)
        size = target.table.embedding_dim
        self.encoder_norm = nn.LayerNorm(size) if final_norm else nn.Identity()
        self.decoder_norm = nn.LayerNorm(size) if final_norm else nn.Identity()
        self.output = nn.Linear(size, vocabulary_size)

    def encode(
        self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, " batch"] | None = None
    ) -> TransformerMemory:
        """Read the source, of which `lengths` tokens count in each row, and project it for each block."""
        padding = None if lengths is None else padding_mask(lengths, source)
        states = self.source(source)
        states = encode(list(self._encoder()), states, mask=padding, norm=self.encoder_norm)
        return TransformerMemory(remember(list(self._decoder()), states, padding))

    def _encoder(self) -> Iterable[TransformerEncoderBlock]:
        for block in self.encoder:
            assert isinstance(block, TransformerEncoderBlock)
            yield block

    def read(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"] | None,
        target: Int[Tensor, "batch target"],
        *,
        weights: bool = False,
    ) -> Read:
        """Read whole targets along their sources, up to the output matrix: `output(features)` are the logits."""
        check_some("target", target)
        check_same_rows(source, target)
        return self.read_along(self.encode(source, source_lengths), target, weights=weights)

    @overload
    def forward(
        self, source: Tensor, source_lengths: Tensor | None, target: Tensor, *, weights: Literal[False] = ...
    ) -> Tensor: ...
    @overload
    def forward(
        self, source: Tensor, source_lengths: Tensor | None, target: Tensor, *, weights: Literal[True]
    ) -> Predicted: ...
    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_lengths: Int[Tensor, " batch"] | None,
        target: Int[Tensor, "batch target"],
        *,
        weights: bool = False,
    ) -> Float[Tensor, "batch target vocabulary"] | Predicted:
        """Give the logits of the word after each target token, for training: `target` starts with `<s>`."""
        read = self.read(source, source_lengths, target, weights=weights)
        logits: Tensor = self.output(read.features)
        return Predicted(logits, read.weights) if weights else logits


def padding_mask(lengths: Int[Tensor, " batch"], source: Int[Tensor, "batch source"]) -> Padding | None:
    """Give the mask, or none where no row has padding, which leaves the kernels their quicker paths."""
    check_lengths(lengths, source)
    if source.device.type == "cpu" and not torch.compiler.is_compiling() and bool((lengths == source.size(1)).all()):
        return None
    return Padding(lengths.to(source.device), finite=True)  # what stands at padding is computed like all else


def _by_layer(weights: list[Tensor | None]) -> Tensor | None:
    """Stack the weights of all blocks: (rows, layers, heads, new, source)."""
    parts = [item for item in weights if item is not None]
    return torch.stack(parts, dim=1) if parts else None
