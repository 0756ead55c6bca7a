"""Chapter 10: Lin's sentence embedding."""

from typing import Any

import torch
from torch import Tensor

from regard.attention import Dot, attention
from regard.course.exercise import Case, Exercise, Mistake
from regard.layers import StructuredSelfAttention


def hop_weights(states: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Give the weights of each hop over the words of a sentence.

    `A = softmax(W₂ tanh(W₁ Hᵀ))`, over the words. `states` H is (words, size), `first` W₁ is (hidden, size), `second`
    W₂ is (hops, hidden); the result is (hops, words).
    """
    return attention(second, torch.tanh(states @ first.T), states, score=Dot(), return_weights=True).weights


def _over_hops(states: Tensor, first: Tensor, second: Tensor) -> Tensor:
    return torch.softmax(second @ torch.tanh(first @ states.T), 0)


def _hop_cases() -> list[Case]:
    return [
        {"states": torch.randn(words, size), "first": torch.randn(hidden, size), "second": torch.randn(hops, hidden)}
        for words, size, hidden, hops in ((2, 1, 1, 1), (3, 2, 2, 2), (5, 4, 3, 3))
    ]


def overlap_penalty(weights: Tensor) -> Tensor:
    """Measure how much the hops attend to the same words.

    `P = ‖A Aᵀ − I‖²`, the sum of the squared entries (Frobenius). `weights` A is (hops, words); the result is one
    number, as a tensor without axes.
    """
    return StructuredSelfAttention.penalty(weights[None])[0]


def weights_without_penalty(hops: int, words: int) -> Tensor:
    """Write down weights of which the penalty of 10.2 is zero.

    Give a matrix (hops, words), hops ≤ words, of rows that are not negative and sum to one.
    """
    return torch.eye(hops, words)


def _accept_rows(received: Any, case: Case) -> str | None:
    shape = (case["hops"], case["words"])
    if tuple(received.shape) != shape:
        return f"The shape must be {shape}; it is {tuple(received.shape)}."
    if (received < 0).any() or not torch.allclose(received.sum(-1), torch.ones(shape[0]), atol=1e-4):
        return "Rows must not be negative, and must sum to one."
    penalty = float(overlap_penalty(received.float()))
    return None if penalty < 1e-5 else f"The penalty must be zero; it is {penalty:.4f}."


EXERCISES = (
    Exercise(
        number="10.1",
        title="Several hops",
        reference=hop_weights,
        cases=_hop_cases,
        hints=("`second @ torch.tanh(first @ states.T)` is (hops, words).",),
        mistakes=(
            Mistake(
                answer=_over_hops,
                reason="The softmax runs over the hops: each word would share itself out among them. It runs over "
                "the words.",
            ),
        ),
    ),
    Exercise(
        number="10.2",
        title="The penalty",
        reference=overlap_penalty,
        cases=lambda: [
            {"weights": torch.eye(2)},
            {"weights": torch.tensor([[0.5, 0.5]])},
            *({"weights": torch.softmax(torch.randn(shape), -1)} for shape in ((2, 3), (3, 5))),
        ],
        hints=("`torch.eye(hops)`, a difference, a square, a sum.",),
        mistakes=(
            Mistake(
                answer=lambda weights: (weights @ weights.T - torch.eye(len(weights))).norm(),
                reason="That is the norm; the penalty is its square.",
            ),
            Mistake(
                answer=lambda weights: (weights.T @ weights - torch.eye(weights.size(1))).square().sum(),
                reason="That compares words with words; A Aᵀ compares hops with hops.",
            ),
        ),
    ),
    Exercise(
        number="10.3",
        title="When the penalty is zero",
        reference=weights_without_penalty,
        cases=lambda: [{"hops": hops, "words": words} for hops, words in ((1, 1), (1, 3), (2, 2), (2, 5), (4, 6))],
        accept=_accept_rows,
        hints=(
            "The diagonal of A Aᵀ is one where a row's squares sum to one. Which rows of sum one have that?",
            "One word a hop, and no two hops at the same word.",
        ),
        mistakes=(
            Mistake(
                answer=lambda hops, words: torch.full((hops, words), 1 / words),
                reason="All hops are alike.",
            ),
        ),
    ),
)
