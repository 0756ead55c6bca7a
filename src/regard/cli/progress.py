"""The progress of training: a live line on a terminal, a line for each validation elsewhere; always on stderr."""

import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.status import Status
from rich.text import Text

from regard.cli.sample_attention import draw_looks
from regard.cli.terminal import is_live, sanitize
from regard.training.watch import Measured, Validated


class Progress:
    """Shows what a run tells."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False, quiet=quiet, soft_wrap=True)
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._status: Status | None = None
        self._begun = self._last_line = time.monotonic()
        self._first, self._steps, self._training = 0, 0, ""

    def say(self, text: str) -> None:
        """Write a line."""
        self._last_line = time.monotonic()
        self._console.print(Text(sanitize(text, keep="\n")))

    def count(self, doing: str, done: int, *, unit: str = "pairs", total: int | None = None) -> None:
        """Show how far the work before training is, once it takes a while."""
        now = time.monotonic()
        line = f"{doing}: {done:,} {unit}" if total is None else f"{doing}: {done:,} of {total:,} {unit}"
        if self._is_live():
            if self._status is None and now - self._begun > _SOON:
                self._status = self._console.status("")
                self._status.start()
            if self._status is not None:
                self._status.update(Text(line))
        elif now - self._last_line > _PAUSE:
            self.say(line)

    def started(self, step: int, steps: int) -> None:
        """Begin, or go on after `step`."""
        self._end_status()
        self._begun, self._first, self._steps = time.monotonic(), step, steps
        if step:
            self.say(f"going on after step {step:,}")
        if self._is_live() and step < steps:
            columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.description}"))
            self._bar = Bar(*columns, TextColumn("left"), TimeRemainingColumn(), console=self._console, transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=steps, completed=step)

    def stepped(self, step: int) -> None:
        """Move the bar."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=step)

    def measured(self, measured: Measured) -> None:
        """Show the figures of training: on a terminal at once, else with the next validation."""
        line = self.describe_training(measured)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=line)
            return
        self._training = f"  {line}  {self._left(measured.step)} left"
        if time.monotonic() - self._last_line > _SILENCE:
            self.say(f"step {measured.step:,}/{self._steps:,}:{self._training}")

    def validated(self, validated: Validated, *, best: bool) -> None:
        """Show the figures of a validation; on a terminal also sample translations."""
        line = f"step {validated.step:,}: {self.describe_validation(validated)}{'  (best)' if best else ''}"
        self.say(f"{line}{self._training}")
        for sample in validated.samples if self._is_live() else ():
            self.say(f"    {sample.source}\n  → {sample.hypothesis}\n  = {sample.reference}")
            if sample.weights is not None:
                for drawn in draw_looks(sample.weights, width=self._console.width):
                    self._console.print(drawn)

    def describe_training(self, measured: Measured) -> str:
        """Write the figures of training on one line."""
        return (
            f"loss {measured.loss:.3f}  perplexity {measured.perplexity:,.2f}  "
            f"{measured.tokens_per_second:,.0f} tokens/s  {measured.memory / 2**20:,.0f} MiB"
        )

    def describe_validation(self, validated: Validated) -> str:
        """Write the figures of a validation on one line."""
        figures = "  ".join(f"{_NAMES.get(name, name)} {value:.2f}" for name, value in validated.figures.items())
        return f"valid loss {validated.loss:.3f}  {figures}"

    def noted(self, text: str) -> None:
        """Show a note."""
        self.say(text)

    def close(self) -> None:
        """Take the bar away."""
        self._end_status()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        sys.stderr.flush()

    def _is_live(self) -> bool:
        return is_live(self._console) and not self._console.quiet

    def _end_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _left(self, step: int) -> str:
        if step <= self._first:
            return "?"
        seconds = (time.monotonic() - self._begun) / (step - self._first) * (self._steps - step)
        minutes, rest = divmod(int(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


_PAUSE = 10.0
"""Seconds between plain lines."""
_SILENCE = 300.0
"""Seconds after which a log without a validation gets a line nevertheless."""
_SOON = 1.0
"""Seconds after which a live line shows that something goes on."""
_NAMES = {"bleu": "BLEU", "chrf": "chrF"}
