"""The limits of a run, steps and minutes: whether they are raised."""

import math
from dataclasses import replace
from typing import Any

from regard.config.train import Train


def with_limits_of(config: Any, before: Any) -> Any:
    """Give the settings `before` with the steps and minutes of `config`."""
    return replace(before, train=replace(before.train, steps=config.train.steps, minutes=config.train.minutes))


def is_raised(before: Train, after: Train) -> bool:
    """Tell whether a run may go on longer than before; 0 minutes is no limit.

    >>> is_raised(Train(steps=5), Train(steps=9)), is_raised(Train(steps=5, minutes=2), Train(steps=5, minutes=1))
    (True, False)
    """
    longer, shorter = (
        first.steps > second.steps or (first.minutes or math.inf) > (second.minutes or math.inf)
        for first, second in ((after, before), (before, after))
    )
    return longer and not shorter
