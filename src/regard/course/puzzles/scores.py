"""Puzzles 1 to 4 and 14 to 17: scores, and what becomes of them."""

import torch
from torch import Tensor

from regard.attention import Additive, Dot, Gaussian, ScaledDot, Shaw, attention
from regard.course.exercise import Case, Exercise, Mistake


def dot_scores(q: Tensor, k: Tensor) -> Tensor:
    """Compare every query with every key: all dot products. `q` is (n, d), `k` is (m, d), the result (n, m)."""
    return Dot().dense(q, k)


def scaled_dot_scores(q: Tensor, k: Tensor) -> Tensor:
    """Divide the dot products by the root of the width d. `q` is (n, d), `k` is (m, d)."""
    return ScaledDot().dense(q, k)


def pairs() -> list[Case]:
    """Give queries and keys."""
    return [{"q": torch.randn(n, d), "k": torch.randn(m, d)} for n, m, d in ((1, 2, 1), (2, 2, 4), (3, 4, 2))]


def softmax_rows(s: Tensor) -> Tensor:
    """Make each row of scores positive with a sum of one, also where scores are in the thousands. `s` is (n, m)."""
    return torch.softmax(s, -1)


def softmax_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attend: scaled dot products, softmax, weighted sum. `q` is (n, d), `k` is (m, d), `v` is (m, e)."""
    context: Tensor = attention(q, k, v)
    return context


def additive_scores(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Score as Bahdanau: `v · tanh(q_i + k_j)`. `q` is (n, d), `k` is (m, d), both mapped already, `v` is (d,)."""
    return Additive(v).dense(q, k)


def gaussian_scores(q: Tensor, k: Tensor, width: float) -> Tensor:
    """Score by nearness: `−‖q_i − k_j‖² / (2 width²)`. `q` is (n, d), `k` is (m, d)."""
    return Gaussian(width).dense(q, k)


def clipped_distance(n: int, r: int) -> Tensor:
    """Number the distances for a table of 2r + 1 rows: `clip(j − i, −r, r) + r`. The result is (n, n)."""
    distance = torch.arange(n) - torch.arange(n)[:, None]
    return distance.clamp(-r, r) + r


def shaw_scores(q: Tensor, k: Tensor, table: Tensor, index: Tensor) -> Tensor:
    """Score as Shaw: `q_i · (k_j + a_ij)`, where `a_ij` is row `index[i, j]` of `table`. Nothing is scaled.

    `q` and `k` are (n, d), `table` is (2r + 1, d), `index` is (n, n), as puzzle 14 makes it.
    """
    bias = Shaw(keys=table).bias(Dot(), q, k, (len(q), len(k)))
    return Dot().dense(q, k) + bias


def _shaw_cases() -> list[Case]:
    return [
        {
            "q": torch.randn(n, d),
            "k": torch.randn(n, d),
            "table": torch.randn(2 * r + 1, d),
            "index": clipped_distance(n, r),
        }
        for n, d, r in ((1, 1, 1), (2, 2, 1), (4, 3, 2))
    ]


PUZZLES = (
    Exercise(
        number="p.1",
        title="Dot products",
        reference=dot_scores,
        cases=pairs,
        allowed=("T",),
        hints=("One `@` and one `.T`.",),
        mistakes=(Mistake(answer=lambda q, k: k @ q.T, reason="That is the transpose: rows must be queries."),),
    ),
    Exercise(
        number="p.2",
        title="Scaled dot products",
        reference=scaled_dot_scores,
        cases=pairs,
        allowed=("len", "T"),
        hints=("`len(q[0])` is the width; `** 0.5` is the root.",),
        mistakes=(
            Mistake(
                answer=lambda q, k: q @ k.T / len(q[0]), reason="Divide by the root of the width, not by the width."
            ),
        ),
    ),
    Exercise(
        number="p.3",
        title="Softmax",
        reference=softmax_rows,
        cases=lambda: [
            {"s": torch.tensor([[0.0, 1.0]])},
            {"s": torch.tensor([[1000.0, 1000.0]])},
            {"s": torch.randn(3, 4)},
        ],
        allowed=("exp", "row_sum", "row_max"),
        hints=("Subtracting the largest score of a row changes nothing but the size of the numbers.",),
        mistakes=(
            Mistake(
                answer=lambda s: s.exp() / s.exp().sum(-1, keepdim=True),
                reason="exp(1000) is infinite: subtract the largest score of the row first.",
            ),
        ),
    ),
    Exercise(
        number="p.4",
        title="Softmax attention",
        reference=softmax_attention,
        cases=lambda: [{**case, "v": torch.randn(len(case["k"]), 2)} for case in pairs()],
        allowed=("softmax", "len", "T"),
        hints=("Puzzle 2, a softmax, and a product.",),
        mistakes=(
            Mistake(answer=lambda q, k, v: torch.softmax(q @ k.T, -1) @ v, reason="The scores are not scaled."),
            Mistake(
                answer=lambda q, k, v: torch.softmax(q @ k.T / len(k) ** 0.5, -1) @ v,
                reason="Divide by the root of the width, not of the number of keys.",
            ),
        ),
    ),
    Exercise(
        number="p.14",
        title="Clipped distances",
        reference=clipped_distance,
        cases=lambda: [{"n": n, "r": r} for n, r in ((1, 1), (2, 1), (4, 2), (6, 2))],
        allowed=("arange", "clip"),
        hints=("`arange(n) - arange(n)[:, None]` is j − i.",),
        mistakes=(
            Mistake(
                answer=lambda n, r: (torch.arange(n)[:, None] - torch.arange(n)).clamp(-r, r) + r,
                reason="That is i − j: left and right are exchanged.",
            ),
        ),
    ),
    Exercise(
        number="p.15",
        title="Shaw's relative positions",
        reference=shaw_scores,
        cases=_shaw_cases,
        allowed=("row_sum", "T"),
        hints=("`table[index]` is (n, n, d).", "`row_sum(q[:, None] * table[index])[..., 0]` is (n, n)."),
        mistakes=(
            Mistake(
                answer=lambda q, k, table, index: q @ k.T + (q[None] * table[index]).sum(-1),
                reason="The vector of a distance meets the query of its row: `q[:, None]`.",
            ),
        ),
    ),
    Exercise(
        number="p.16",
        title="Bahdanau's score",
        reference=additive_scores,
        cases=lambda: [{**case, "v": torch.randn(case["q"].size(1))} for case in pairs()],
        allowed=("tanh",),
        hints=("`q[:, None] + k` is (n, m, d).",),
        mistakes=(
            Mistake(
                answer=lambda q, k, v: (q[:, None] + k) @ v,
                reason="Without the tanh the weights do not depend on the query.",
            ),
        ),
    ),
    Exercise(
        number="p.17",
        title="A Gaussian kernel",
        reference=gaussian_scores,
        cases=lambda: [{**case, "width": width} for case, width in zip(pairs(), (1.0, 0.5, 2.0), strict=True)],
        allowed=("row_sum",),
        hints=("The squared distance is `row_sum((q[:, None] - k) ** 2)`, with one axis too many.",),
        mistakes=(
            Mistake(
                answer=lambda q, k, width: torch.cdist(q, k) / (-2 * width**2),
                reason="The distance must be squared.",
            ),
            Mistake(
                answer=lambda q, k, width: torch.cdist(q, k) ** 2 / (-2 * width),
                reason="The width must be squared.",
            ),
        ),
    ),
)
