"""Progress of counted work: a bar on a terminal, a plain line now and then elsewhere; always on stderr."""

import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from regard.cli.terminal import is_live, sanitize

_PAUSE = 10.0
"""Seconds between plain lines."""


class Watching:
    """Shows what is being done, and how much of it; to be called so: `watching("translating", 64, 500)`."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        # rich would send what is printed to the terminal of the bar, even where it is to go to a file or a pipe.
        aside = sys.stdout.isatty()
        self._bar = Progress(*columns, console=self._console, transient=True, redirect_stdout=aside)
        self._task: TaskID | None = None
        self._what, self._last = "", time.monotonic()

    def __enter__(self) -> "Watching":
        if is_live(self._console):
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if is_live(self._console):
            self._bar.stop()

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show that `done` of `total` are done."""
        if is_live(self._console):
            if what != self._what or self._task is None:
                if self._task is not None:
                    self._bar.remove_task(self._task)
                self._task = self._bar.add_task(what, total=total)
            self._bar.update(self._task, completed=done)
        elif time.monotonic() - self._last > _PAUSE:
            self.say(f"{what} {done:,}/{total:,}")
        self._what = what

    def say(self, text: str) -> None:
        """Write a line."""
        self._last = time.monotonic()
        self._console.print(Text(sanitize(text, keep="\n")))
