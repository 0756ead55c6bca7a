"""Two plain files, line n of one the translation of line n of the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from regard.data.formats.lines import read_lines
from regard.data.formats.records import BadLine, Record, make_record


@dataclass(frozen=True, kw_only=True)
class TwoFiles:
    """Two files, one sentence per line, line-aligned."""

    source: Path
    """File with the source sentences."""
    target: Path
    """File with the target sentences."""
    kind: Literal["two-files"] = "two-files"

    def records(self) -> Iterator[Record]:
        """Give one record per line; each line beyond the end of the shorter file is bad."""
        both = zip_longest(read_lines(self.source), read_lines(self.target))
        for number, (source, target) in enumerate(both, start=1):
            if isinstance(source, BadLine):
                yield source
            elif isinstance(target, BadLine):
                yield target
            elif source is None or target is None:
                yield self._surplus(number, source, target)
            else:
                yield make_record(source, target, f"{self.source} and {self.target}, line {number}")

    def _surplus(self, number: int, source: str | None, target: str | None) -> BadLine:
        longer, shorter = (self.source, self.target) if target is None else (self.target, self.source)
        return BadLine(
            "unequal",
            f"{longer}, line {number}",
            f"have a partner in {shorter}",
            f"a line where {shorter} has ended after {number - 1} (check that the two files have not slipped)",
            source or target or "",
        )
