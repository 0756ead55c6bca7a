"""Progress: a live bar on a terminal, plain lines now and then elsewhere, as in a notebook; always on stderr."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.status import Status
from rich.text import Text

from regard.cli.sample_attention import draw_attention
from regard.cli.terminal import is_live, sanitize
from regard.tasks.progress import Limits, describe_seconds
from regard.training.watch import Measured, Validated

_PAUSE = 10.0
"""Seconds between plain lines."""
_SILENCE = 300.0
"""Seconds after which a log without a validation gets a line nevertheless."""
_SOON = 1.0
"""Seconds after which a live line shows that something goes on."""
_NAMES = {"bleu": "BLEU", "chrf": "chrF"}


class Lines:
    """Writes lines to stderr, above a bar where there is one."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False, quiet=quiet, soft_wrap=True)
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._begun = self._last_line = time.monotonic()

    def print_line(self, text: str) -> None:
        """Write a line."""
        self._last_line = time.monotonic()
        self._console.print(Text(sanitize(text, keep="\n")))

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        sys.stderr.flush()

    def _is_live(self) -> bool:
        return is_live(self._console) and not self._console.quiet

    def _is_due(self, pause: float = _PAUSE) -> bool:
        """Return whether a plain line is due, where there is no bar."""
        return not self._is_live() and time.monotonic() - self._last_line > pause

    def _show_bar(self, *columns: ProgressColumn, total: float | None) -> None:
        # rich would send what is printed to the terminal of the bar, even where it is to go to a file or a pipe.
        aside = sys.stdout.isatty()
        self._bar = Bar(*columns, console=self._console, transient=True, redirect_stdout=aside)
        self._bar.start()
        self._task = self._bar.add_task("", total=total)

    def _move(self, completed: float, description: str) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=completed, description=description)


class Progress(Lines):
    """Shows how a run goes: the share of its steps or of its minutes, whichever ends it."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._status: Status | None = None
        self._limits, self._first, self._training = Limits(), 0.0, ""

    def limit(self, minutes: float) -> None:
        """Keep the time that training may take; 0 is no limit."""
        self._limits.minutes = minutes

    def count(self, doing: str, done: int, *, unit: str = "pairs", total: int | None = None) -> None:
        """Show how far the work before training is, once it takes a while."""
        line = f"{doing}: {done:,} {unit}" if total is None else f"{doing}: {done:,} of {total:,} {unit}"
        if self._is_live():
            if self._status is None and time.monotonic() - self._begun > _SOON:
                self._status = self._console.status("")
                self._status.start()
            if self._status is not None:
                self._status.update(Text(line))
        elif self._is_due():
            self.print_line(line)

    def started(self, step: int, steps: int) -> None:
        """Begin, or go on after `step`."""
        self._end_status()
        self._limits.start(steps)
        self._begun, self._first = time.monotonic(), self._limits.share(step)
        if step:
            self.print_line(f"going on after step {step:,}")
        if self._is_live() and step < steps:
            columns = (BarColumn(bar_width=24), TextColumn("{task.description}"), TextColumn("left"))
            self._show_bar(*columns, TimeRemainingColumn(), total=1.0)
            self.stepped(step)

    def stepped(self, step: int) -> None:
        """Move the bar."""
        self._move(self._limits.share(step), f"{self._limits.describe(step)}  {self._training}")

    def measured(self, measured: Measured) -> None:
        """Show the figures of training: on a terminal at once, else with the next validation."""
        self._limits.measure(measured.seconds)
        self._training = self.describe_training(measured)
        self.stepped(measured.step)
        if self._is_due(_SILENCE):
            self.print_line(f"step {measured.step:,}/{self._limits.steps:,}:{self._rest(measured.step)}")

    def validated(self, validated: Validated, *, best: bool) -> None:
        """Show the figures of a validation; on a terminal also sample translations."""
        line = f"step {validated.step:,}: {self.describe_validation(validated)}{'  (best)' if best else ''}"
        self.print_line(line if self._is_live() else f"{line}{self._rest(validated.step)}")
        for sample in validated.samples if self._is_live() else ():
            self.print_line(f"    {sample.source}\n  → {sample.hypothesis}\n  = {sample.reference}")
            if sample.weights is not None:
                for drawn in draw_attention(sample.weights, width=self._console.width):
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
        self.print_line(text)

    def close(self) -> None:
        """Take the bar away."""
        self._end_status()
        super().close()

    def _end_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _rest(self, step: int) -> str:
        """Give the figures of training and the time left, for a plain line; nothing before the first figures."""
        if not self._training:
            return ""
        share, spent = self._limits.share(step), time.monotonic() - self._begun
        left = describe_seconds(spent / (share - self._first) * (1 - share) + 1e-6) if share > self._first else "?"
        return f"  {self._training}  {left} left"


class Watching(Lines):
    """Shows what is being done, and how much of it; to be called so: `watching("translating", 64, 500)`."""

    def __init__(self) -> None:
        super().__init__()
        self._doing = ""

    def __enter__(self) -> "Watching":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, doing: str, done: int, total: int) -> None:
        """Show that `done` of `total` are done."""
        if self._is_live():
            if doing != self._doing or self._bar is None:
                self.close()
                columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), MofNCompleteColumn())
                self._show_bar(*columns, TimeRemainingColumn(), total=total)
            self._move(done, doing)
        elif self._is_due():
            self.print_line(f"{doing} {done:,}/{total:,}")
        self._doing = doing


class LineProgress(Lines):
    """Shows how many lines of a file are done, and of how many bytes where that is known."""

    def __init__(self, *, size: int | None) -> None:
        super().__init__()
        self._size, self._first = size, -1
        if self._is_live():
            columns = (BarColumn(bar_width=24), DownloadColumn(), TextColumn("{task.description}"))
            self._show_bar(*columns, TextColumn("left"), TimeRemainingColumn(), total=size)

    def __call__(self, lines: int, size: int) -> None:
        """Show that so many lines, of so many bytes, are done."""
        if self._first < 0:
            self._first = lines
            if lines:
                self.print_line(f"going on after line {lines:,}")
        rate = (lines - self._first) / max(time.monotonic() - self._begun, 1e-9)
        self._move(size, f"{lines:,} lines  {rate:,.0f}/s")
        if self._is_due():
            share = f" ({100 * size / self._size:.0f} %)" if self._size else ""
            self.print_line(f"{lines:,} lines{share}  {rate:,.0f}/s")


@contextmanager
def keeping_lines(progress: Lines, output: Path, done: Callable[[], int]) -> Iterator[None]:
    """Write lines into a file inside; say at the end, or at a stop or a full disk, how many are `done` and kept."""
    from regard.training.failure import is_disk_full

    try:
        yield
        progress.print_line(f"{done():,} lines in {output}")
    except KeyboardInterrupt:
        progress.close()
        progress.print_line(f"regard: Stopped; {done():,} lines are done and kept. The same command goes on.")
        raise
    except OSError as error:
        if not is_disk_full(error):
            raise
        progress.close()
        progress.print_line(
            f"regard: The disk of {output} must have room for it; it is full. Make room: the same command goes on."
        )
        raise typer.Exit(1) from None
    finally:
        progress.close()
