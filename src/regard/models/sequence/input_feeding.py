"""The decoder of Luong with input feeding: what attention decided at one step is part of the next step's input."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from regard.attention import Padding
from regard.layers.attention_layer import interface_of
from regard.layers.memory import Memory
from regard.layers.recurrent.encoder import Encoded
from regard.layers.recurrent.input_feeding import InputFeedingCell
from regard.models.sequence.conditional import gru_gates, lstm_gates
from regard.models.sequence.hypotheses import attend_by_row
from regard.models.sequence.previous_state import concatenate_steps
from regard.models.sequence.recurrent_decoder import (
    Cell,
    DecoderStart,
    DecoderStep,
    RecurrentDecoder,
    RecurrentMemory,
    RecurrentState,
)


class InputFeedingDecoder(RecurrentDecoder):
    r"""Step, attend with the new state, and feed the attentional vector to the next step.

    $$s_i = f([e_{i-1}; \tilde h_{i-1}], s_{i-1}), \qquad \tilde h_i = \tanh(W_c [\text{attention}(s_i, h); s_i])$$

    `cell`, an `InputFeedingCell`, owns the parameters and is the definition; `step` computes the same with the words'
    share of the first layer's gates taken out of the loop.

    Reference: Luong, Pham and Manning (2015), section 3.3, arXiv:1508.04025.
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
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.begin = DecoderStart(start_size, state_size, num_layers=num_layers, cell=cell, copy=copy)
        self.cell = InputFeedingCell(
            attention,
            cell,
            embedding_size=embedding_size,
            state_size=state_size,
            context_size=None if interface_of(attention).joins else context_size,
            num_layers=num_layers,
            dropout=dropout,
        )
        self.kind: Cell = cell
        self.needs_step = interface_of(attention).step
        self.feature_size = state_size

    def remember(self, encoded: Encoded, mask: Bool[Tensor, "batch source"] | Padding | None) -> RecurrentMemory:
        """Project the memory, and start every layer from the encoder's."""
        state, cell = self.begin(encoded.state, encoded.cell)
        source: Memory = self.cell.attention.remember(encoded.memory, mask=mask)  # type: ignore[operator]
        return RecurrentMemory(source, None, state, cell)

    def start(self, memory: RecurrentMemory) -> RecurrentState:
        """Give the state before any word, with an attentional vector of zero."""
        return super().start(memory)._replace(attentional=torch.zeros_like(memory.state[:, 0]))

    def step(
        self,
        embedding: Float[Tensor, "rows new size"],
        state: RecurrentState,
        memory: RecurrentMemory,
        *,
        weights: bool = False,
    ) -> DecoderStep:
        """Read the next words, one after the other."""
        assert memory.source is not None
        assert state.attentional is not None
        attentional, states = state.attentional, list(state.state.unbind(1))
        cells = None if state.cell is None else list(state.cell.unbind(1))
        vectors, weights_by_step = [], []
        stack = self._stack()
        first = stack[0]
        of_word, of_attentional = first.weight_ih.split([self.cell.embedding_size, self.cell.state_size], dim=1)
        projected = nn.functional.linear(embedding.transpose(0, 1), of_word, first.bias_ih)  # all words at once
        for step, word in enumerate(projected.unbind(0)):
            below = torch.addmm(word, attentional, of_attentional.mT)
            for layer in range(len(stack)):
                below = self._climb(stack, layer, below, states, cells)
            positions = state.position[:, None] + step if self.needs_step else None
            top = states[-1].unsqueeze(1)  # the query is s_i
            attended = attend_by_row(self.cell.attention, top, memory.source, positions=positions, weights=weights)
            attentional = self._join(attended.context.squeeze(1), states[-1])
            vectors.append(attentional)
            weights_by_step.append(attended.weights)
        kept = RecurrentState(
            torch.stack(states, dim=1),
            None if cells is None else torch.stack(cells, dim=1),
            attentional,
            state.position + embedding.size(1),
        )
        return DecoderStep(torch.stack(vectors, dim=1), kept, concatenate_steps(weights_by_step))

    def _stack(self) -> list[nn.RNNCellBase]:
        return [item for item in self.cell.cells if isinstance(item, nn.RNNCellBase)]

    def _climb(
        self,
        stack: list[nn.RNNCellBase],
        layer: int,
        below: Tensor,
        states: list[Tensor],
        cells: list[Tensor] | None,
    ) -> Tensor:
        """Take one layer's step from its input gates; give those of the layer above."""
        module, state = stack[layer], states[layer]
        own = nn.functional.linear(state, module.weight_hh, module.bias_hh)
        if cells is not None:
            states[layer], cells[layer] = lstm_gates(below + own, cells[layer])
        elif self.kind == "gru":
            states[layer] = gru_gates(below, own, state)
        else:
            states[layer] = torch.tanh(below + own)
        if layer + 1 == len(stack):
            return below
        above = stack[layer + 1]
        return nn.functional.linear(self.cell.dropout(states[layer]), above.weight_ih, above.bias_ih)

    def _join(self, context: Tensor, top: Tensor) -> Tensor:
        if self.cell.join is None:
            return context  # the attention has joined them itself
        return torch.tanh(self.cell.join(torch.cat([context, top], dim=-1)))
