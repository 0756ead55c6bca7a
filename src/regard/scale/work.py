"""What is computed for each block: plain values that travel to a worker, which makes of them what computes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from regard.scale.blocks import Block, read_block
from regard.tasks.text_lines import RawLine


class Done(NamedTuple):
    """The output of a block, a line for each line, and what else is known of it, as plain values for JSON."""

    content: bytes
    facts: dict[str, Any]


#: Computes one chunk: of each file its lines, and how many lines there are before them.
Compute: TypeAlias = Callable[[list[list[RawLine]], int], Done]


@runtime_checkable
class Work(Protocol):
    """A kind of work on lines. It is plain values, and can be sent to another machine."""

    @property
    def inputs(self) -> Sequence[Path]:
        """The files, whose lines belong to one another."""

    def settings(self) -> Mapping[str, str]:
        """Name all that decides the output, but for the files: model, search, …."""

    def start(self) -> Compute:
        """Load what is needed, in the process that computes."""


class Computing:
    """A worker's part of a job: its work, begun once, for one block after another."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._compute = work.start()

    def __call__(self, block: Block) -> Done:
        """Compute a block, chunk by chunk; `facts` has an entry for each."""
        sides = read_block(self._work.inputs, block)
        results = [self._compute(chunk, block.first + start) for start, chunk in _chunks(sides, block)]
        return Done(b"".join(item.content for item in results), {"chunks": [item.facts for item in results]})


def _chunks(sides: list[list[RawLine]], block: Block) -> Iterator[tuple[int, list[list[RawLine]]]]:
    start = 0
    for count in block.chunks:
        yield start, [lines[start : start + count] for lines in sides]
        start += count
