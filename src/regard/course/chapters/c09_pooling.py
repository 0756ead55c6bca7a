"""Chapter 9: attention as pooling, and kernels."""

import torch
from torch import Tensor

from regard.attention import Gaussian, Mean, Padding, attention
from regard.course.exercise import Case, Exercise, Mistake


def kernel_regression(query: Tensor, inputs: Tensor, outputs: Tensor, width: float) -> Tensor:
    """Guess the value at each query from noisy points, weighted by nearness: Nadaraya-Watson regression.

    The weight of a point is the softmax of `−(x − x_i)² / (2 σ²)`. `query` is (n,), `inputs` and `outputs` are
    (points,), `width` is σ; the result is (n,).
    """
    context: Tensor = attention(query[:, None], inputs[:, None], outputs[:, None], score=Gaussian(width))
    return context[:, 0]


def _wide(query: Tensor, inputs: Tensor, outputs: Tensor, width: float) -> Tensor:
    return torch.softmax(-((query[:, None] - inputs) ** 2) / (2 * width), -1) @ outputs


def _by_points(query: Tensor, inputs: Tensor, outputs: Tensor, width: float) -> Tensor:
    return torch.softmax(-((query[:, None] - inputs) ** 2) / (2 * width**2), 0) @ outputs


def _regression_cases() -> list[Case]:
    return [
        {"query": torch.randn(n), "inputs": torch.randn(points), "outputs": torch.randn(points), "width": width}
        for n, points, width in ((1, 2, 2.0), (2, 3, 0.5), (4, 6, 0.3))
    ]


def guess_from_others(inputs: Tensor, outputs: Tensor, width: float) -> Tensor:
    """Guess each point from the others alone, which is how a width is chosen.

    As in 9.1, but the query is the point itself, and its own value must not be used. Both are (points,), with at least
    two points.
    """
    others = ~torch.eye(len(inputs), dtype=torch.bool)
    key = inputs[:, None]
    context: Tensor = attention(key, key, outputs[:, None], score=Gaussian(width), mask=others)
    return context[:, 0]


def _with_itself(inputs: Tensor, outputs: Tensor, width: float) -> Tensor:
    return torch.softmax(-((inputs[:, None] - inputs) ** 2) / (2 * width**2), -1) @ outputs


def mean_of_words(vectors: Tensor, lengths: Tensor) -> Tensor:
    """Average the word vectors of each text of a batch, padding left out.

    `vectors` is (batch, length, size), `lengths` (batch,) counts the real words, one at least; the result is
    (batch, size). It is attention that weighs all words alike.
    """
    query = vectors.new_zeros(len(vectors), 1, vectors.size(-1))
    context: Tensor = attention(query, vectors, mask=Padding(lengths), normalize=Mean())
    return context.squeeze(1)


def _pooled_cases() -> list[Case]:
    return [
        {"vectors": torch.tensor([[[2.0], [7.0]]]), "lengths": torch.tensor([1])},
        {"vectors": torch.randn(2, 3, 2), "lengths": torch.tensor([3, 1])},
        {"vectors": torch.randn(3, 5, 2), "lengths": torch.tensor([5, 2, 4])},
    ]


EXERCISES = (
    Exercise(
        number="9.1",
        title="Nadaraya-Watson",
        reference=kernel_regression,
        cases=_regression_cases,
        hints=(
            "`query[:, None] - inputs` holds all the differences.",
            "Each query's weights sum to one over the points.",
        ),
        mistakes=(
            Mistake(answer=_wide, reason="The width must be squared: σ is in the units of x."),
            Mistake(answer=_by_points, reason="The softmax runs over the queries; it must run over the points."),
        ),
    ),
    Exercise(
        number="9.2",
        title="Each point from the others",
        reference=guess_from_others,
        cases=lambda: [
            {"inputs": torch.randn(n), "outputs": torch.randn(n), "width": width}
            for n, width in ((2, 1.0), (3, 0.5), (6, 0.3))
        ],
        hints=("Mask the diagonal of the scores: `masked_fill(torch.eye(n).bool(), -torch.inf)`.",),
        mistakes=(
            Mistake(
                answer=_with_itself,
                reason="Each point uses its own value: the best width would be zero, and nothing would be learned.",
            ),
        ),
    ),
    Exercise(
        number="9.3",
        title="A mean without padding",
        reference=mean_of_words,
        cases=_pooled_cases,
        hints=("Set padding to zero, add up, and divide by the number of real words.",),
        mistakes=(
            Mistake(
                answer=lambda vectors, lengths: vectors.mean(1),
                reason="Padding is averaged too.",
            ),
            Mistake(
                answer=lambda vectors, lengths: (
                    vectors * (torch.arange(vectors.size(1)) < lengths[:, None])[..., None]
                ).mean(1),
                reason="The sum is that of the real words, but it is divided by the padded length.",
            ),
        ),
    ),
)
