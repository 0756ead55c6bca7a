"""What the recurrent decoders share: memory, state, where they start, and the stack of torch's fused layers."""

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.attention import Padding
from regard.layers.memory import Memory
from regard.layers.recurrent.encoder import Encoded
from regard.layers.uncompiled import uncompiled

Cell = Literal["rnn", "lstm", "gru"]


class RecurrentMemory(NamedTuple):
    """What is known of the source, one row per sentence."""

    source: Memory | None
    """What attention attends over; None where there is no attention."""
    vector: Tensor | None
    """The fixed vector, (batch, size), where it is an input of every step."""
    state: Tensor
    """Where each layer of the decoder starts, (batch, layers, state_size)."""
    cell: Tensor | None
    """The same for the LSTM's cell; None for the others."""

    @property
    def rows(self) -> int:
        """How many sentences."""
        return self.state.size(0)

    def select(self, rows: Int[Tensor, " chosen"]) -> "RecurrentMemory":
        """Take these sentences, in this order."""
        rows = rows.to(self.state.device)
        source = None if self.source is None else self.source.select(rows)
        state = self.state.index_select(0, rows)
        return RecurrentMemory(source, _rows(self.vector, rows), state, _rows(self.cell, rows))


class RecurrentState(NamedTuple):
    """What one step hands to the next, one row per hypothesis."""

    state: Tensor
    """Each layer's state, (rows, layers, state_size)."""
    cell: Tensor | None
    """The same for the LSTM's cell; None for the others."""
    attentional: Tensor | None
    """The last attentional vector, (rows, state_size), under input feeding."""
    position: Int[Tensor, " rows"]
    """How many tokens have been read: the step t of local attention."""

    @property
    def rows(self) -> int:
        """How many hypotheses."""
        return self.state.size(0)

    def select(self, rows: Int[Tensor, " chosen"]) -> "RecurrentState":
        """Take these hypotheses, in this order; one may come twice."""
        rows = rows.to(self.state.device)
        state, position = self.state.index_select(0, rows), self.position.index_select(0, rows)
        return RecurrentState(state, _rows(self.cell, rows), _rows(self.attentional, rows), position)

    def fixed(self, capacity: int) -> "RecurrentState":
        """Give itself: it has one shape for every length."""
        return self


class DecoderStep(NamedTuple):
    """The result of a step over one or more words."""

    features: Float[Tensor, "rows new features"]
    """What the output matrix reads."""
    state: RecurrentState
    """After the last word."""
    weights: Float[Tensor, "rows heads new source"] | None
    """How much each step attended to each source token, if asked for."""


def _rows(tensor: Tensor | None, rows: Tensor) -> Tensor | None:
    return None if tensor is None else tensor.index_select(0, rows)  # on a CPU quicker than tensor[rows]


class DecoderStart(nn.Module):
    r"""Make the decoder's first state of the encoder's last.

    $$s_0 = \tanh(W_s x), \qquad c_0 = W_c x'$$

    for each layer, where $x$ and $x'$ are the encoder's last state and, of an LSTM, its cell, which has no bound and so
    gets no tanh. What $x$ holds is the decoder's choice. `copy` hands both over as they are.

    Reference: Bahdanau, Cho and Bengio (2015), section A.2.2, arXiv:1409.0473; Sutskever, Vinyals and Le (2014),
    section 2, arXiv:1409.3215 (copy).
    """

    def __init__(self, input_size: int, state_size: int, *, num_layers: int, cell: Cell, copy: bool = False) -> None:
        super().__init__()
        maps = 0 if copy else num_layers
        self.state = nn.ModuleList(nn.Linear(input_size, state_size) for _ in range(maps))
        self.cell = nn.ModuleList(nn.Linear(input_size, state_size) for _ in range(maps if cell == "lstm" else 0))

    def forward(
        self, state: Float[Tensor, "batch layers input_size"], cell: Float[Tensor, "batch layers input_size"] | None
    ) -> tuple[Float[Tensor, "batch layers state_size"], Float[Tensor, "batch layers state_size"] | None]:
        """Give the decoder's state and cell."""
        if not len(self.state):
            return state, cell
        started = torch.stack([torch.tanh(item(x)) for item, x in zip(self.state, state.unbind(1), strict=True)], dim=1)
        if cell is None:
            return started, None
        return started, torch.stack([item(x) for item, x in zip(self.cell, cell.unbind(1), strict=True)], dim=1)


class RecurrentDecoder(nn.Module, ABC):
    """Reads words and gives, for each, the features that the next word is predicted from.

    One method, `step`, serves training, which has all words at once, and decoding, which has one at a time. Whatever
    does not depend on the state is computed for all words together, before the loop or after it.
    """

    #: Width of the features.
    feature_size: int

    @abstractmethod
    def remember(self, encoded: Encoded, mask: Bool[Tensor, "batch source"] | Padding | None) -> RecurrentMemory:
        """Do once per source what does not depend on the decoder's state."""

    def start(self, memory: RecurrentMemory) -> RecurrentState:
        """Give the state before any word."""
        position = torch.zeros(memory.rows, dtype=torch.long, device=memory.state.device)
        return RecurrentState(memory.state, memory.cell, None, position)

    @abstractmethod
    def step(
        self,
        embedding: Float[Tensor, "rows new size"],
        state: RecurrentState,
        memory: RecurrentMemory,
        *,
        weights: bool = False,
    ) -> DecoderStep:
        """Read the next words."""


def fused_stack(cell: Cell, input_size: int, state_size: int, *, num_layers: int, dropout: float) -> nn.RNNBase:
    """Make a stack of torch's fused recurrent layers, dropout between them."""
    between = dropout if num_layers > 1 else 0.0
    kind = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}[cell]
    stack: nn.RNNBase = kind(input_size, state_size, num_layers=num_layers, dropout=between, batch_first=True)
    return stack


@uncompiled  # torch.compile traces no nn.RNN, GRU or LSTM
def run_stack(
    recurrence: nn.RNNBase, inputs: Float[Tensor, "rows new size"], state: RecurrentState
) -> tuple[Float[Tensor, "rows new state_size"], RecurrentState]:
    """Give the top layer's state after each input, and the state after the last."""
    first = state.state.transpose(0, 1).contiguous()  # layers rows size
    if not inputs.numel():
        return inputs.new_zeros(*inputs.shape[:2], recurrence.hidden_size), state
    if state.cell is None:
        states, last = recurrence(inputs, first)
        cell = None
    else:
        states, (last, cell) = recurrence(inputs, (first, state.cell.transpose(0, 1).contiguous()))
        cell = cell.transpose(0, 1)
    return states, state._replace(state=last.transpose(0, 1), cell=cell, position=state.position + inputs.size(1))


def of_each_row(vector: Float[Tensor, "sentences size"], rows: int) -> Float[Tensor, "{rows} size"]:
    """Repeat what belongs to a sentence for each of its hypotheses."""
    return vector if vector.size(0) == rows else vector.repeat_interleave(rows // vector.size(0), dim=0)
