"""Where a run stands: plain values, part of every checkpoint."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from regard.training.watch import Validated


@dataclass(kw_only=True)
class State:
    """Everything that decides what comes next, but for tensors and random streams."""

    step: int = 0
    tokens: int = 0
    """Target tokens seen."""
    seconds: float = 0.0
    """Time trained."""
    validations: list[dict[str, float]] = field(default_factory=list)
    skipped: int = 0
    """Updates left out in a row, because the gradient was not finite."""
    largest: int = 0
    """Most cells of a batch that fit into memory, once one did not; 0 is no limit."""
    threads: int = 0
    """CPU threads: sums depend on their number."""
    spent: float = 0.0
    """Seconds spent, validations and checkpoints included: what `train.minutes` limits."""
    share: float = 0.0
    """Share of `train.minutes` that was spent when the last update began; 0 where there is no such limit."""
    steps: int = 0
    """The limit `train.steps` when this was saved; 0 where it was not recorded."""
    minutes: float = 0.0
    """The limit `train.minutes` when this was saved."""
    earlier: int = 0
    """Validations made before the run was given more steps or minutes: patience counts from there."""

    def record(self, validated: Validated) -> None:
        """Keep the figures of a validation."""
        self.validations.append({"step": self.step, "loss": validated.loss, **validated.figures})

    def progress(self) -> float:
        """Give the step that the schedule is at: `step`, or where the minutes are spent sooner, their share of all."""
        return max(float(self.step), self.share * self.steps)

    def set_limits(self, steps: int, minutes: float) -> None:
        """Note the limits of a run; where they are raised, its patience begins anew."""
        longer = minutes > self.minutes or not minutes
        if steps > self.steps > 0 or (self.minutes > 0 and longer):
            self.earlier = len(self.validations)
        self.steps, self.minutes = steps, minutes
        self.share = min(self.share, self.spent / (60 * minutes)) if minutes else 0.0

    def scores(self, metric: str) -> list[float]:
        """Give the validations so far as one number each, higher is better; what is no number is worse than all."""
        values = [-item["loss"] if metric == "loss" else item.get(metric, math.nan) for item in self.validations]
        return [-math.inf if math.isnan(value) else value for value in values]

    def best_step(self, metric: str) -> int:
        """Give the step of the best validation, the first among equals; 0 where there was none."""
        scores = self.scores(metric)
        return int(self.validations[scores.index(max(scores))]["step"]) if scores else 0

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "State":
        """Read what `to_json` gave; anything else is a `TypeError`."""
        state = cls(**values)
        figures = [getattr(state, entry.name) for entry in fields(cls) if entry.name != "validations"]
        for item in state.validations:
            figures += [item["step"], item["loss"], *item.values()]
        if not all(isinstance(value, int | float) for value in figures):
            raise TypeError("figures are no numbers")
        return state


class ValidationClock:
    """Tells when to validate: by steps, or by minutes, of which validations then take a third at most.

    >>> clock = ValidationClock()
    >>> steps = [(9, 10), (10, 41), (41, 52), (70, 80), (90, 101), (101, 110)]
    >>> [clock.is_due(now, before, 10) for before, now in steps]
    [True, False, False, False, True, False]
    """

    def __init__(self) -> None:
        self._validated, self._pause, self._since = False, 0.0, 0.0

    def is_due(self, progress: float, before: float, every: int) -> bool:
        """Return whether to validate now, from the progress and that of a step before; call it once after each step."""
        if self._validated:  # the first step since: the minutes that the validation took count as progress too
            self._pause, self._since, before = progress - before - 1, progress, progress - 1
        self._validated = progress // every > before // every and progress - self._since >= 2 * self._pause
        return self._validated
