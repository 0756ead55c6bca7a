"""Puzzles 11 to 13: positions; and 18 to 21: what is done with weights."""

import torch
from torch import Tensor

from regard.attention import Alibi, GaussianWindow, Sink, attention
from regard.course.exercise import Case, Exercise, Mistake
from regard.layers import StructuredSelfAttention, sinusoids


def alibi_slopes(h: int) -> Tensor:
    """Give ALiBi's slopes for h heads, a power of two: `2^(−8 (i + 1) / h)` for i = 0, 1, …"""
    return Alibi.of_heads(h).slopes


def alibi_scores(s: Tensor, m: float) -> Tensor:
    """Lower each score by m times the distance of query and key: ALiBi, for one head. `s` is (n, n)."""
    bias = Alibi(slopes=torch.tensor(m)).bias(None, s, s, tuple(s.shape))
    return s + bias


def sinusoidal(n: int, d: int) -> Tensor:
    """Write n positions as waves: `sin(t · 10000^(−2i/d))` in column 2i, the cosine of the same in column 2i + 1.

    The result is (n, d), d even.
    """
    return sinusoids(torch.arange(n), d, dtype=torch.float32)


def local_p(s: Tensor, d: Tensor, half: float) -> Tensor:
    """Give the weights of Luong's local-p attention, from scores and from each key's distance to the center.

    The softmax over the window `|d_ij| ≤ half`, times `exp(−d_ij² / (2 (half/2)²))`. `s` is (n, m), and so is `d`:
    key j is `d_ij = j − p_i` from the center of query i. Every window holds a key.
    """
    key = torch.zeros(s.size(1), 1)
    window = GaussianWindow(center=-d[:, 0], half_width=half)
    return attention(torch.zeros(len(s), 1), key, bias=s, position=window, return_weights=True).weights


def _narrow(s: Tensor, d: Tensor, half: float) -> Tensor:
    weights = torch.softmax(s.masked_fill(d.abs() > half, -1e9), -1)
    return weights * torch.exp(-(d**2) / (2 * half**2))


def sink_weights(s: Tensor, z: Tensor) -> Tensor:
    """Let each row spend weight on nothing: `exp(s_ij) / (exp(z) + Σ_l exp(s_il))`. `s` is (n, m), `z` one number."""
    key = torch.zeros(s.size(1), 1)
    sink = Sink(z)
    return attention(torch.zeros(len(s), 1), key, bias=s, normalize=sink, return_weights=True).weights


def hop_penalty(a: Tensor) -> Tensor:
    """Measure how much the hops overlap, as Lin et al. do: `‖A Aᵀ − I‖²`. `a` is (hops, words); one number."""
    return StructuredSelfAttention.penalty(a[None])[0]


def running_mean(x: Tensor) -> Tensor:
    """Give the mean of all rows up to each row: causal attention that weighs all alike. `x` is (n, d)."""
    return x.cumsum(0) / torch.arange(1, len(x) + 1)[:, None]


def _local_cases() -> list[Case]:
    centers = ([1.0], 1.0, 3), ([0.5, 3.2], 2.0, 5), ([6.0, 2.5, 0.0], 3.0, 7)
    return [
        {"s": torch.randn(len(p), m), "d": torch.arange(m) - torch.tensor(p)[:, None], "half": half}
        for p, half, m in centers
    ]


PUZZLES = (
    Exercise(
        number="p.11",
        title="ALiBi's slopes",
        reference=alibi_slopes,
        cases=lambda: [{"h": h} for h in (1, 2, 4, 8)],
        allowed=("arange",),
        hints=("A power of a tensor is a tensor.",),
        mistakes=(
            Mistake(answer=lambda h: 2.0 ** (-8 * torch.arange(h) / h), reason="The first slope is 2^(−8/h), not 1."),
        ),
    ),
    Exercise(
        number="p.12",
        title="ALiBi",
        reference=alibi_scores,
        cases=lambda: [{"s": torch.randn(n, n), "m": m} for n, m in ((1, 0.5), (2, 0.5), (4, 0.25))],
        allowed=("arange", "abs", "len"),
        hints=("The distance is `abs(arange(n)[:, None] - arange(n))`.",),
        mistakes=(
            Mistake(
                answer=lambda s, m: s - m * (torch.arange(len(s))[:, None] - torch.arange(len(s))),
                reason="The distance has no sign: keys to the right would be preferred.",
            ),
        ),
    ),
    Exercise(
        number="p.13",
        title="Sinusoids",
        reference=sinusoidal,
        cases=lambda: [{"n": n, "d": d} for n, d in ((1, 2), (3, 2), (4, 6))],
        allowed=("arange", "sin", "pi"),
        hints=("There is no cosine here: cos x = sin(x + π/2).", "`arange(d) // 2 * 2` is 0, 0, 2, 2, …"),
        mistakes=(
            Mistake(
                answer=lambda n, d: sinusoids(torch.arange(n), d, order="cos-sin", dtype=torch.float32),
                reason="The cosine comes first; the sine must.",
            ),
        ),
    ),
    Exercise(
        number="p.18",
        title="Local-p",
        reference=local_p,
        cases=_local_cases,
        allowed=("where", "softmax", "exp", "abs"),
        hints=(
            "`abs(d) <= half` is the window; scores outside become −1e9.",
            "2 (half/2)² is half²/2.",
        ),
        mistakes=(Mistake(answer=_narrow, reason="The deviation is half the half-width."),),
    ),
    Exercise(
        number="p.19",
        title="A mean of all that came before",
        reference=running_mean,
        cases=lambda: [{"x": torch.randn(n, 2)} for n in (1, 2, 5)],
        allowed=("arange", "causal", "where", "len"),
        hints=("`where(causal(n), 1.0, 0.0) @ x` adds them up.",),
        mistakes=(
            Mistake(answer=lambda x: x.cumsum(0), reason="That is the sum; divide by how many there are."),
            Mistake(answer=lambda x: x.cumsum(0) / len(x), reason="Row i has i + 1 rows up to it."),
        ),
    ),
    Exercise(
        number="p.20",
        title="A sink",
        reference=sink_weights,
        cases=lambda: [
            {"s": torch.randn(shape), "z": torch.tensor(z)}
            for shape, z in (((1, 2), 0.0), ((2, 3), 1.0), ((3, 4), -2.0))
        ],
        allowed=("exp", "row_sum"),
        hints=("One number more in the sum.",),
        mistakes=(
            Mistake(
                answer=lambda s, z: torch.softmax(s, -1), reason="The sink is left out: rows must sum to less than one."
            ),
        ),
    ),
    Exercise(
        number="p.21",
        title="Lin's penalty",
        reference=hop_penalty,
        cases=lambda: [
            {"a": torch.eye(2)},
            *({"a": torch.softmax(torch.randn(shape), -1)} for shape in ((1, 2), (3, 4))),
        ],
        allowed=("arange", "where", "total", "len", "T"),
        hints=("`where(arange(n)[:, None] == arange(n), 1.0, 0.0)` is the identity.",),
        mistakes=(Mistake(answer=lambda a: (a @ a.T).square().sum(), reason="The identity is not subtracted."),),
    ),
)
