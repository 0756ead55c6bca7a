"""Chapter 2: feed-forward and recurrent networks, and what they forget."""

import torch
from torch import Tensor, nn

from regard.course.exercise import Case, Exercise, Mistake


def contexts(tokens: Tensor, size: int, padding: int) -> Tensor:
    """Give the `size` tokens before each token: the input of a feed-forward language model.

    `tokens` is (length,), the result (length, size). Row `t` holds the tokens `t − size` to `t − 1`, the nearest last;
    where there is none, `padding`.
    """
    padded = torch.cat([tokens.new_full((size,), padding), tokens])
    return padded.unfold(0, size, 1)[:-1]


def _with_itself(tokens: Tensor, size: int, padding: int) -> Tensor:
    padded = torch.cat([tokens.new_full((size - 1,), padding), tokens])
    return padded.unfold(0, size, 1)


def recurrent_states(inputs: Tensor, input_matrix: Tensor, state_matrix: Tensor) -> Tensor:
    """Run a plain recurrent network over a sequence and give all its states.

    `h_t = tanh(W x_t + U h_{t−1})` from `h_{−1} = 0`. `inputs` is (length, input size), `input_matrix` W is
    (size, input size), `state_matrix` U is (size, size); the result is (length, size).
    """
    network = nn.RNN(inputs.size(-1), state_matrix.size(0), bias=False, batch_first=True)
    with torch.no_grad():
        for parameter, matrix in zip(network.parameters(), (input_matrix, state_matrix), strict=True):
            parameter.copy_(matrix)
        states: Tensor = network(inputs[None])[0][0]
    return states


def _without_memory(inputs: Tensor, input_matrix: Tensor, state_matrix: Tensor) -> Tensor:
    return torch.tanh(inputs @ input_matrix.T)


def _linear(inputs: Tensor, input_matrix: Tensor, state_matrix: Tensor) -> Tensor:
    state, states = torch.zeros(state_matrix.size(0)), []
    for one in inputs:
        state = input_matrix @ one + state_matrix @ state
        states.append(state)
    return torch.stack(states)


def _network_cases() -> list[Case]:
    return [
        {"inputs": torch.randn(length, 2), "input_matrix": torch.randn(3, 2), "state_matrix": torch.randn(3, 3) / 2}
        for length in (1, 2, 5)
    ]


def gradient_after(state_matrix: Tensor, distance: int) -> float:
    """Give the norm of the gradient that reaches back `distance` steps in a linear recurrent network.

    With `h_t = U h_{t−1} + x_t` the derivative of `h_t` by `x_{t−k}` is `U` to the power of `k`. Give its spectral
    norm, the largest factor by which it stretches a vector.
    """
    return float(torch.linalg.matrix_norm(torch.linalg.matrix_power(state_matrix, distance), 2))


def _gradient_cases() -> list[Case]:
    shear = torch.tensor([[0.5, 1.0], [0.0, 0.5]])
    matrices = [torch.tensor([[0.9]]), torch.tensor([[2.0]]), shear, torch.randn(3, 3)]
    return [{"state_matrix": matrix, "distance": distance} for matrix in matrices for distance in (0, 1, 2, 8)]


EXERCISES = (
    Exercise(
        number="2.1",
        title="The window of a feed-forward model",
        reference=contexts,
        cases=lambda: [
            {"tokens": torch.arange(1, length + 1), "size": size, "padding": 0}
            for length, size in ((1, 1), (2, 1), (3, 2), (5, 3), (7, 4))
        ],
        hints=(
            "Put `size` paddings before the tokens.",
            "`Tensor.unfold(0, size, 1)` gives every window of neighbors; the last one predicts what comes after "
            "the text.",
        ),
        mistakes=(
            Mistake(
                answer=_with_itself, reason="Row t holds the token it should predict: the window is one too far right."
            ),
        ),
    ),
    Exercise(
        number="2.2",
        title="A recurrent network, step by step",
        reference=recurrent_states,
        cases=_network_cases,
        hints=("A loop over the inputs, with a state that starts at zeros.", "`torch.stack` joins the states."),
        mistakes=(
            Mistake(answer=_without_memory, reason="The state of the step before is left out: no word sees another."),
            Mistake(answer=_linear, reason="The tanh is left out: without it the whole network is one linear map."),
        ),
    ),
    Exercise(
        number="2.3",
        title="How a gradient fades",
        reference=gradient_after,
        cases=_gradient_cases,
        hints=("`torch.linalg.matrix_power`, then `torch.linalg.matrix_norm(…, 2)`.",),
        mistakes=(
            Mistake(
                answer=lambda state_matrix, distance: float(torch.linalg.matrix_norm(state_matrix, 2)) ** distance,
                reason="The norm of a power is at most the power of the norm: that is a bound, not the value.",
            ),
        ),
    ),
)
