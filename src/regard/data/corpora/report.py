"""What became of a corpus: how much was kept, how much was dropped, why, and a few examples of each reason."""

from dataclasses import dataclass, field
from typing import NamedTuple

from regard.errors import brief


class Example(NamedTuple):
    """One dropped line or pair: its location and its text, shortened."""

    place: str
    text: str


@dataclass(kw_only=True)
class Report:
    """A tally that the reading and cleaning functions fill while the pairs stream through them.

    >>> report = Report(title="reading")
    >>> for _ in range(99):
    ...     report.keep()
    >>> report.drop("empty", place="train.tsv, line 7", text="Hund")
    >>> print(report)
    reading: 99 of 100 kept
      empty        1    1.00 %  train.tsv, line 7: 'Hund'
    """

    title: str = "corpus"
    most_examples: int = 3
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[Example]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many were seen."""
        return self.kept + sum(self.dropped.values())

    def keep(self) -> None:
        """Count one that was kept."""
        self.kept += 1

    def drop(self, reason: str, *, place: str, text: str) -> None:
        """Count one that was dropped, and keep it as an example if there are few."""
        self.dropped[reason] = self.dropped.get(reason, 0) + 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < self.most_examples:
            examples.append(Example(place, shorten(text)))

    def summary(self) -> str:
        """Describe in one line how many were dropped, and why, with the first of each.

        >>> report = Report()
        >>> report.drop("short", place="pair 1", text="a")
        >>> report.summary()
        "1 short (pair 1: 'a')"
        """
        firsts = {reason: self.examples[reason][0] for reason in self.dropped}
        return ", ".join(
            f"{count:,} {reason} ({firsts[reason].place}: {firsts[reason].text!r})"
            for reason, count in self.dropped.items()
        )

    def __str__(self) -> str:
        lines = [f"{self.title}: {self.kept:,} of {self.total:,} kept"]
        widest = max((len(reason) for reason in self.dropped), default=0)
        for reason, count in self.dropped.items():
            share = f"{100 * count / self.total:.2f} %"
            for row, example in enumerate(self.examples[reason]):
                figures = f"{reason:<{widest}} {count:>8,} {share:>9}" if row == 0 else " " * (widest + 19)
                lines.append(f"  {figures}  {example.place}: {example.text!r}")
        return "\n".join(lines)


def shorten(text: str, length: int = 60) -> str:
    """Cut `text` to `length` characters, the last of which then is an ellipsis.

    >>> shorten("abcdefgh", 4)
    'abc…'
    """
    return brief(text, letters=length)
