"""The recurrent decoder of Luong: what attention decided at one step is part of the next step's input."""

from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regard.attention import Attended
from regard.errors import ArgumentError
from regard.layers.attention_layer import Attentional
from regard.layers.checks import check_choice, check_size
from regard.layers.memory import Memory

Cell = Literal["rnn", "lstm", "gru"]


class InputFeedingState(NamedTuple):
    """What one step hands to the next, batch first."""

    state: Tensor
    """Each layer's state, (batch, layers, state_size)."""
    cell: Tensor | None
    """The same for the LSTM's cell; None for the others."""
    vector: Tensor
    """The attentional vector, (batch, state_size): the part that is input of the next step."""

    def select(self, rows: Int[Tensor, " rows"]) -> "InputFeedingState":
        """Take these rows of the batch, in this order; a row may come twice."""
        return InputFeedingState(self.state[rows], None if self.cell is None else self.cell[rows], self.vector[rows])


class InputFeedingStep(NamedTuple):
    """What one step gives."""

    state: InputFeedingState
    """For the next step; `state.vector` is what the word is predicted from."""
    vector: Tensor
    """The attentional vector, (batch, state_size)."""
    weights: Tensor | None
    """How much each memory counted, (batch, key), if asked for."""


class InputFeedingCell(nn.Module):
    r"""Take one step of a stacked recurrent decoder, with attention at its top and its outcome fed to its bottom.

    $$h_t = \text{RNN}([e_t; \tilde{h}_{t-1}], h_{t-1}), \qquad \tilde{h}_t = \tanh(W_c [c_t; h_t])$$

    where $e_t$ is the word's embedding and $c_t$ the context that `attention` gives for $h_t$. A layer that gives the
    attentional vector itself, `LuongAttention` or `LocalAttention`, goes in as it is; for any other, `context_size`
    makes $W_c$ here, `join.weight`. `LocalAttention(kind="monotonic")` gets the step as `query_positions`.

    Reference: Luong, Pham and Manning (2015), section 3.3 and equation 5, arXiv:1508.04025.

    >>> from regard.layers.mechanisms.luong import LuongAttention
    >>> step = InputFeedingCell(LuongAttention(8, 6), "lstm", embedding_size=4, state_size=8)
    >>> memory = step.attention.remember(torch.zeros(2, 5, 6))
    >>> state, vector, weights = step(torch.zeros(2, 4), step.start(2), memory, return_weights=True)
    >>> vector.shape, weights.shape
    (torch.Size([2, 8]), torch.Size([2, 5]))
    """

    def __init__(
        self,
        attention: nn.Module,
        cell: Cell,
        *,
        embedding_size: int,
        state_size: int,
        context_size: int | None = None,
        num_layers: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_choice("cell", cell, get_args(Cell))
        sizes = {"embedding_size": embedding_size, "state_size": state_size, "num_layers": num_layers}
        for name, size in sizes.items():
            check_size(name, size)
        if not 0 <= dropout <= 1:
            raise ArgumentError(f"`dropout` must be a probability between 0 and 1; received {dropout}.")
        kind = {"rnn": nn.RNNCell, "lstm": nn.LSTMCell, "gru": nn.GRUCell}[cell]
        first = embedding_size + state_size
        self.embedding_size, self.state_size, self.has_cell = embedding_size, state_size, cell == "lstm"
        self.cells = nn.ModuleList(kind(state_size if layer else first, state_size) for layer in range(num_layers))
        self.attention = attention
        self.join = None
        if context_size is not None:
            check_size("context_size", context_size)
            self.join = nn.Linear(context_size + state_size, state_size, bias=False)
        self.dropout = nn.Dropout(dropout)

    def start(
        self,
        state: int | Float[Tensor, "batch layers state_size"],
        cell: Float[Tensor, "batch layers state_size"] | None = None,
    ) -> InputFeedingState:
        """Begin from an encoder's last state and cell, or from zero for so many rows; nothing is fed yet."""
        shape = (len(self.cells), self.state_size)
        if isinstance(state, int):
            state = next(self.cells.parameters()).new_zeros(state, *shape)
        for name, received in (("state", state), ("cell", cell)):
            if received is not None and tuple(received.shape[1:]) != shape:
                raise ArgumentError(
                    f"`{name}` must have shape (batch, layers, state_size) = (batch, {shape[0]}, {shape[1]}); "
                    f"received {tuple(received.shape)}."
                )
        if self.has_cell and cell is None:
            cell = torch.zeros_like(state)
        return InputFeedingState(state, cell if self.has_cell else None, torch.zeros_like(state[:, 0]))

    def forward(
        self,
        embedding: Float[Tensor, "batch embedding_size"],
        state: InputFeedingState,
        memory: Memory,
        *,
        query_positions: Int[Tensor, " one"] | None = None,
        return_weights: bool = False,
    ) -> InputFeedingStep:
        """Take one step; `query_positions`, the number of the step, is for an attention that needs it (local-m)."""
        if embedding.ndim != 2 or embedding.size(-1) != self.embedding_size:
            raise ArgumentError(
                f"`embedding` must have shape (batch, {self.embedding_size}), one word per row; received "
                f"{tuple(embedding.shape)}."
            )
        states, cells = self._climb(torch.cat([embedding, state.vector.to(embedding.dtype)], dim=-1), state)
        top = states[-1]
        options = {} if query_positions is None else {"query_positions": query_positions}
        attended = self.attention(top.unsqueeze(1), memory, **options, return_weights=return_weights)
        vector, weights = self._join(attended, top)
        kept = InputFeedingState(torch.stack(states, dim=1), torch.stack(cells, dim=1) if cells else None, vector)
        return InputFeedingStep(kept, vector, weights)

    def _climb(self, below: Tensor, state: InputFeedingState) -> tuple[list[Tensor], list[Tensor]]:
        """Run the layers from the bottom to the top, dropout between them."""
        states: list[Tensor] = []
        cells: list[Tensor] = []
        for layer, module in enumerate(self.cells):
            below = self.dropout(below) if layer else below
            if state.cell is None:
                below = module(below, state.state[:, layer])
            else:
                below, cell = module(below, (state.state[:, layer], state.cell[:, layer]))
                cells.append(cell)
            states.append(below)
        return states, cells

    def _join(self, attended: Attentional | Attended | Tensor, top: Tensor) -> tuple[Tensor, Tensor | None]:
        """Give the attentional vector and the weights, (batch, key), or (batch, heads, key) of several heads."""
        weights = None if isinstance(attended, Tensor) else attended.weights
        weights = None if weights is None else weights.squeeze(-2)
        if isinstance(attended, Attentional):
            return attended.vector.squeeze(1), weights
        if self.join is None:
            raise ArgumentError(
                "`context_size` must be given for an attention that gives no attentional vector; received None. "
                "LuongAttention and LocalAttention give one."
            )
        context = (attended if isinstance(attended, Tensor) else attended.context).squeeze(1)
        return torch.tanh(self.join(torch.cat([context, top], dim=-1))), weights

    def extra_repr(self) -> str:
        """Show the sizes."""
        return f"embedding_size={self.embedding_size}, state_size={self.state_size}"
