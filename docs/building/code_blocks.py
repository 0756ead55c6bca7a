"""The fenced blocks of a page: what the site runs, what notebooks hold, and what the tests run are the same blocks.

A block of Python may carry marks behind its language: `figure="alternative text"` draws the value of its last line,
`view="title"` puts a page of it beside the text, `folded="title"` folds the code away, `skip` leaves it unrun.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```[ \t]*$", re.MULTILINE | re.DOTALL
)
MARK = re.compile(r'(\w+)(?:="([^"]*)")?')


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block: its language, its marks, its lines, and where it stands in the page."""

    language: str
    marks: dict[str, str]
    code: str
    start: int
    end: int
    line: int

    @property
    def runs(self) -> bool:
        """Whether it is Python that is run as it stands."""
        return self.language == "python" and "skip" not in self.marks and not self.code.lstrip().startswith(">>>")


def find_blocks(text: str) -> Iterator[Block]:
    """Give the fenced blocks of a page in order.

    >>> [block] = find_blocks('Text.\\n```python figure="A map"\\nx = 1\\n```\\n')
    >>> block.language, block.marks, block.code
    ('python', {'figure': 'A map'}, 'x = 1\\n')
    """
    for found in FENCE.finditer(text):
        language, _, rest = found["info"].strip().partition(" ")
        indent = len(found["indent"])
        yield Block(
            language=language,
            marks=dict(MARK.findall(rest)),
            code="".join(line[indent:] if line.strip() else line for line in found["code"].splitlines(keepends=True)),
            start=found.start(),
            end=found.end(),
            line=text.count("\n", 0, found.start()) + 1,
        )


def runnable(text: str) -> list[Block]:
    """Give the blocks of a page that are run, in order."""
    return [block for block in find_blocks(text) if block.runs]


def chapters(docs: Path) -> list[Path]:
    """Give the chapters of the course in order: those pages whose code is run from top to bottom."""
    return sorted((docs / "course").glob("[0-9][0-9]-*.md"))
