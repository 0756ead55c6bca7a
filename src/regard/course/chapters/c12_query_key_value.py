"""Chapter 12: query, key and value."""

import torch
from torch import Tensor

from regard.attention import Dot, attention
from regard.course.exercise import Case, Exercise, Mistake


def self_attention(vectors: Tensor, query_map: Tensor, key_map: Tensor, value_map: Tensor) -> Tensor:
    """Let words attend to one another through three maps.

    `Q = X W_Q`, `K = X W_K`, `V = X W_V`, `Y = softmax(Q Kᵀ) V`. `vectors` X is (words, size), `query_map` and
    `key_map` are (size, key size), `value_map` is (size, value size). Nothing is scaled yet.
    """
    context: Tensor = attention(vectors @ query_map, vectors @ key_map, vectors @ value_map, score=Dot())
    return context


def _unmapped(vectors: Tensor, query_map: Tensor, key_map: Tensor, value_map: Tensor) -> Tensor:
    return torch.softmax(vectors @ query_map @ (vectors @ key_map).T, -1) @ vectors


def _exchanged(vectors: Tensor, query_map: Tensor, key_map: Tensor, value_map: Tensor) -> Tensor:
    return torch.softmax(vectors @ key_map @ (vectors @ query_map).T, -1) @ (vectors @ value_map)


def _map_cases() -> list[Case]:
    return [
        {
            "vectors": torch.randn(words, size),
            "query_map": torch.randn(size, key),
            "key_map": torch.randn(size, key),
            "value_map": torch.randn(size, value),
        }
        for words, size, key, value in ((2, 1, 1, 1), (2, 2, 2, 2), (3, 2, 3, 2), (4, 3, 2, 5))
    ]


def count_parameters(size: int, key_size: int, value_size: int) -> int:
    """Count the numbers that the three maps of 12.1 hold; they have no biases."""
    shapes = ((size, key_size), (size, key_size), (size, value_size))
    return sum(rows * columns for rows, columns in shapes)


def joined_map(query_map: Tensor, key_map: Tensor) -> Tensor:
    """Join the two maps of 12.1 that make the scores into one matrix.

    Give M, (size, size), such that the scores `Q Kᵀ` are `X M Xᵀ` for every X.
    """
    return torch.einsum("ih,jh->ij", query_map, key_map)


EXERCISES = (
    Exercise(
        number="12.1",
        title="Three maps",
        reference=self_attention,
        cases=_map_cases,
        hints=("Map three times, then 11.1 with three matrices in the three roles.",),
        mistakes=(
            Mistake(answer=_unmapped, reason="The values are the vectors themselves: map them too."),
            Mistake(answer=_exchanged, reason="Queries and keys are exchanged: row i must hold the scores of query i."),
        ),
    ),
    Exercise(
        number="12.2",
        title="How many parameters",
        reference=count_parameters,
        cases=lambda: [
            {"size": size, "key_size": key, "value_size": value}
            for size, key, value in ((1, 1, 1), (4, 2, 3), (64, 64, 64), (512, 64, 128))
        ],
        hints=("Queries and keys must have one width, since they are multiplied; values need not.",),
        mistakes=(
            Mistake(
                answer=lambda size, key_size, value_size: size * (key_size + value_size),
                reason="There are three maps: queries and keys have one each.",
            ),
        ),
    ),
    Exercise(
        number="12.3",
        title="One matrix behind two maps",
        reference=joined_map,
        cases=lambda: [
            {"query_map": torch.randn(size, key), "key_map": torch.randn(size, key)}
            for size, key in ((1, 1), (2, 1), (3, 2), (4, 4))
        ],
        hints=("(X W_Q)(X W_K)ᵀ = X (…) Xᵀ.",),
        mistakes=(
            Mistake(
                answer=lambda query_map, key_map: key_map @ query_map.T,
                reason="That is the transpose: queries and keys are exchanged.",
            ),
            Mistake(
                answer=lambda query_map, key_map: query_map.T @ key_map,
                reason="That is (key size, key size): multiply over the key size, not over the size.",
            ),
        ),
    ),
)
