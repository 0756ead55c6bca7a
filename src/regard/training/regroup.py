"""A run that goes on with another number of processes than it was saved by.

What is learned, the schedule and the position in the data go on. An update takes as many batches as before where the
number of processes divides them, one process accumulating what two computed side by side; else the nearest number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from regard.training.update import Tally


@dataclass(frozen=True, kw_only=True)
class Regrouping:
    """From `before` processes to `now`; `per_update` is the number of batches of an update as the run began."""

    before: int
    now: int
    per_update: int

    @property
    def accumulate(self) -> int:
        """How many batches each process takes for an update.

        >>> [Regrouping(before=2, now=now, per_update=2).accumulate for now in (1, 2, 3)]
        [2, 1, 1]
        """
        return max(1, round(self.per_update / self.now))

    def position(self, batches: Mapping[str, int], *, carrying: bool = False) -> dict[str, int]:
        """Give the position in the data: no batch is left out, and fewer than `now` come again.

        A job that carries a state from batch to batch has other lanes now, and begins the next epoch.

        >>> Regrouping(before=2, now=3, per_update=2).position({"epoch": 1, "batch": 5})
        {'epoch': 1, 'batch': 3}
        """
        if carrying:
            return next_epoch(batches)
        return {**batches, "batch": batches["batch"] * self.before // self.now}

    def tally(self, tallies: Sequence[Mapping[str, Any]], rank: int) -> Tally:
        """Let the first process go on with the sums of all, and the others from zero."""
        several = [Tally.from_json(item) for item in tallies]
        loss, cross_entropy = sum(item.loss for item in several), sum(item.cross_entropy for item in several)
        return replace(several[0], loss=0.0 if rank else loss, cross_entropy=0.0 if rank else cross_entropy)

    def note(self) -> str:
        """Say what changes."""
        count = self.now * self.accumulate
        same = f"An update takes {count} batches, as before"
        other = f"An update takes {count} batches instead of {self.per_update}, so that the result is another"
        return (
            f"The run was saved by {self.before} processes and goes on with {self.now}. "
            f"{same if count == self.per_update else other}."
        )


def next_epoch(batches: Mapping[str, int]) -> dict[str, int]:
    """Give the beginning of the epoch after this one."""
    return {**batches, "epoch": batches["epoch"] + 1, "batch": 0}
