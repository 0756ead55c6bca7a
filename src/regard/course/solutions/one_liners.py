"""Answers to the puzzles."""

from torch import Tensor

from regard.course.operations import (
    abs,
    arange,
    causal,
    clip,
    exp,
    pi,
    row_max,
    row_sum,
    sin,
    softmax,
    tanh,
    total,
    where,
)


def dot_scores(q: Tensor, k: Tensor) -> Tensor:
    """Answer p.1."""
    return q @ k.T


def scaled_dot_scores(q: Tensor, k: Tensor) -> Tensor:
    """Answer p.2."""
    return q @ k.T / len(q[0]) ** 0.5  # type: ignore[no-any-return]


def softmax_rows(s: Tensor) -> Tensor:
    """Answer p.3."""
    return exp(s - row_max(s)) / row_sum(exp(s - row_max(s)))


def softmax_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Answer p.4."""
    return softmax(q @ k.T / len(q[0]) ** 0.5) @ v


def causal_mask(n: int) -> Tensor:
    """Answer p.5."""
    return arange(n)[:, None] >= arange(n)


def cached_mask(t: int, s: int) -> Tensor:
    """Answer p.6."""
    return arange(t)[:, None] + s - t >= arange(s)


def padding_mask(lengths: Tensor, s: int) -> Tensor:
    """Answer p.7."""
    return arange(s) < lengths[:, None]


def window_mask(n: int, w: int) -> Tensor:
    """Answer p.8."""
    return (arange(n)[:, None] - arange(n)) ** 2 <= w**2


def document_mask(ids: Tensor) -> Tensor:
    """Answer p.9."""
    return ids[:, None] == ids


def masked_softmax(s: Tensor, mask: Tensor) -> Tensor:
    """Answer p.10."""
    return where(mask, softmax(where(mask, s, -1e9)), 0.0)


def alibi_slopes(h: int) -> Tensor:
    """Answer p.11."""
    return 2 ** (-8 * (arange(h) + 1) / h)


def alibi_scores(s: Tensor, m: float) -> Tensor:
    """Answer p.12."""
    return s - m * abs(arange(len(s))[:, None] - arange(len(s)))


def sinusoidal(n: int, d: int) -> Tensor:
    """Answer p.13."""
    return sin(arange(n)[:, None] / 10000 ** (arange(d) // 2 * 2 / d) + arange(d) % 2 * pi / 2)


def clipped_distance(n: int, r: int) -> Tensor:
    """Answer p.14."""
    return clip(arange(n) - arange(n)[:, None], -r, r) + r


def shaw_scores(q: Tensor, k: Tensor, table: Tensor, index: Tensor) -> Tensor:
    """Answer p.15."""
    return q @ k.T + row_sum(q[:, None] * table[index])[..., 0]


def additive_scores(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Answer p.16."""
    return tanh(q[:, None] + k) @ v


def gaussian_scores(q: Tensor, k: Tensor, width: float) -> Tensor:
    """Answer p.17."""
    return -row_sum((q[:, None] - k) ** 2)[..., 0] / (2 * width**2)


def local_p(s: Tensor, d: Tensor, half: float) -> Tensor:
    """Answer p.18."""
    return softmax(where(abs(d) <= half, s, -1e9)) * exp(-2 * d**2 / half**2)


def running_mean(x: Tensor) -> Tensor:
    """Answer p.19."""
    return where(causal(len(x)), 1.0, 0.0) @ x / (arange(len(x)) + 1)[:, None]


def sink_weights(s: Tensor, z: Tensor) -> Tensor:
    """Answer p.20."""
    return exp(s) / (exp(z) + row_sum(exp(s)))


def hop_penalty(a: Tensor) -> Tensor:
    """Answer p.21."""
    return total((a @ a.T - where(arange(len(a))[:, None] == arange(len(a)), 1.0, 0.0)) ** 2)
