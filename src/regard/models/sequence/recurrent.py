"""The recurrent encoder-decoder: encodes a sentence word by word, then generates another."""

from typing import ClassVar, Literal, NamedTuple, overload

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Padding
from regard.layers.recurrent.encoder import Encoded, RecurrentEncoder
from regard.models.dropout import Dropout
from regard.models.embedding import TokenEmbedding
from regard.models.sequence.prediction import (
    Predicted,
    Read,
    check_lengths,
    check_same_rows,
    check_some,
    log_probabilities,
)
from regard.models.sequence.recurrent_decoder import RecurrentDecoder, RecurrentMemory, RecurrentState


class RecurrentStep(NamedTuple):
    """What one step gives."""

    log_probabilities: Float[Tensor, "rows new vocabulary"]
    """Of every word, after each of the new tokens."""
    state: RecurrentState
    """For the next step."""
    weights: Float[Tensor, "rows layers heads new source"] | None
    """How much each new token attended to each source token, if asked for and if the model attends."""


class RecurrentModel(nn.Module):
    r"""Wire embeddings, a recurrent encoder and one of the recurrent decoders into a sequence-to-sequence model.

    $$p(y_i \mid y_{<i}, x) = \text{softmax}(W_o\, t_i)$$

    where $t_i$ is what the decoder gives after reading $y_{i-1}$, and $W_o$ is `output`. `reverse` reads the source
    from its end, as Sutskever et al. (2014) do; each position of the memory still belongs to its own word.

    - `decoder`: `FixedVectorDecoder` (no attention), `PreviousStateDecoder` (Bahdanau), `CurrentStateDecoder` (Luong
      and the lectures), `InputFeedingDecoder` (Luong with input feeding).
    - `forward` reads whole targets, for training; `encode`, `start` and `step` are `GeneratingModel`'s. Both run the
      same code, so they give the same numbers.
    """

    softmax_of_features: ClassVar[bool] = True
    """`step` is the log-softmax of `output` over what `step_features` gives, so that search may read the logits."""

    def __init__(
        self,
        *,
        source: TokenEmbedding,
        encoder: RecurrentEncoder,
        target: TokenEmbedding,
        decoder: RecurrentDecoder,
        vocabulary_size: int,
        reverse: bool = False,
        dropout: float = 0.0,
        shared_dropout: bool = False,
    ) -> None:
        super().__init__()
        self.source = source
        self.encoder = encoder
        self.target = target
        self.decoder = decoder
        self.output = nn.Linear(decoder.feature_size, vocabulary_size)
        self.reverse = reverse
        self.dropout = Dropout(dropout, shared=shared_dropout)

    def encode(
        self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, " batch"] | None = None
    ) -> RecurrentMemory:
        """Read the source, of which `lengths` tokens count in each row."""
        if lengths is not None:
            check_lengths(lengths, source)
        embedding = self.source(source)
        encoded = self._read_reversed(embedding, lengths) if self.reverse else self.encoder(embedding, lengths)
        encoded = encoded._replace(memory=self.dropout(encoded.memory))
        return self.decoder.remember(encoded, None if lengths is None else Padding(lengths.to(source.device)))

    def _read_reversed(self, embedding: Tensor, lengths: Tensor | None) -> Encoded:
        """Turn each sentence around, without its padding; read it; turn what was made of it back."""
        batch, length, _ = embedding.shape
        positions = torch.arange(length, device=embedding.device).expand(batch, length)
        last = torch.full((batch, 1), length, device=embedding.device) if lengths is None else lengths[:, None]
        order = torch.where(
            positions < last.to(positions.device), last.to(positions.device) - 1 - positions, positions
        )[..., None]
        encoded: Encoded = self.encoder(embedding.take_along_dim(order, dim=1), lengths)
        return encoded._replace(memory=encoded.memory.take_along_dim(order, dim=1))

    def start(self, memory: RecurrentMemory, *, capacity: int | None = None) -> RecurrentState:
        """Give the state before any token. It has one size for every length: `capacity` is not needed."""
        return self.decoder.start(memory)

    def step(
        self,
        tokens: Int[Tensor, "rows new"],
        state: RecurrentState,
        memory: RecurrentMemory,
        *,
        weights: bool = False,
    ) -> RecurrentStep:
        """Read the next tokens, one or more, and predict what follows each."""
        features, state, attended = self.step_features(tokens, state, memory, weights=weights)
        return RecurrentStep(log_probabilities(self.output(features)), state, attended)

    def step_features(
        self,
        tokens: Int[Tensor, "rows new"],
        state: RecurrentState,
        memory: RecurrentMemory,
        *,
        weights: bool = False,
    ) -> tuple[
        Float[Tensor, "rows new features"], RecurrentState, Float[Tensor, "rows layers heads new source"] | None
    ]:
        """Read the next tokens up to the output matrix."""
        check_some("tokens", tokens)
        features, state, attended = self.decoder.step(self.target(tokens), state, memory, weights=weights)
        return self.dropout(features), state, None if attended is None else attended.unsqueeze(1)

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
        memory = self.encode(source, source_lengths)
        features, _, attended = self.decoder.step(self.target(target), self.start(memory), memory, weights=weights)
        return Read(self.dropout(features), None if attended is None else attended.unsqueeze(1))

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
