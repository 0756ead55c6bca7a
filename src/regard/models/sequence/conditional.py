"""What `layers.ConditionalGRU` is for the GRU, for the other two cells: every gate also reads the context."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.checks import check_size


class ConditionalRNN(nn.Module):
    r"""Take one step of a plain recurrent network.

    $$s_i = \tanh(W e + U s_{i-1} + C c_i)$$

    where $W$ is `input.weight`, $U$ is `recurrent.weight` and $C$ is `context.weight`.

    >>> cell = ConditionalRNN(input_size=4, state_size=8, context_size=6)
    >>> cell.step(cell.project(torch.zeros(2, 4)), torch.zeros(2, 8), torch.zeros(2, 6)).shape
    torch.Size([2, 8])
    """

    #: How many gates there are, each as wide as the state.
    num_gates = 1

    def __init__(self, input_size: int, state_size: int, context_size: int) -> None:
        super().__init__()
        for name, size in (("input_size", input_size), ("state_size", state_size), ("context_size", context_size)):
            check_size(name, size)
        self.state_size = state_size
        self.input = nn.Linear(input_size, self.num_gates * state_size)
        self.context = nn.Linear(context_size, self.num_gates * state_size, bias=False)
        self.recurrent = nn.Linear(state_size, self.num_gates * state_size, bias=False)

    def project(self, embedding: Float[Tensor, "*batch input_size"]) -> Float[Tensor, "*batch gates"]:
        """Compute what depends on the embeddings alone, for all words at once."""
        return self.input(embedding)  # type: ignore[no-any-return]

    def step(
        self,
        projected: Float[Tensor, "batch gates"],
        state: Float[Tensor, "batch state_size"],
        context: Float[Tensor, "batch context_size"],
    ) -> Float[Tensor, "batch state_size"]:
        """Take one step from a projected embedding."""
        return torch.tanh(projected + self.context(context) + self.recurrent(state))


class ConditionalLSTM(ConditionalRNN):
    r"""Take one step of an LSTM.

    $$[i, f, o] = \sigma(\dots), \quad g = \tanh(\dots), \quad \dots = W e + U s_{i-1} + C c_i$$
    $$k_i = f \circ k_{i-1} + i \circ g, \qquad s_i = o \circ \tanh(k_i)$$

    where $k$ is the cell; gates lie in torch's order, i, f, g, o.

    Reference: Hochreiter and Schmidhuber (1997); Gers, Schmidhuber and Cummins (2000).
    """

    num_gates = 4

    def step_with_cell(
        self,
        projected: Float[Tensor, "batch gates"],
        state: Float[Tensor, "batch state_size"],
        cell: Float[Tensor, "batch state_size"],
        context: Float[Tensor, "batch context_size"],
    ) -> tuple[Float[Tensor, "batch state_size"], Float[Tensor, "batch state_size"]]:
        """Take one step from a projected embedding; give the state and the cell."""
        return lstm_gates(projected + self.context(context) + self.recurrent(state), cell)


def lstm_gates(
    total: Float[Tensor, "batch gates"], cell: Float[Tensor, "batch size"]
) -> tuple[Float[Tensor, "batch size"], Float[Tensor, "batch size"]]:
    """Open and close the gates; give the state and the cell."""
    let_in, forget, candidate, let_out = total.chunk(4, dim=-1)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(let_in) * torch.tanh(candidate)
    return torch.sigmoid(let_out) * torch.tanh(cell), cell


def gru_gates(
    of_input: Float[Tensor, "batch gates"], of_state: Float[Tensor, "batch gates"], state: Float[Tensor, "batch size"]
) -> Float[Tensor, "batch size"]:
    """Combine the gates of the input and of the state as torch's GRU does: reset after the matrix product."""
    size = state.size(-1)
    reset, update = torch.sigmoid(of_input[:, : 2 * size] + of_state[:, : 2 * size]).chunk(2, dim=-1)
    candidate = torch.tanh(of_input[:, 2 * size :] + reset * of_state[:, 2 * size :])
    return candidate + update * (state - candidate)
