"""Chapter 7: Luong's attention, global and local."""

import torch
from torch import Tensor

from regard.attention import Bilinear, GaussianWindow, attention
from regard.course.exercise import Case, Exercise, Mistake


def general_scores(state: Tensor, memory: Tensor, matrix: Tensor) -> Tensor:
    """Score every memory against one state by Luong's general score.

    `e_j = sᵀ W h_j`. `state` s is (state size,), `memory` h is (length, memory size), `matrix` W is
    (state size, memory size); the result is (length,).
    """
    return Bilinear(matrix).dense(state[None], memory)[0]


def _dot(state: Tensor, memory: Tensor, matrix: Tensor) -> Tensor:
    return memory @ state


def _turned(state: Tensor, memory: Tensor, matrix: Tensor) -> Tensor:
    return memory @ (matrix @ state)


def _general_cases() -> list[Case]:
    return [
        {"state": torch.randn(state), "memory": torch.randn(length, size), "matrix": torch.randn(state, size)}
        for length, state, size in ((1, 1, 1), (2, 2, 2), (3, 2, 4), (5, 3, 3))
    ]


def predicted_position(state: Tensor, length: int, matrix: Tensor, vector: Tensor) -> Tensor:
    """Predict where to attend: the center of local-p attention.

    `p = S · σ(v · tanh(W s))`, where S is `length`, `matrix` W is (hidden, state size) and `vector` v is (hidden,). The
    result is one number, as a tensor without axes.
    """
    return length * torch.sigmoid(vector @ torch.tanh(matrix @ state))


def _position_cases() -> list[Case]:
    return [
        {"state": torch.randn(2), "length": length, "matrix": torch.randn(3, 2), "vector": torch.randn(3)}
        for length in (1, 6, 20)
    ]


def local_weights(scores: Tensor, center: float, half_width: float) -> Tensor:
    """Give the weights of local-p attention around a predicted center, as printed in the paper.

    `scores` is (length,). The softmax runs over the window `|j − p| ≤ D` alone, and its weights are then multiplied by
    `exp(−(j − p)² / (2 (D/2)²))`; they are not normalized again. `center` is p, `half_width` is D.
    """
    window = GaussianWindow(center=torch.tensor([center]), half_width=half_width)
    key = torch.zeros(len(scores), 1)
    return attention(key[:1], key, bias=scores[None], position=window, return_weights=True).weights[0]


def _window(scores: Tensor, center: float, half_width: float) -> tuple[Tensor, Tensor]:
    distance = torch.arange(len(scores)) - center
    return torch.softmax(scores.masked_fill(distance.abs() > half_width, -torch.inf), -1), distance


def _sharp(scores: Tensor, center: float, half_width: float) -> Tensor:
    weights, distance = _window(scores, center, half_width)
    return weights * torch.exp(-(distance**2) / (2 * half_width**2))


def _normalized(scores: Tensor, center: float, half_width: float) -> Tensor:
    weights, distance = _window(scores, center, half_width)
    weights = weights * torch.exp(-(distance**2) / (2 * (half_width / 2) ** 2))
    return weights / weights.sum()


def _everywhere(scores: Tensor, center: float, half_width: float) -> Tensor:
    distance = torch.arange(len(scores)) - center
    return torch.softmax(scores, -1) * torch.exp(-(distance**2) / (2 * (half_width / 2) ** 2))


def _window_cases() -> list[Case]:
    return [
        {"scores": torch.zeros(3), "center": 1.0, "half_width": 1.0},
        {"scores": torch.randn(5), "center": 1.5, "half_width": 2.0},
        {"scores": torch.randn(8), "center": 6.2, "half_width": 3.0},
    ]


EXERCISES = (
    Exercise(
        number="7.1",
        title="The general score",
        reference=general_scores,
        cases=_general_cases,
        hints=("`state @ matrix` is as wide as a memory.",),
        mistakes=(
            Mistake(answer=_dot, reason="That is the score dot: the matrix is left out, and widths must be equal."),
            Mistake(answer=_turned, reason="That is hᵀ W s: the matrix is taken from the wrong side."),
        ),
    ),
    Exercise(
        number="7.2",
        title="Where to attend",
        reference=predicted_position,
        cases=_position_cases,
        hints=("The sigmoid gives a share of the sentence, from 0 to 1.",),
        mistakes=(
            Mistake(
                answer=lambda state, length, matrix, vector: (
                    (length - 1) * torch.sigmoid(vector @ torch.tanh(matrix @ state))
                ),
                reason="The paper multiplies by the length S, not by S − 1.",
            ),
            Mistake(
                answer=lambda state, length, matrix, vector: length * (vector @ torch.tanh(matrix @ state)),
                reason="Without the sigmoid the center may lie outside the sentence.",
            ),
        ),
    ),
    Exercise(
        number="7.3",
        title="Local-p weights",
        reference=local_weights,
        cases=_window_cases,
        hints=(
            "Set the scores outside the window to −∞, take the softmax, multiply by the Gaussian.",
            "The Gaussian's deviation is half of `half_width`.",
        ),
        mistakes=(
            Mistake(answer=_sharp, reason="The deviation is D/2, not D."),
            Mistake(
                answer=_normalized, reason="The paper does not normalize again: rows of local-p sum to less than one."
            ),
            Mistake(answer=_everywhere, reason="The softmax must run over the window alone."),
        ),
    ),
)
