"""How far a run is, and how one that was started from Python is shown: by a function of the caller's, or by a line."""

import logging
import math
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TextIO, runtime_checkable

from regard.training.watch import Measured, Validated, Watcher


@dataclass(frozen=True, kw_only=True)
class Progress:
    """A moment of a run: some steps were made, or a validation."""

    step: int
    steps: int
    """How many there are to be, at most."""
    loss: float
    """What is minimized, over the steps since the last report; NaN before the first one."""
    seconds: float
    """Time trained, interruptions left out."""
    share: float = 0.0
    """How much of the run is done, from 0 to 1: the share of its steps or of its minutes, whichever is larger."""
    valid: Mapping[str, float] = field(default_factory=dict)
    """The figures of the validation at this step, such as loss and bleu; empty where none was made."""


class Limits:
    """How much of a run is done: the share of its steps, or where `train.minutes` ends sooner, of its time."""

    def __init__(self) -> None:
        self.minutes, self.steps = 0.0, 0
        self._begun, self._before = time.monotonic(), 0.0

    def start(self, steps: int) -> None:
        """Begin, or go on; the time spent before is known when something is `measured`."""
        self.steps, self._begun = steps, time.monotonic()

    def measure(self, seconds: float) -> None:
        """Take note of the time trained in all."""
        self._before = max(self._before, seconds - (time.monotonic() - self._begun))

    @property
    def seconds(self) -> float:
        """Time spent, that of earlier calls too."""
        return self._before + time.monotonic() - self._begun

    @property
    def time_share(self) -> float:
        """The share of the minutes that is spent; 0 where there is no such limit."""
        return min(1.0, self.seconds / (60 * self.minutes)) if self.minutes else 0.0

    def share(self, step: int) -> float:
        """Give how much is done after a step, from 0 to 1.

        >>> limits = Limits()
        >>> limits.start(200)
        >>> limits.share(50)
        0.25
        """
        return max(min(1.0, step / self.steps) if self.steps else 0.0, self.time_share)

    def describe(self, step: int) -> str:
        """Give the limit that comes first and how far it is reached."""
        if self.time_share <= (step / self.steps if self.steps else 0.0):
            return f"{step:,}/{self.steps:,}"
        return f"{describe_seconds(self.seconds)}/{describe_seconds(60 * self.minutes)}, step {step:,}"


def describe_seconds(seconds: float) -> str:
    """Write a time as minutes and seconds, or with hours before them.

    >>> describe_seconds(75), describe_seconds(3675)
    ('1:15', '1:01:15')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@runtime_checkable
class Display(Watcher, Protocol):
    """Whoever shows a run, the work before training too."""

    def limit(self, minutes: float) -> None:
        """Take the time that training may take; 0 is no limit."""

    def count(self, doing: str, done: int, *, unit: str, total: int | None = None) -> None:
        """Show how far the work before training is."""


class Reporting:
    """Calls a function with each report of a run."""

    def __init__(self, report: Callable[[Progress], None]) -> None:
        self._report = report
        self._limits, self._loss = Limits(), math.nan

    def limit(self, minutes: float) -> None:
        """Keep the time that training may take."""
        self._limits.minutes = minutes

    def started(self, step: int, steps: int) -> None:
        """Keep how many steps there are to be."""
        del step
        self._limits.start(steps)

    def stepped(self, step: int) -> None:
        """Wait for the report of several."""

    def measured(self, measured: Measured) -> None:
        """Report some steps."""
        self._loss = measured.loss
        self._limits.measure(measured.seconds)
        self._report(self._progress(measured.step, measured.seconds, {}))

    def validated(self, validated: Validated, *, best: bool) -> None:
        """Report a validation."""
        del best
        valid = {"loss": validated.loss, **validated.figures}
        self._report(self._progress(validated.step, validated.seconds, valid))

    def noted(self, text: str) -> None:
        """Log, under the name regard, what the command prints: what was left out of the data, which model suits."""
        logging.getLogger("regard").info(text)

    def count(self, doing: str, done: int, *, unit: str, total: int | None = None) -> None:
        """Leave the work before training out."""

    def _progress(self, step: int, seconds: float, valid: Mapping[str, float]) -> Progress:
        return Progress(
            step=step,
            steps=self._limits.steps,
            loss=self._loss,
            seconds=seconds,
            share=self._limits.share(step),
            valid=valid,
        )


class ProgressLine(Reporting):
    """One line, written over and over, on a terminal or in a notebook; nothing elsewhere.

    On a terminal it is gone at the end.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__(self._show)
        self._stream, self._width = stream or sys.stderr, 0
        notebook = type(self._stream).__module__.startswith("ipykernel")  # which obeys a carriage return too
        self._is_live = notebook or self._stream.isatty()

    def count(self, doing: str, done: int, *, unit: str, total: int | None = None) -> None:
        """Show how far the work before training is."""
        self._write(f"{doing}: {done:,}{f' of {total:,}' if total is not None else ''} {unit}")

    def close(self) -> None:
        """Take the line away."""
        if self._width:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def _show(self, progress: Progress) -> None:
        figures = "".join(f"  valid {name} {value:.3f}" for name, value in progress.valid.items())
        step = f"step {progress.step:,}/{progress.steps:,}"
        share = f" ({100 * progress.share:.0f} %)" if self._limits.minutes else ""
        self._write(f"{step}{share}  loss {progress.loss:.3f}{figures}")

    def _write(self, text: str) -> None:
        if self._is_live:
            text = text[:100]
            self._stream.write(f"\r{text.ljust(self._width)}")
            self._stream.flush()
            self._width = len(text)
