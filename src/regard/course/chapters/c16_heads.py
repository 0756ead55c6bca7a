"""Chapter 16: many heads."""

import torch
from torch import Tensor

from regard.attention import attention
from regard.course.exercise import Case, Exercise, Mistake
from regard.layers import MultiHeadAttention


def split_heads(vectors: Tensor, heads: int) -> Tensor:
    """Divide the width of vectors among heads.

    `vectors` is (batch, words, size); the result is (batch, heads, words, size / heads), and head h has the features
    h · size / heads and so on, side by side.
    """
    parts: Tensor = vectors.unflatten(-1, (heads, -1))
    return parts.transpose(1, 2)


def multi_head(query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
    """Attend with several heads at once, from queries, keys and values that are mapped already.

    All are (words, size). Each head attends by scaled dot products over its own share of the features, as 16.1 divides
    them; the contexts of the heads are joined again, (words, size). There is no output map.
    """
    parts = [split_heads(one[None], heads) for one in (query, key, value)]
    context: Tensor = attention(*parts)
    return context[0].transpose(0, 1).flatten(1)


def _by_whole_width(query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
    one, two, three = (split_heads(part[None], heads) for part in (query, key, value))
    weights = torch.softmax(one @ two.mT / query.size(-1) ** 0.5, -1)
    return (weights @ three)[0].transpose(0, 1).flatten(1)


def _one_head(query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
    context: Tensor = attention(query, key, value)
    return context


def _head_cases() -> list[Case]:
    return [
        {"query": torch.randn(n, size), "key": torch.randn(n, size), "value": torch.randn(n, size), "heads": heads}
        for n, size, heads in ((2, 2, 1), (2, 2, 2), (3, 4, 2), (4, 6, 3))
    ]


def multi_head_parameters(size: int, heads: int) -> int:
    """Count the parameters of multi-head self-attention: four maps of `size` to `size`, each with a bias."""
    return sum(one.numel() for one in MultiHeadAttention(size, heads).parameters())


EXERCISES = (
    Exercise(
        number="16.1",
        title="Divide the width",
        reference=split_heads,
        cases=lambda: [
            {"vectors": torch.arange(float(b * n * size)).view(b, n, size), "heads": heads}
            for b, n, size, heads in ((1, 1, 2, 2), (1, 2, 4, 2), (2, 3, 6, 3))
        ],
        hints=("First cut the last axis in two, then move the axis of the heads before that of the words.",),
        mistakes=(
            Mistake(
                answer=lambda vectors, heads: vectors.reshape(len(vectors), heads, vectors.size(1), -1),
                reason="A reshape alone mixes words: cut the last axis, then transpose.",
            ),
        ),
    ),
    Exercise(
        number="16.2",
        title="Heads side by side",
        reference=multi_head,
        cases=_head_cases,
        hints=(
            "Split, attend with the heads as a batch, and undo the split.",
            "Each head divides its scores by the root of its own width.",
        ),
        mistakes=(
            Mistake(
                answer=_by_whole_width, reason="Scores are divided by √size; a head compares size / heads features."
            ),
            Mistake(answer=_one_head, reason="That is one head over the whole width."),
        ),
    ),
    Exercise(
        number="16.3",
        title="What heads cost",
        reference=multi_head_parameters,
        cases=lambda: [{"size": size, "heads": heads} for size, heads in ((2, 1), (2, 2), (64, 1), (64, 8))],
        hints=("Does the number depend on `heads`?",),
        mistakes=(
            Mistake(
                answer=lambda size, heads: heads * 4 * (size * size + size),
                reason="Heads divide the width among them: their number changes nothing.",
            ),
            Mistake(answer=lambda size, heads: 4 * size * size, reason="The biases are left out."),
        ),
    ),
)
