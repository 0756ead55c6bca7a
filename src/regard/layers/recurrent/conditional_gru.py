"""The recurrent decoder of Bahdanau: a GRU whose gates also read the context of attention."""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.layers.checks import check_size


class ConditionalGRU(nn.Module):
    r"""Take one step: from the last word's embedding, the last state and the context to the next state.

    $$z = \sigma(W_z e + U_z s_{i-1} + C_z c_i), \qquad r = \sigma(W_r e + U_r s_{i-1} + C_r c_i)$$
    $$\tilde{s} = \tanh(W e + U [r \circ s_{i-1}] + C c_i), \qquad s_i = (1 - z) \circ s_{i-1} + z \circ \tilde{s}$$

    where $e$ is the embedding of $y_{i-1}$. The three $W$ are rows of `input.weight`, in the order reset, update,
    candidate, with the biases that the paper's equations leave out; the three $C$ are rows of
    `context.weight` in that order; $U_r$ and $U_z$ are rows of `gates.weight`, and $U$ is `candidate.weight`.

    Reference: Bahdanau, Cho and Bengio (2015), sections A.1.1 and A.2.2, arXiv:1409.0473.
    Differs: not from the paper, but torch's GRU does: it resets after the matrix product, and its update gate, as
    that of many lectures, keeps the old state where the paper's takes the new. Changing the signs of all update rows
    turns the one gate into the other.

    >>> gru = ConditionalGRU(input_size=4, state_size=8, context_size=6)
    >>> gru(torch.zeros(2, 4), torch.zeros(2, 8), torch.zeros(2, 6)).shape
    torch.Size([2, 8])
    """

    fusible: ClassVar[bool] = True

    def __init__(self, input_size: int, state_size: int, context_size: int) -> None:
        super().__init__()
        for name, size in (("input_size", input_size), ("state_size", state_size), ("context_size", context_size)):
            check_size(name, size)
        self.state_size = state_size
        self.input = nn.Linear(input_size, 3 * state_size)
        self.context = nn.Linear(context_size, 3 * state_size, bias=False)
        self.gates = nn.Linear(state_size, 2 * state_size, bias=False)
        self.candidate = nn.Linear(state_size, state_size, bias=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start with orthogonal recurrent matrices and zero biases, as the paper does (section B.1); others, Glorot."""
        for linear in (self.input, self.context):
            for block in linear.weight.split(self.state_size):
                nn.init.xavier_uniform_(block)
        nn.init.zeros_(self.input.bias)
        for block in (*self.gates.weight.split(self.state_size), self.candidate.weight):
            nn.init.orthogonal_(block)

    def forward(
        self,
        embedding: Float[Tensor, "*batch input_size"],
        state: Float[Tensor, "*batch state_size"],
        context: Float[Tensor, "*batch context_size"],
    ) -> Float[Tensor, "*batch state_size"]:
        """Take one step. A training loop does the same by `project`, once for all words, and `step`."""
        return self.step(self.project(embedding), state, context)

    def project(self, embedding: Float[Tensor, "*batch input_size"]) -> Float[Tensor, "*batch gates"]:
        """Compute what depends on the embeddings alone: W e of the reset, the update and the candidate."""
        if embedding.size(-1) != self.input.in_features:
            raise ArgumentError(f"`embedding` must be {self.input.in_features} wide; received {embedding.size(-1)}.")
        return self.input(embedding)  # type: ignore[no-any-return]

    def step(
        self,
        projected: Float[Tensor, "*batch gates"],
        state: Float[Tensor, "*batch state_size"],
        context: Float[Tensor, "*batch context_size"],
    ) -> Float[Tensor, "*batch state_size"]:
        """Take one step from a projected embedding."""
        for name, tensor, width in (("state", state, self.state_size), ("context", context, self.context.in_features)):
            if tensor.size(-1) != width:
                raise ArgumentError(f"`{name}` must be {width} wide; received {tensor.size(-1)}.")
        inputs = projected + self.context(context)
        for_gates, for_candidate = inputs.split([2 * self.state_size, self.state_size], dim=-1)
        reset, update = torch.sigmoid(for_gates + self.gates(state)).chunk(2, dim=-1)
        candidate = torch.tanh(for_candidate + self.candidate(reset * state))
        return state + update * (candidate - state)
