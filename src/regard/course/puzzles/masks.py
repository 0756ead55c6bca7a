"""Puzzles 5 to 10: masks, True where a query may attend."""

import torch
from torch import Tensor

from regard.attention import Causal, Documents, Padding, Window, attention
from regard.course.exercise import Exercise, Mistake


def causal_mask(n: int) -> Tensor:
    """Let each of n positions attend to itself and to those before it. The result is (n, n), boolean."""
    return Causal().dense((n, n))


def cached_mask(t: int, s: int) -> Tensor:
    """Make the causal mask of t queries that are the last of s positions. The result is (t, s), boolean."""
    return Causal().dense((t, s))


def padding_mask(lengths: Tensor, s: int) -> Tensor:
    """Allow the first `lengths[b]` of s keys in row b. `lengths` is (batch,), the result (batch, s), boolean."""
    return Padding(lengths).dense((len(lengths), 1, s))[:, 0]


def window_mask(n: int, w: int) -> Tensor:
    """Let each position attend up to w positions to either side. The result is (n, n), boolean."""
    return Window(w, w).dense((n, n))


def document_mask(ids: Tensor) -> Tensor:
    """Let each position attend within its own document. `ids` is (n,), not negative; the result is (n, n)."""
    return Documents(ids).dense((len(ids), len(ids)))


def masked_softmax(s: Tensor, mask: Tensor) -> Tensor:
    """Take the softmax where the mask allows it; a row without an allowed key is all zeros. Both are (n, m)."""
    key = torch.zeros(s.size(1), 1)
    return attention(torch.zeros(len(s), 1), key, bias=s, mask=mask, return_weights=True).weights


PUZZLES = (
    Exercise(
        number="p.5",
        title="A causal mask",
        reference=causal_mask,
        cases=lambda: [{"n": n} for n in (1, 2, 3, 5)],
        allowed=("arange",),
        hints=("Compare a column of positions with a row of them.",),
        mistakes=(
            Mistake(
                answer=lambda n: torch.arange(n)[:, None] <= torch.arange(n),
                reason="That lets positions attend to the future.",
            ),
            Mistake(
                answer=lambda n: torch.arange(n)[:, None] > torch.arange(n),
                reason="A position may attend to itself.",
            ),
        ),
    ),
    Exercise(
        number="p.6",
        title="A causal mask with a cache",
        reference=cached_mask,
        cases=lambda: [{"t": t, "s": s} for t, s in ((1, 1), (1, 3), (2, 3), (3, 6))],
        allowed=("arange",),
        hints=("Query i stands at position i + s − t.",),
        mistakes=(
            Mistake(
                answer=lambda t, s: torch.arange(t)[:, None] >= torch.arange(s),
                reason="The queries are the last positions, not the first.",
            ),
        ),
    ),
    Exercise(
        number="p.7",
        title="Padding",
        reference=padding_mask,
        cases=lambda: [
            {"lengths": torch.tensor([1]), "s": 2},
            {"lengths": torch.tensor([3, 1]), "s": 3},
            {"lengths": torch.tensor([0, 4, 2]), "s": 4},
        ],
        allowed=("arange",),
        hints=("Positions from 0 on are real below the length.",),
        mistakes=(
            Mistake(
                answer=lambda lengths, s: torch.arange(s) <= lengths[:, None],
                reason="One key too many: positions are counted from 0.",
            ),
            Mistake(
                answer=lambda lengths, s: torch.arange(s) >= lengths[:, None],
                reason="That is True at padding, as in nn.MultiheadAttention.",
            ),
        ),
    ),
    Exercise(
        number="p.8",
        title="A window",
        reference=window_mask,
        cases=lambda: [{"n": n, "w": w} for n, w in ((1, 0), (2, 0), (3, 1), (6, 2))],
        allowed=("arange",),
        hints=("There is no absolute value here, but squares of distances can be compared.",),
        mistakes=(
            Mistake(
                answer=lambda n, w: torch.arange(n)[:, None] - torch.arange(n) <= w,
                reason="That allows all of the future: the distance has a sign.",
            ),
        ),
    ),
    Exercise(
        number="p.9",
        title="Packed documents",
        reference=document_mask,
        cases=lambda: [
            {"ids": torch.tensor([0])},
            {"ids": torch.tensor([0, 1])},
            {"ids": torch.tensor([0, 0, 1, 1, 1])},
        ],
        allowed=(),
        hints=("Two positions are in one document where their ids are equal.",),
        mistakes=(
            Mistake(
                answer=lambda ids: ids[:, None] >= ids,
                reason="That lets documents attend to those before them.",
            ),
        ),
    ),
    Exercise(
        number="p.10",
        title="Softmax under a mask",
        reference=masked_softmax,
        cases=lambda: [
            {"s": torch.zeros(1, 2), "mask": torch.tensor([[True, False]])},
            {"s": torch.zeros(1, 2), "mask": torch.tensor([[False, False]])},
            {"s": torch.randn(3, 4), "mask": torch.rand(3, 4) < 0.6},
        ],
        allowed=("softmax", "where"),
        hints=(
            "`where(mask, s, -1e9)` before the softmax leaves nothing to masked keys.",
            "In an empty row all weights are then alike: a second `where` makes them zero.",
        ),
        mistakes=(
            Mistake(
                answer=lambda s, mask: torch.softmax(s, -1) * mask,
                reason="Masked after the softmax, rows sum to less than one.",
            ),
            Mistake(
                answer=lambda s, mask: torch.softmax(s.masked_fill(~mask, -1e9), -1),
                reason="A row without an allowed key must be zeros.",
            ),
        ),
    ),
)
