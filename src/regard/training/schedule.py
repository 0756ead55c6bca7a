"""The learning rate of a step: a function of the settings, the step and the validations so far."""

import math
from collections.abc import Sequence
from typing import assert_never

from regard.config.train import Constant, Cosine, InverseSquareRoot, Linear, Plateau, Schedule

LATEST = 0.25
"""Share of a run that is limited by time after which its warm-up ends."""


def learning_rate(
    schedule: Schedule, step: float, *, steps: int, validations: Sequence[float] = (), updates: int | None = None
) -> float:
    r"""Give the rate of update `step`, counted from 1, of `steps`.

    A run limited by time is further than its `updates`. Its warm-up counts updates, since a model that has made few of
    them may not survive the highest rate, however much time they took; but it ends after a quarter of the time.

    It rises as $\eta\, s / w$ for the first $w$ steps (the warm-up), at most to what follows, which is $\eta$ times:
    1 (constant); $\sqrt{w / s}$ (inverse square root); $f + (1 - f) (1 + \cos \pi p) / 2$ (cosine);
    $f + (1 - f) (1 - p)$ (linear); where $p$ goes from 0 to 1 between the warm-up and the last step and $f$ is `final`;
    $\gamma^k$ after $k$ plateaus.
    `validations` are scores so far, higher is better.

    Reference: Vaswani et al. (2017), equation 3, arXiv:1706.03762, for the inverse square root.
    Differs: the highest rate is given, not derived from the width.

    >>> schedule = InverseSquareRoot(rate=1.0, warm_up=100)
    >>> [learning_rate(schedule, step, steps=1000) for step in (50, 100, 400)]
    [0.5, 1.0, 0.5]
    """
    warm_up = schedule.warm_up
    made = step if updates is None else updates
    rising = made / warm_up if made < warm_up else math.inf
    if made < step:
        rising = max(rising, step / steps / LATEST)
    progress = min(1.0, max(0.0, step - warm_up) / max(1, steps - warm_up))
    match schedule:
        case Constant():
            share = 1.0
        case InverseSquareRoot():
            share = math.sqrt(max(1, warm_up) / max(1, step))
        case Cosine():
            share = schedule.final + (1 - schedule.final) * (1 + math.cos(math.pi * progress)) / 2
        case Linear():
            share = schedule.final + (1 - schedule.final) * (1 - progress)
        case Plateau():
            share = schedule.factor ** count_plateaus(validations, schedule.patience)
        case _:
            assert_never(schedule)
    return schedule.rate * min(rising, share)


def count_plateaus(scores: Sequence[float], patience: int) -> int:
    """Count how often `patience` scores in a row have not passed the best before them.

    >>> count_plateaus([1, 2, 2, 1, 2, 2], patience=2)
    2
    """
    best, waited, plateaus = -math.inf, 0, 0
    for score in scores:
        if score > best:
            best, waited = score, 0
            continue
        waited += 1
        if waited == patience:
            plateaus, waited = plateaus + 1, 0
    return plateaus


def has_stalled(scores: Sequence[float], patience: int) -> bool:
    """Return whether the last `patience` scores are all no better than the best before them; never for patience 0.

    >>> has_stalled([1, 3, 2, 3], patience=2), has_stalled([1, 3, 2, 4], patience=2)
    (True, False)
    """
    return 0 < patience < len(scores) and max(scores[-patience:]) <= max(scores[:-patience])
