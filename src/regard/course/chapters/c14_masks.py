"""Chapter 14: masks."""

import torch
from torch import Tensor

from regard.attention import Causal, Documents, Window, attention, from_torch_mha
from regard.course.exercise import Case, Exercise, Mistake


def causal_mask(queries: int, keys: int) -> Tensor:
    """Make a causal mask: each query may attend to its own position and before.

    The result is boolean, (queries, keys), True where a query may attend. Where there are fewer queries than keys, as
    in decoding with a cache, the queries are the *last* positions: the last query may attend to every key.
    """
    return Causal().dense((queries, keys))


def masked_weights(scores: Tensor, mask: Tensor) -> Tensor:
    """Turn scores into weights where a mask allows it.

    Both are (queries, keys); the mask is True where a query may attend. Each row of weights sums to one over the
    allowed keys. A row without any allowed key is all zeros.
    """
    zeros = torch.zeros(len(scores), 1)
    key = torch.zeros(scores.size(1), 1)
    return attention(zeros, key, bias=scores, mask=mask, return_weights=True).weights


def _after(scores: Tensor, mask: Tensor) -> Tensor:
    return torch.softmax(scores, -1) * mask


def _empty_rows(scores: Tensor, mask: Tensor) -> Tensor:
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), -1)


def _large_negative(scores: Tensor, mask: Tensor) -> Tensor:
    return torch.softmax(scores.masked_fill(~mask, -1e9), -1)


def _mask_cases() -> list[Case]:
    return [
        {"scores": torch.zeros(1, 2), "mask": torch.tensor([[True, False]])},
        {"scores": torch.zeros(1, 2), "mask": torch.tensor([[False, False]])},
        *({"scores": torch.randn(shape), "mask": torch.rand(shape) < 0.6} for shape in ((2, 3), (4, 4))),
    ]


def packed_mask(documents: Tensor, window: int) -> Tensor:
    """Make the mask of several texts packed into one row, each with causal attention over a window.

    `documents` is (length,) and names the text of each position. A position may attend to itself and to the `window`
    positions before it, within its own text. The result is (length, length), True where it may attend.
    """
    shape = (len(documents), len(documents))
    return (Documents(documents) & Window(window, 0)).dense(shape)


def allowed(ignored: Tensor) -> Tensor:
    """Turn a padding mask of `nn.MultiheadAttention` into one of `regard`.

    `ignored` is (batch, keys), True at padding. The result is True where a query may attend, and has an axis for heads
    and one for queries, so that it broadcasts: (batch, 1, 1, keys).
    """
    return from_torch_mha(key_padding_mask=ignored)


EXERCISES = (
    Exercise(
        number="14.1",
        title="A causal mask",
        reference=causal_mask,
        cases=lambda: [{"queries": q, "keys": k} for q, k in ((1, 1), (1, 3), (2, 2), (2, 3), (4, 6))],
        hints=("Query i stands at position i + keys − queries.", "`torch.tril` has an argument `diagonal`."),
        mistakes=(
            Mistake(
                answer=lambda queries, keys: torch.ones(queries, keys).tril().bool(),
                reason="That puts the first query at the first key; the ends must align.",
            ),
            Mistake(
                answer=lambda queries, keys: torch.ones(queries, keys).triu(1).bool(),
                reason="That is True where a query may *not* attend, as in nn.MultiheadAttention.",
            ),
        ),
    ),
    Exercise(
        number="14.2",
        title="Mask before the softmax",
        reference=masked_weights,
        cases=_mask_cases,
        hints=(
            "Masked scores become −∞ before the softmax.",
            "The softmax of a row of −∞ is NaN: set such rows to zero afterwards.",
        ),
        mistakes=(
            Mistake(
                answer=_after,
                reason="Masked after the softmax, rows sum to less than one, and what was masked has changed the "
                "others.",
            ),
            Mistake(answer=_empty_rows, reason="A row without an allowed key is NaN; it must be zeros."),
            Mistake(
                answer=_large_negative,
                reason="A row without an allowed key attends to all keys alike; it must be zeros.",
            ),
        ),
    ),
    Exercise(
        number="14.3",
        title="Packed texts",
        reference=packed_mask,
        cases=lambda: [
            {"documents": torch.tensor([0]), "window": 2},
            {"documents": torch.tensor([0, 0, 1]), "window": 2},
            {"documents": torch.tensor([0, 0, 0, 1, 1]), "window": 1},
            {"documents": torch.tensor([0, 1, 1, 1, 1, 2, 2]), "window": 2},
        ],
        hints=("Three conditions joined by `&`: the same text, not later, not too far back.",),
        mistakes=(
            Mistake(
                answer=lambda documents, window: Window(window, 0).dense((len(documents), len(documents))),
                reason="Positions attend to other texts.",
            ),
            Mistake(
                answer=lambda documents, window: (Documents(documents) & Window(window - 1, 0)).dense(
                    (len(documents), len(documents))
                ),
                reason="The window is one too short: `window` positions before it, and itself.",
            ),
        ),
    ),
    Exercise(
        number="14.4",
        title="What True means",
        reference=allowed,
        cases=lambda: [
            {"ignored": torch.tensor([[False, True]])},
            {"ignored": torch.tensor([[False, False, True], [False, True, True]])},
        ],
        hints=("`~` turns True and False around; `[:, None, None]` puts axes in.",),
        mistakes=(
            Mistake(
                answer=lambda ignored: ignored[:, None, None],
                reason="In nn.MultiheadAttention True means ignore; here it means may attend.",
            ),
        ),
    ),
)
