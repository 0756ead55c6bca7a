"""Tables: with lines on a terminal, plain and aligned elsewhere."""

import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.cli.terminal import sanitize


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "", words: Sequence[int] = (0,)
) -> None:
    """Print a table; `words` are the columns that hold words, the others hold numbers, set to the right."""
    headings, rows = [sanitize(item) for item in headings], [[sanitize(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        print("\n".join(plain_table(headings, rows, title=title, words=words)))
        return
    table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(Text(heading), justify="left" if number in words else "right", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console()
    wide = (
        Console(width=1000).measure(table).maximum
    )  # where a terminal is narrower it breaks the lines, and no number is lost
    Console(width=max(console.width, wide)).print(table)


def plain_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "", words: Sequence[int] = (0,)
) -> list[str]:
    """Align columns by spaces.

    >>> print("\\n".join(plain_table(["", "BLEU"], [["fixed", "9.1"], ["bahdanau", "12.0"]])))
              BLEU
    fixed      9.1
    bahdanau  12.0
    """
    table = [list(headings), *map(list, rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(headings))]
    lines = [
        "  ".join(
            cell.ljust(width) if number in words else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
    return [title, *lines] if title else lines
