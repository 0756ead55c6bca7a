"""Chapter 11: self-attention without parameters."""

import torch
from torch import Tensor

from regard.course.exercise import Case, Exercise, Mistake
from regard.layers import SelfAttention


def mix_by_likeness(vectors: Tensor) -> Tensor:
    """Give each vector as a mixture of all, weighted by likeness: self-attention without parameters.

    `Y = softmax(X Xᵀ) X`, the softmax over the last axis. `vectors` X is (words, size).
    """
    mixed: Tensor = SelfAttention()(vectors[None])
    return mixed[0]


def _scaled(vectors: Tensor) -> Tensor:
    return torch.softmax(vectors @ vectors.T / vectors.size(-1) ** 0.5, -1) @ vectors


def _columns(vectors: Tensor) -> Tensor:
    return torch.softmax(vectors @ vectors.T, 0) @ vectors


def asymmetry(vectors: Tensor) -> float:
    """Measure how far the weights of 11.1 are from symmetric, though the scores X Xᵀ are.

    Give the largest `|α_ij − α_ji|`.
    """
    weights = SelfAttention()(vectors[None], return_weights=True).weights[0]
    return float((weights - weights.T).abs().max())


def _vector_cases() -> list[Case]:
    return [
        {"vectors": torch.eye(2)},
        {"vectors": torch.tensor([[1.0], [2.0]])},
        *({"vectors": torch.randn(shape)} for shape in ((3, 2), (5, 4))),
    ]


def positive_information(counts: Tensor) -> Tensor:
    """Make word vectors from counts of neighbors: positive pointwise mutual information.

    `max(0, log(p(a, b) / (p(a) p(b))))`, where `p(a, b)` is the share of `counts[a, b]` in all counts and `p(a)`,
    `p(b)` are the sums of its rows and columns. Where `counts` is zero the result is zero. `counts` is (words,
    words).
    """
    joint = counts / counts.sum()
    apart = joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True)
    ratio = torch.where(joint > 0, joint / apart.clamp_min(1e-30), torch.ones_like(joint))
    return ratio.log().clamp_min(0)


def _signed_information(counts: Tensor) -> Tensor:
    joint = counts / counts.sum()
    apart = joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True)
    return torch.where(joint > 0, (joint / apart).log(), torch.zeros_like(joint))


def _count_cases() -> list[Case]:
    square = torch.randint(0, 4, (4, 4)).float()
    return [
        {"counts": torch.tensor([[0.0, 2.0], [2.0, 0.0]])},
        {"counts": torch.tensor([[1.0, 2.0], [2.0, 3.0]])},
        {"counts": square + square.T},
    ]


EXERCISES = (
    Exercise(
        number="11.1",
        title="softmax(XXᵀ)X",
        reference=mix_by_likeness,
        cases=_vector_cases,
        hints=("One line: a product, a softmax, a product.",),
        mistakes=(
            Mistake(answer=_scaled, reason="That divides by √d; here nothing is divided."),
            Mistake(answer=_columns, reason="The softmax runs down the columns; each row must sum to one."),
        ),
    ),
    Exercise(
        number="11.2",
        title="Symmetric scores, other weights",
        reference=asymmetry,
        cases=_vector_cases,
        hints=("Each row of the weights is divided by a sum of its own.",),
        mistakes=(
            Mistake(
                answer=lambda vectors: float((vectors @ vectors.T - (vectors @ vectors.T).T).abs().max()),
                reason="That is of the scores, which are symmetric; take the softmax first.",
            ),
        ),
    ),
    Exercise(
        number="11.3",
        title="Vectors from counting",
        reference=positive_information,
        cases=_count_cases,
        hints=(
            "`counts / counts.sum()`, then its sums along both axes with `keepdim=True`.",
            "Where a count is zero the logarithm is −∞, and the larger of it and zero is zero.",
        ),
        mistakes=(
            Mistake(answer=_signed_information, reason="Pairs that are rarer than chance must give zero, not less."),
            Mistake(
                answer=lambda counts: (counts / counts.sum()).clamp_min(1e-30).log().clamp_min(0),
                reason="That is the logarithm of p(a, b) alone; divide by p(a) p(b) first.",
            ),
        ),
    ),
)
