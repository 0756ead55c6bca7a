"""Chapter 17: the Transformer."""

import torch
from torch import Tensor, nn

from regard.config.train import InverseSquareRoot
from regard.course.exercise import Case, Exercise, Mistake
from regard.layers.transformer.residual import Residual
from regard.training.schedule import learning_rate as rate_of_schedule


def normalize_layer(states: Tensor) -> Tensor:
    """Normalize each vector by itself: layer normalization, without a learned scale and shift.

    `(x − mean) / √(variance + 1e-5)` along the last axis; the variance divides by the number of features.
    """
    return nn.functional.layer_norm(states, states.shape[-1:])


def _unbiased(states: Tensor) -> Tensor:
    centered = states - states.mean(-1, keepdim=True)
    return centered / (states.var(-1, keepdim=True) + 1e-5).sqrt()


def _over_words(states: Tensor) -> Tensor:
    centered = states - states.mean(0, keepdim=True)
    return centered / (states.var(0, keepdim=True, unbiased=False) + 1e-5).sqrt()


def residual(states: Tensor, matrix: Tensor, norm: str) -> Tensor:
    """Put a sublayer into a Transformer block, in either of two ways.

    The sublayer is `f(x) = x W`, where `matrix` W is (size, size). `norm="post"`, the paper of 2017:
    `norm(x + f(x))`. `norm="pre"`: `x + f(norm(x))`. The norm is that of 17.1; `states` is (words, size).
    """
    layer = Residual(states.size(-1), norm="pre" if norm == "pre" else "post")
    with torch.no_grad():
        output: Tensor = layer.leave(states, layer.enter(states) @ matrix)
    return output


def _always_pre(states: Tensor, matrix: Tensor, norm: str) -> Tensor:
    return states + normalize_layer(states) @ matrix


def _always_post(states: Tensor, matrix: Tensor, norm: str) -> Tensor:
    return normalize_layer(states + states @ matrix)


def _without_sum(states: Tensor, matrix: Tensor, norm: str) -> Tensor:
    return normalize_layer(states) @ matrix if norm == "pre" else normalize_layer(states @ matrix)


def _block_cases() -> list[Case]:
    return [
        {"states": torch.randn(words, size), "matrix": torch.randn(size, size), "norm": norm}
        for words, size in ((1, 2), (2, 3), (3, 4))
        for norm in ("post", "pre")
    ]


def learning_rate(step: int, size: int, warm_up: int) -> float:
    """Give the learning rate of the paper at a step, counted from 1.

    `size^(−½) · min(step^(−½), step · warm_up^(−3/2))`: it rises along a line, and falls with the root of the step.
    """
    schedule = InverseSquareRoot(rate=(size * warm_up) ** -0.5, warm_up=warm_up)
    return rate_of_schedule(schedule, step, steps=step)


EXERCISES = (
    Exercise(
        number="17.1",
        title="Layer normalization",
        reference=normalize_layer,
        cases=lambda: [{"states": torch.randn(shape)} for shape in ((1, 2), (2, 3), (4, 5))],
        hints=("`mean(-1, keepdim=True)` and `var(-1, keepdim=True, unbiased=False)`.",),
        mistakes=(
            Mistake(answer=_unbiased, reason="The variance divides by n − 1; a layer norm divides by n."),
            Mistake(answer=_over_words, reason="The mean runs over the words; each vector is normalized by itself."),
        ),
    ),
    Exercise(
        number="17.2",
        title="Add and norm, two ways",
        reference=residual,
        cases=_block_cases,
        hints=("Write `norm` as a function of its own first.", "In both ways x itself is added, not its norm."),
        mistakes=(
            Mistake(answer=_always_pre, reason='That is "pre"; in the paper of 2017, "post", the sum is normalized.'),
            Mistake(answer=_always_post, reason='That is "post"; "pre" normalizes what enters the sublayer.'),
            Mistake(
                answer=_without_sum, reason="The input is not added: without it gradients must pass every sublayer."
            ),
        ),
    ),
    Exercise(
        number="17.3",
        title="Warm-up",
        reference=learning_rate,
        cases=lambda: [
            {"step": step, "size": size, "warm_up": warm_up}
            for size, warm_up in ((4, 4), (512, 4000))
            for step in (1, 3, 4, 5, 100, 4000, 20000)
        ],
        tolerance=1e-9,
        hints=("`step ** -0.5` and `step * warm_up ** -1.5` meet where step = warm_up.",),
        mistakes=(
            Mistake(
                answer=lambda step, size, warm_up: size**-0.5 * max(step**-0.5, step * warm_up**-1.5),
                reason="The smaller of the two is taken: with the larger, the rate would start high and grow "
                "without end.",
            ),
            Mistake(
                answer=lambda step, size, warm_up: min(step**-0.5, step * warm_up**-1.5),
                reason="The factor size^(−½) is left out.",
            ),
        ),
    ),
)
