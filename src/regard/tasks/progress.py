"""How a run that was started from Python is shown: by a function of the caller's, or by one line on a terminal."""

import math
import sys
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
    valid: Mapping[str, float] = field(default_factory=dict)
    """The figures of the validation at this step, such as loss and bleu; empty where none was made."""


@runtime_checkable
class Display(Watcher, Protocol):
    """Whoever shows a run, the work before training too."""

    def count(self, doing: str, done: int, *, unit: str, total: int | None = None) -> None:
        """Show how far the work before training is."""


class Reporting:
    """Calls a function with each report of a run."""

    def __init__(self, report: Callable[[Progress], None]) -> None:
        self._report = report
        self._steps, self._loss = 0, math.nan

    def started(self, step: int, steps: int) -> None:
        """Keep how many steps there are to be."""
        del step
        self._steps = steps

    def stepped(self, step: int) -> None:
        """Wait for the report of several."""

    def measured(self, measured: Measured) -> None:
        """Report some steps."""
        self._loss = measured.loss
        self._report(Progress(step=measured.step, steps=self._steps, loss=measured.loss, seconds=measured.seconds))

    def validated(self, validated: Validated, *, best: bool) -> None:
        """Report a validation."""
        del best
        valid = {"loss": validated.loss, **validated.figures}
        self._report(
            Progress(step=validated.step, steps=self._steps, loss=self._loss, seconds=validated.seconds, valid=valid)
        )

    def noted(self, text: str) -> None:
        """Leave notes out."""

    def count(self, doing: str, done: int, *, unit: str, total: int | None = None) -> None:
        """Leave the work before training out."""


class ProgressLine:
    """One line on a terminal, written over and over and gone at the end; nothing where there is no terminal.

    A notebook is none: nothing is written there.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal, self._width = self._stream.isatty(), 0
        self._reporting = Reporting(self._show)

    def started(self, step: int, steps: int) -> None:
        """Pass it on."""
        self._reporting.started(step, steps)

    def stepped(self, step: int) -> None:
        """Wait for the report of several."""

    def measured(self, measured: Measured) -> None:
        """Show the step and the loss."""
        self._reporting.measured(measured)

    def validated(self, validated: Validated, *, best: bool) -> None:
        """Show the figures."""
        self._reporting.validated(validated, best=best)

    def noted(self, text: str) -> None:
        """Leave notes out."""

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
        self._write(f"step {progress.step:,}/{progress.steps:,}  loss {progress.loss:.3f}{figures}")

    def _write(self, text: str) -> None:
        if self._terminal:
            text = text[:100]
            self._stream.write(f"\r{text.ljust(self._width)}")
            self._stream.flush()
            self._width = len(text)
