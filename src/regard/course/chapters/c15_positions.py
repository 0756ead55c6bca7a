"""Chapter 15: positions."""

import torch
from torch import Tensor

from regard.attention import Alibi, Rotary
from regard.course.exercise import Case, Exercise, Mistake
from regard.layers import SinusoidalPositions, sinusoids


def sinusoidal_table(length: int, size: int) -> Tensor:
    """Write positions as waves of many lengths.

    `p(t)_{2i} = sin(ω_i t)`, `p(t)_{2i+1} = cos(ω_i t)`, `ω_i = 10000^(−2i / size)`: sine and cosine of one frequency
    stand beside each other. The result is (length, size), for positions 0, 1, …; `size` is even.
    """
    return sinusoids(torch.arange(length), size, dtype=torch.float32)


def _halves(length: int, size: int) -> Tensor:
    return sinusoids(torch.arange(length), size, order="halves", dtype=torch.float32)


def _cosine_first(length: int, size: int) -> Tensor:
    return sinusoids(torch.arange(length), size, order="cos-sin", dtype=torch.float32)


def _every_frequency(length: int, size: int) -> Tensor:
    angle = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(size) / size)
    return torch.where(torch.arange(size) % 2 == 0, angle.sin(), angle.cos())


def shift_matrix(size: int, offset: int) -> Tensor:
    """Give the matrix that moves sinusoidal positions on by `offset`.

    `M p(t) = p(t + offset)` for every t, with p as in 15.1. The result is (size, size), in blocks of two by two.
    """
    return SinusoidalPositions(size).rotation(offset, dtype=torch.float32)


def turn_pairs(features: Tensor, position: int) -> Tensor:
    """Turn each pair of features by an angle that grows with the position: rotary positions.

    The pair `(x_{2i}, x_{2i+1})` is turned by `θ = position · 10000^(−2i / size)`: the first becomes
    `x_{2i} cos θ − x_{2i+1} sin θ`, the second `x_{2i} sin θ + x_{2i+1} cos θ`. `features` is (size,).
    """
    return Rotary().turn(features[None], torch.tensor([position]))[0]


def _turned_halves(features: Tensor, position: int) -> Tensor:
    return Rotary(layout="halves").turn(features[None], torch.tensor([position]))[0]


def _turned_back(features: Tensor, position: int) -> Tensor:
    return Rotary().turn(features[None], torch.tensor([-position]))[0]


def alibi_bias(heads: int, length: int) -> Tensor:
    """Give what ALiBi adds to the scores.

    `−m_h |i − j|` with `m_h = 2^(−8 (h + 1) / heads)` for head h = 0, 1, …; `heads` is a power of two. The result is
    (heads, length, length).
    """
    query = torch.zeros(heads, length, 1)
    return Alibi.of_heads(heads).bias(None, query, query, (heads, length, length))


def _one_head_early(heads: int, length: int) -> Tensor:
    slopes = 2.0 ** (-8 * torch.arange(heads) / heads)
    distance = (torch.arange(length)[:, None] - torch.arange(length)).abs()
    return -slopes[:, None, None] * distance


def _turn_cases() -> list[Case]:
    return [
        {"features": torch.randn(size), "position": position} for size, position in ((2, 1), (2, 3), (4, 2), (8, 5))
    ]


EXERCISES = (
    Exercise(
        number="15.1",
        title="Sinusoids",
        reference=sinusoidal_table,
        cases=lambda: [{"length": n, "size": size} for n, size in ((1, 2), (2, 2), (3, 4), (5, 6))],
        hints=(
            "size/2 frequencies, `10000 ** (-torch.arange(0, size, 2) / size)`.",
            "`torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)` puts the two beside each other.",
        ),
        mistakes=(
            Mistake(
                answer=_halves, reason="All sines come before all cosines: as the authors' code has it, not the paper."
            ),
            Mistake(answer=_cosine_first, reason="The cosine comes first in each pair; the paper has the sine there."),
            Mistake(answer=_every_frequency, reason="Each feature has a frequency of its own; a pair shares one."),
        ),
    ),
    Exercise(
        number="15.2",
        title="Moving on is a rotation",
        reference=shift_matrix,
        cases=lambda: [{"size": size, "offset": offset} for size, offset in ((2, 0), (2, 1), (4, 3), (6, -2))],
        hints=(
            "sin(ω(t + k)) = sin ωt cos ωk + cos ωt sin ωk.",
            "The block of a frequency is [[cos ωk, sin ωk], [−sin ωk, cos ωk]]; `torch.block_diag` joins them.",
        ),
        mistakes=(
            Mistake(
                answer=lambda size, offset: SinusoidalPositions(size).rotation(-offset, dtype=torch.float32),
                reason="That moves back, not on.",
            ),
        ),
    ),
    Exercise(
        number="15.3",
        title="Rotary",
        reference=turn_pairs,
        cases=_turn_cases,
        hints=("`features[0::2]` and `features[1::2]` are the two of each pair.",),
        mistakes=(
            Mistake(
                answer=_turned_halves,
                reason="The pairs are neighbors, as in the paper; Hugging Face checkpoints pair the two halves.",
            ),
            Mistake(answer=_turned_back, reason="That turns the other way."),
        ),
    ),
    Exercise(
        number="15.4",
        title="ALiBi",
        reference=alibi_bias,
        cases=lambda: [{"heads": heads, "length": n} for heads, n in ((1, 2), (2, 2), (4, 3), (8, 5))],
        hints=("`(torch.arange(n)[:, None] - torch.arange(n)).abs()` is the distance.",),
        mistakes=(
            Mistake(answer=_one_head_early, reason="The first head's slope is 2^(−8/heads), not 1."),
            Mistake(answer=lambda heads, length: -alibi_bias(heads, length), reason="Distance must lower a score."),
        ),
    ),
)
