"""Chapter 13: scaling."""

import torch
from torch import Tensor

from regard.attention import ScaledDot
from regard.course.exercise import Case, Exercise, Mistake


def scaled_scores(query: Tensor, key: Tensor) -> Tensor:
    """Give the scaled dot product of every query with every key.

    `e_ij = q_i · k_j / √d`, where d is the width. `query` is (n, d), `key` (m, d); the result is (n, m).
    """
    return ScaledDot().dense(query, key)


def _pair_cases() -> list[Case]:
    shapes = ((1, 1, 4), (1, 2, 2), (2, 3, 4), (3, 4, 9), (2, 2, 16), (4, 5, 8))
    return [{"query": torch.randn(n, size), "key": torch.randn(m, size)} for n, m, size in shapes]


def product_variance(width: int, query_deviation: float, key_deviation: float) -> float:
    """Give the variance of `q · k` for random vectors.

    The `width` features of q and k are independent, with mean zero and the two standard deviations.
    """
    return float(sum((query_deviation * key_deviation) ** 2 for _ in range(width)))


def softmax_derivative(weights: Tensor) -> Tensor:
    """Give the derivative of a softmax by its scores, from its output.

    `∂α_i / ∂e_j = α_i ([i = j] − α_j)`. `weights` is (n,), the result (n, n).
    """
    scores = weights.double().log()
    derivative: Tensor = torch.autograd.functional.jacobian(lambda one: torch.softmax(one, -1), scores)
    return derivative.float()


EXERCISES = (
    Exercise(
        number="13.1",
        title="Divide by the root of the width",
        reference=scaled_scores,
        cases=_pair_cases,
        hints=("`query.size(-1) ** 0.5`.",),
        mistakes=(
            Mistake(
                answer=lambda query, key: query @ key.T / query.size(-1),
                reason="That divides by d: scores would shrink as the width grows, and all weights start nearly equal.",
            ),
            Mistake(answer=lambda query, key: query @ key.T, reason="Nothing is divided."),
            Mistake(
                answer=lambda query, key: query @ key.T / len(key) ** 0.5,
                reason="That divides by the root of the number of keys.",
            ),
        ),
    ),
    Exercise(
        number="13.2",
        title="How large a dot product is",
        reference=product_variance,
        cases=lambda: [
            {"width": width, "query_deviation": one, "key_deviation": other}
            for width, one, other in ((1, 1.0, 1.0), (4, 1.0, 1.0), (4, 2.0, 1.0), (64, 0.5, 3.0))
        ],
        hints=(
            "The variance of a sum of independent terms is the sum of their variances.",
            "That of a product of two independent numbers of mean zero is the product of theirs.",
        ),
        mistakes=(
            Mistake(
                answer=lambda width, query_deviation, key_deviation: width * query_deviation * key_deviation,
                reason="Deviations must be squared to be variances.",
            ),
            Mistake(
                answer=lambda width, query_deviation, key_deviation: width**0.5 * query_deviation * key_deviation,
                reason="That is the standard deviation.",
            ),
        ),
    ),
    Exercise(
        number="13.3",
        title="The derivative of a softmax",
        reference=softmax_derivative,
        cases=lambda: [
            {"weights": torch.tensor([0.5, 0.5])},
            {"weights": torch.tensor([0.9, 0.1])},
            {"weights": torch.softmax(torch.randn(4), -1)},
        ],
        hints=("A diagonal matrix minus an outer product.",),
        mistakes=(
            Mistake(
                answer=lambda weights: torch.diag(weights * (1 - weights)),
                reason="Raising one score also lowers the other weights: the entries beside the diagonal are not zero.",
            ),
        ),
    ),
)
