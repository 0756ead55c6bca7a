"""Sums over the steps since the last line of figures: saved in checkpoints, so that a resumed run's line is whole."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from regard.training.update import Update


@dataclass
class Tally:
    """Sums of one process; the rate and the norm are those of the last step."""

    loss: float = 0.0
    cross_entropy: float = 0.0
    tokens: float = 0.0
    seconds: float = 0.0
    rate: float = 0.0
    gradient_norm: float = 0.0

    def add(self, update: Update, seconds: float) -> None:
        """Count a step."""
        self.loss += update.loss
        self.cross_entropy += update.cross_entropy
        self.tokens += update.tokens
        self.seconds += seconds
        self.rate, self.gradient_norm = update.rate, update.gradient_norm

    def to_json(self) -> dict[str, float]:
        """Give plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Tally":
        """Read what `to_json` gave; anything else is a `TypeError`."""
        if not all(isinstance(value, int | float) for value in values.values()):
            raise TypeError("sums are no numbers")
        return cls(**values)
