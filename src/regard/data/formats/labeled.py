"""Texts with a label: read from tables, and divided so that no text is on two sides."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from regard.data.corpora.report import Report
from regard.data.corpora.sentence_groups import comparable
from regard.data.corpora.split import Fractions
from regard.data.formats.lines import read_lines
from regard.data.formats.records import BadLine
from regard.data.formats.tables import Columns, is_table, read_columns
from regard.errors import DataError, brief, nearest

Bad: TypeAlias = Literal["skip", "refuse"]
_DIGITS = 4_000
"""Of a number at most; Python reads 4,300."""


class Labeled(NamedTuple):
    """A text and its label."""

    text: str
    label: str


class LabeledSplits(NamedTuple):
    """Three lists, in the order they came."""

    train: list[Labeled]
    valid: list[Labeled]
    test: list[Labeled]


def read_labeled(
    path: Path,
    *,
    text: str = "text",
    label: str = "label",
    split: str = "train",
    bad: Bad = "skip",
    report: Report | None = None,
) -> Iterator[Labeled]:
    """Give the texts of a file with their labels; a bad line is counted in `report`, or refused.

    `text` and `label` are columns of a header line or keys of JSON objects; numbers from 1 name columns of a file
    without a header. `title+body` joins columns with a space. See `regard.data.formats.tables` for the formats.
    """
    report = Report(title=str(path)) if report is None else report
    parts = text.split("+")
    for row in read_columns(path, [*parts, label], split=split):
        record = row if isinstance(row, BadLine) else _labeled(row)
        if isinstance(record, Labeled):
            report.keep()
            yield record
        elif bad == "refuse":
            raise DataError(f"{record} Mend it, or leave bad lines out with data.bad = skip.")
        else:
            report.drop(record.kind, place=record.place, text=record.text)


def read_texts(path: Path, *, text: str = "text") -> Iterator[str]:
    """Give the texts of a table, or the lines of any other file; a bad line gives an empty text."""
    if not is_table(path):
        yield from ("" if isinstance(line, BadLine) else line for line in read_lines(path))
        return
    for row in read_columns(path, text.split("+")):
        yield "" if isinstance(row, BadLine) else " ".join(" ".join(cell.split()) for cell in row.cells)


def find_label(path: Path, column: str, label: str) -> str:
    """Find where a label first stands in a file."""
    rows = (row for row in read_columns(path, [column]) if isinstance(row, Columns))
    return next((row.place for row in rows if " ".join(row.cells[0].split()) == label), str(path))


def split_labeled(records: Sequence[Labeled], fractions: Fractions) -> LabeledSplits:
    """Divide texts by their hash: the same text, whatever its case, white space and label, is on one side only.

    Texts with a label that no training text has are trained on.

    >>> records = [Labeled("A dog", "a"), Labeled("a  DOG", "b"), *(Labeled(f"Car {n}", "ab"[n % 2]) for n in range(9))]
    >>> sides = split_labeled(records, Fractions(valid=0.5, test=0.0))
    >>> any({"A dog", "a  DOG"} <= {one.text for one in side} for side in sides)
    True
    """
    sides = LabeledSplits([], [], [])
    for record in records:
        draw = _draw(record.text, fractions.salt)
        held_out = 1 if draw < fractions.valid else 2 if draw < fractions.valid + fractions.test else 0
        sides[held_out].append(record)
    _give_back(sides)
    for name, share, side in (("valid", fractions.valid, sides.valid), ("test", fractions.test, sides.test)):
        if share and not side:
            raise DataError(
                f"`{name}` = {share:g} must hold out at least one text; received none of {len(records):,}. Give a "
                f"larger share, more texts, or a {name} file of your own."
            )
    return sides


def _give_back(sides: LabeledSplits) -> None:
    """Move texts to the training side whose label, a rare one, would otherwise be held out alone."""
    known = {item.label for item in sides.train}
    rare = {comparable(item.text) for side in sides[1:] for item in side if item.label not in known}
    for side in sides[1:] if rare else ():
        sides.train.extend(item for item in side if comparable(item.text) in rare)
        side[:] = [item for item in side if comparable(item.text) not in rare]


def drop_held_out(
    records: Iterable[Labeled], held_out: Iterable[Labeled], *, report: Report | None = None
) -> list[Labeled]:
    """Leave out the texts that are among those `held_out`, from a file of their own."""
    report = Report(title="held out elsewhere") if report is None else report
    known = {comparable(item.text) for item in held_out}
    kept = []
    for number, record in enumerate(records, start=1):
        if comparable(record.text) in known:
            report.drop("held out", place=f"text {number}", text=record.text)
        else:
            report.keep()
            kept.append(record)
    return kept


def find_labels(records: Sequence[Labeled]) -> list[str]:
    """List the labels, numbers in their order, others by their letters; fewer than two, or one a text, are an error."""
    result = {record.label for record in records}
    if len(result) < 2:
        received = f'only "{brief(next(iter(result)))}"' if result else "none"
        raise DataError(
            f"The training texts must have at least two labels to choose from; received {received}. Is data.label the "
            "right column?"
        )
    if len(records) >= 20 and len(result) > len(records) / 2:
        raise DataError(
            f"The training texts must share labels; received {len(result):,} labels for {len(records):,} texts. Is "
            "data.label the right column?"
        )
    return sorted(result, key=lambda label: (label_number(label) < 0, label_number(label), label))


def label_number(label: str) -> int:
    """Give the number that a label is, or -1 for any other, such as one of more digits than a number is read from.

    >>> label_number("12"), label_number("²"), label_number("9" * 5000)
    (12, -1, -1)
    """
    return int(label) if label.isdecimal() and len(label) <= _DIGITS else -1


def number_labels(records: Sequence[Labeled], labels: Sequence[str], *, side: str) -> list[int]:
    """Give the index of each record's label in `labels`.

    >>> number_labels([Labeled("x", "b")], ["a", "b"], side="test")
    [1]
    """
    numbers = {label: number for number, label in enumerate(labels)}
    for record in records:
        if record.label not in numbers:
            raise DataError(
                f'The {side} texts must have labels that the training texts have; received "{brief(record.label)}". '
                f"{nearest(record.label, labels)}"
            )
    return [numbers[record.label] for record in records]


def _labeled(row: Columns) -> Labeled | BadLine:
    *texts, label = (" ".join(cell.split()) for cell in row.cells)
    text = " ".join(item for item in texts if item)
    for name, cell in (("text", text), ("label", label)):
        if not cell:
            return BadLine("empty", row.place, "have a text and a label", f"an empty {name}", text or label)
    if "\0" in text + label:
        return BadLine("encoding", row.place, "hold no NUL", "one", text)
    return Labeled(text, label)


def _draw(text: str, salt: str) -> float:
    """Draw a number from 0 to 1 from the text alone."""
    digest = hashlib.blake2b(f"{salt}\0{comparable(text)}".encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2.0**64
