"""Two plain files, line n of one the translation of line n of the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from regard.data.formats.lines import read_lines
from regard.data.formats.records import BadLine, Record, make_record
from regard.errors import DataError


@dataclass(frozen=True, kw_only=True)
class TwoFiles:
    """Two files, one sentence per line, line-aligned."""

    source: Path
    """File with the source sentences."""
    target: Path
    """File with the target sentences."""
    kind: Literal["two-files"] = "two-files"

    def records(self) -> Iterator[Record]:
        """Give one record per line; files of unequal length are an error, since nobody knows where they slipped."""
        both = zip_longest(read_lines(self.source), read_lines(self.target))
        for number, (source, target) in enumerate(both, start=1):
            if source is None or target is None:
                remaining = sum(1 for _ in both)
                raise DataError(self._unequal(number - 1, number + remaining, target_ended=target is None))
            if isinstance(source, BadLine):
                yield source
            elif isinstance(target, BadLine):
                yield target
            else:
                yield make_record(source, target, f"{self.source} and {self.target}, line {number}")

    def _unequal(self, fewer: int, more: int, *, target_ended: bool) -> str:
        sources, targets = (more, fewer) if target_ended else (fewer, more)
        return (
            f"{self.target} must have a line for each of the {sources:,} lines of {self.source}; received {targets:,}. "
            "Has a line been lost?"
        )
