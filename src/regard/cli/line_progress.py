"""How far a file is: a live bar on a terminal, a plain line now and then elsewhere; always on stderr."""

import time

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from regard.cli.terminal import is_live, sanitize

_PAUSE = 10.0
"""Seconds between plain lines."""


class LineProgress:
    """Shows how many lines are done, and of how many bytes where that is known."""

    def __init__(self, *, size: int | None) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._size = size
        self._begun = self._last = time.monotonic()
        self._first: int | None = None
        self._bar: Progress | None = None
        if is_live(self._console):
            columns = (BarColumn(bar_width=24), DownloadColumn(), TextColumn("{task.description}"))
            self._bar = Progress(
                *columns, TextColumn("left"), TimeRemainingColumn(), console=self._console, transient=True
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=size)

    def say(self, text: str) -> None:
        """Write a line."""
        self._console.print(Text(sanitize(text, keep="\n")))

    def __call__(self, lines: int, size: int) -> None:
        """Show that so many lines, of so many bytes, are done."""
        if self._first is None:
            self._first = lines
            if lines:
                self.say(f"going on after line {lines:,}")
        now = time.monotonic()
        rate = (lines - self._first) / max(now - self._begun, 1e-9)
        if self._bar is not None:
            self._bar.update(self._task, completed=size, description=f"{lines:,} lines  {rate:,.0f}/s")
        elif now - self._last > _PAUSE:
            self._last = now
            share = f" ({100 * size / self._size:.0f} %)" if self._size else ""
            self.say(f"{lines:,} lines{share}  {rate:,.0f}/s")

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
