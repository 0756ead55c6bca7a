"""The decoder of Luong and of the lectures: the state after the step is the query, and the word is read from both."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Padding
from regard.layers.attention_layer import interface_of
from regard.layers.memory import Memory
from regard.layers.recurrent.encoder import Encoded
from regard.layers.recurrent.readout import FeatureKind, Features
from regard.models.sequence.hypotheses import attend_by_row
from regard.models.sequence.recurrent_decoder import (
    Cell,
    DecoderStart,
    DecoderStep,
    RecurrentDecoder,
    RecurrentMemory,
    RecurrentState,
    fused_stack,
    run_stack,
)


class CurrentStateDecoder(RecurrentDecoder):
    r"""Step, then attend with the new state.

    $$s_i = f(e_{i-1}, s_{i-1}), \qquad c_i = \text{attention}(s_i, h)$$

    and the word is read from $[c_i; s_i]$ in one of the ways of `Features`; a `LuongAttention` or `LocalAttention`
    joins the two itself, $\tilde h_i = \tanh(W_c [c_i; s_i])$. The context does not reach the next step (that is
    `InputFeedingDecoder`), so all words go through torch's fused layers at once, and then attend all at once.

    Reference: Luong, Pham and Manning (2015), section 3, arXiv:1508.04025.
    """

    def __init__(
        self,
        attention: nn.Module,
        cell: Cell,
        *,
        embedding_size: int,
        state_size: int,
        context_size: int,
        start_size: int,
        num_layers: int = 1,
        copy: bool = False,
        output: FeatureKind = "joined",
        maxout_size: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.begin = DecoderStart(start_size, state_size, num_layers=num_layers, cell=cell, copy=copy)
        self.recurrence = fused_stack(cell, embedding_size, state_size, num_layers=num_layers, dropout=dropout)
        self.attention = attention
        self.needs_step = interface_of(attention).step
        self.features: Features | None = None
        if not interface_of(attention).joins:
            self.features = Features(
                output,
                state_size=state_size,
                embedding_size=embedding_size,
                context_size=context_size,
                hidden_size=maxout_size,
            )
        self.feature_size = state_size if self.features is None else self.features.size

    def remember(self, encoded: Encoded, mask: Bool[Tensor, "batch source"] | Padding | None) -> RecurrentMemory:
        """Project the memory, and start every layer from the encoder's."""
        state, cell = self.begin(encoded.state, encoded.cell)
        source: Memory = self.attention.remember(encoded.memory, mask=mask)  # type: ignore[operator]
        return RecurrentMemory(source, None, state, cell)

    def step(
        self,
        embedding: Float[Tensor, "rows new size"],
        state: RecurrentState,
        memory: RecurrentMemory,
        *,
        weights: bool = False,
    ) -> DecoderStep:
        """Read the next words, all at once."""
        assert memory.source is not None
        positions = None
        if self.needs_step:
            positions = state.position[:, None] + torch.arange(embedding.size(1), device=embedding.device)
        states, state = run_stack(self.recurrence, embedding, state)
        attended = attend_by_row(
            self.attention, states, memory.source, positions=positions, weights=weights
        )  # the query is s_i
        features = attended.context if self.features is None else self.features(states, embedding, attended.context)
        return DecoderStep(features, state, attended.weights)
