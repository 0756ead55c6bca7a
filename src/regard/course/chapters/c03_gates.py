"""Chapter 3: gates, LSTM and GRU."""

import math

import torch
from torch import Tensor, nn

from regard.course.exercise import Case, Exercise, Mistake


def update_state(state: Tensor, candidate: Tensor, update: Tensor) -> Tensor:
    """Mix the old state and the candidate as the GRU of Bahdanau's paper does.

    `s_i = (1 − z) ∘ s_{i−1} + z ∘ s̃`, where `z` is `update`, between 0 and 1. All have the same shape.
    """
    return torch.lerp(state, candidate, update)


def _gate_cases() -> list[Case]:
    return [
        {"state": torch.randn(size), "candidate": torch.randn(size), "update": torch.rand(size)} for size in (1, 2, 4)
    ]


def lstm_step(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Take one step of an LSTM from what its four gates add up to, before any nonlinearity.

    `gates` is (4 · size,), in torch's order: input `i`, forget `f`, candidate `g`, output `o`. The first, second and
    fourth pass a sigmoid, the candidate a tanh. `c = f ∘ c + i ∘ g`, `h = o ∘ tanh(c)`. Give `(h, c)`.
    """
    size = cell.numel()
    layer = nn.LSTMCell(4 * size, size, bias=False)
    with torch.no_grad():
        layer.weight_ih.copy_(torch.eye(4 * size))
        layer.weight_hh.zero_()
        state, cell = layer(gates[None], (torch.zeros(1, size), cell[None]))
    return state[0], cell[0]


def _other_order(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    entry, forget, output, candidate = gates.chunk(4)
    cell = forget.sigmoid() * cell + entry.sigmoid() * candidate.tanh()
    return output.sigmoid() * cell.tanh(), cell


def _open_cell(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    entry, forget, candidate, output = gates.chunk(4)
    cell = forget.sigmoid() * cell + entry.sigmoid() * candidate.tanh()
    return output.sigmoid() * cell, cell


def forget_bias(kept: float, steps: int) -> float:
    """Give the bias of a forget gate that keeps a share `kept` of the cell after so many steps.

    A gate with bias `b` and no other input multiplies the cell by `σ(b)` at every step.
    """
    return float(torch.logit(torch.tensor(kept, dtype=torch.float64) ** (1 / steps)))


EXERCISES = (
    Exercise(
        number="3.1",
        title="What the update gate takes",
        reference=update_state,
        cases=_gate_cases,
        hints=("Where z is 1 the candidate is taken whole.",),
        mistakes=(
            Mistake(
                answer=lambda state, candidate, update: update * state + (1 - update) * candidate,
                reason="That is the gate of torch and of Cho et al. (2014): there z keeps the old state. Same "
                "family of "
                "models, other sign.",
            ),
        ),
    ),
    Exercise(
        number="3.2",
        title="One step of an LSTM",
        reference=lstm_step,
        cases=lambda: [{"gates": torch.randn(4 * size), "cell": torch.randn(size)} for size in (1, 2, 3)],
        hints=("`gates.chunk(4)` gives the four parts.", "The cell is updated first; the state reads the new cell."),
        mistakes=(
            Mistake(answer=_other_order, reason="The candidate is the third part and the output gate the fourth."),
            Mistake(answer=_open_cell, reason="The state is o ∘ tanh(c): the tanh keeps it between −1 and 1."),
        ),
    ),
    Exercise(
        number="3.3",
        title="A bias that remembers",
        reference=forget_bias,
        cases=lambda: [{"kept": kept, "steps": steps} for steps in (1, 2, 10, 100) for kept in (0.5, 0.1, 0.9)],
        hints=("σ(b) to the power of `steps` must be `kept`.", "The inverse of the sigmoid is log(p / (1 − p))."),
        mistakes=(
            Mistake(
                answer=lambda kept, steps: math.log(kept / (1 - kept)),
                reason="That gate keeps the share at every step: after n steps its n-th power is left.",
            ),
        ),
    ),
)
