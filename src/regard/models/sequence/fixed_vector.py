"""The decoder without attention: all that is known of the source is one vector."""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from regard.attention import Padding
from regard.layers.recurrent.encoder import Encoded
from regard.layers.recurrent.readout import FeatureKind, Features
from regard.models.sequence.recurrent_decoder import (
    Cell,
    DecoderStart,
    DecoderStep,
    RecurrentDecoder,
    RecurrentMemory,
    RecurrentState,
    fused_stack,
    of_each_row,
    run_stack,
)


class FixedVectorDecoder(RecurrentDecoder):
    r"""Generate everything from the encoder's last state.

    $$\text{initial:}\ s_i = f(e_{i-1}, s_{i-1}) \qquad \text{every-step:}\ s_i = f([e_{i-1}; c], s_{i-1}), \qquad
    s_0 = \tanh(W_s c)$$

    where $c$ is the last state of the encoder's top layer, of both directions if it has two. This is the model whose
    quality falls with the length of the sentence, and which attention was invented to mend. No step waits for
    attention, so all words go through torch's fused layers at once.

    Reference: Sutskever, Vinyals and Le (2014), section 2, arXiv:1409.3215 (initial, `copy`); Cho et al. (2014),
    section 2.2, arXiv:1406.1078 (every-step).
    Differs: torch's GRU resets after the matrix product.
    """

    def __init__(
        self,
        cell: Cell,
        *,
        embedding_size: int,
        state_size: int,
        vector_size: int,
        context: Literal["initial", "every-step"] = "every-step",
        num_layers: int = 1,
        copy: bool = False,
        output: FeatureKind = "state",
        maxout_size: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.every_step = context == "every-step"
        self.begin = DecoderStart(vector_size, state_size, num_layers=num_layers, cell=cell, copy=copy)
        input_size = embedding_size + vector_size if self.every_step else embedding_size
        self.recurrence = fused_stack(cell, input_size, state_size, num_layers=num_layers, dropout=dropout)
        self.features = Features(
            output,
            state_size=state_size,
            embedding_size=embedding_size,
            context_size=vector_size,
            hidden_size=maxout_size,
        )
        self.feature_size = self.features.size

    def remember(self, encoded: Encoded, mask: Bool[Tensor, "batch source"] | Padding | None) -> RecurrentMemory:
        """Keep the last state, and forget the rest."""
        state, cell = self.begin(encoded.state, encoded.cell)
        return RecurrentMemory(None, encoded.state[:, -1] if self.every_step else None, state, cell)

    def step(
        self,
        embedding: Float[Tensor, "rows new size"],
        state: RecurrentState,
        memory: RecurrentMemory,
        *,
        weights: bool = False,
    ) -> DecoderStep:
        """Read the next words, all at once; there are no weights to give."""
        inputs, vector = embedding, None
        if memory.vector is not None:
            vector = of_each_row(memory.vector, embedding.size(0)).unsqueeze(1).expand(-1, embedding.size(1), -1)
            inputs = torch.cat([embedding, vector], dim=-1)
        states, state = run_stack(self.recurrence, inputs, state)
        return DecoderStep(self.features(states, embedding, vector), state, None)
