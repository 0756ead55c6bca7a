"""Texts with a label: read from CSV, TSV or JSON Lines, and divided so that no text is on two sides."""

import csv
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from regard.data.corpora.report import Report
from regard.data.corpora.sentence_groups import comparable
from regard.data.corpora.split import Fractions
from regard.data.formats.compressed import open_decompressed
from regard.data.formats.lines import raw_lines, read_lines
from regard.data.formats.paths import file_kind, is_file, is_folder, missing_file
from regard.data.formats.records import BadLine
from regard.errors import DataError, brief, describe, join_names, near_miss, nearest

Bad: TypeAlias = Literal["skip", "refuse"]
FORMATS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")

_DIGITS = 4_000
"""Of a number at most; Python reads 4,300."""
_HOW = "Name them by --set data.text=… and data.label=… to train, by --text and --label to classify."


class Labeled(NamedTuple):
    """A text and its label."""

    text: str
    label: str


class LabeledSplits(NamedTuple):
    """Three lists, in the order they came."""

    train: list[Labeled]
    valid: list[Labeled]
    test: list[Labeled]


class _Row(NamedTuple):
    """The columns that were asked for, one text each, and where they stood."""

    cells: list[str]
    place: str


def read_labeled(
    path: Path, *, text: str = "text", label: str = "label", bad: Bad = "skip", report: Report | None = None
) -> Iterator[Labeled]:
    """Give the texts of a file with their labels; a bad line is counted in `report`, or refused.

    `text` and `label` are columns of a header line or keys of JSON objects; numbers from 1 name columns of a file
    without a header. `title+body` joins columns with a space. The format is told by the name: .csv, .tsv or .jsonl,
    with or without .gz, .xz, .bz2 or .zst behind it.
    """
    report = Report(title=str(path)) if report is None else report
    parts = text.split("+")
    for row in read_columns(path, [*parts, label]):
        record = row if isinstance(row, BadLine) else _labeled(row)
        if isinstance(record, Labeled):
            report.keep()
            yield record
        elif bad == "refuse":
            raise DataError(f"{record} Mend it, or leave bad lines out with data.bad = skip.")
        else:
            report.drop(record.kind, place=record.place, text=record.text)


def read_texts(path: Path, *, text: str = "text") -> Iterator[str]:
    """Give the texts of a CSV, TSV or JSON Lines file, or the lines of any other; a bad line gives an empty text."""
    if file_kind(path) not in FORMATS:
        yield from ("" if isinstance(line, BadLine) else line for line in read_lines(path))
        return
    for row in read_columns(path, text.split("+")):
        yield "" if isinstance(row, BadLine) else " ".join(" ".join(cell.split()) for cell in row.cells)


def find_label(path: Path, column: str, label: str) -> str:
    """Say where a label first stands in a file."""
    rows = (row for row in read_columns(path, [column]) if isinstance(row, _Row))
    return next((row.place for row in rows if " ".join(row.cells[0].split()) == label), str(path))


def read_columns(path: Path, names: Sequence[str]) -> Iterator[_Row | BadLine]:
    """Give the columns `names` of each row."""
    match file_kind(path):
        case ".csv":
            return _read_table(path, names, _csv_rows(path, names))
        case ".tsv":
            return _read_table(path, names, _tsv_rows(path))
        case ".jsonl" | ".ndjson" | ".json":
            return _read_objects(path, names)
    raise DataError(_other_file(path))


def _other_file(path: Path) -> str:
    """Say of a file that is not a table of texts what it is, and what to do."""
    wanted = f"{path} must be a CSV, TSV or JSON Lines file of texts and labels"
    if is_folder(path):
        return f"{wanted}; received a folder. Name a file in it; a folder of pictures is for --task images."
    if not is_file(path):
        return missing_file(path, kinds=FORMATS)
    match file_kind(path):
        case ".parquet":
            return f"{wanted}; received Parquet. Write it as JSON Lines first, a line for each row."
        case ".txt" | ".md":
            return f"{wanted}; received plain text, which has no labels. Is it for --task language?"
    return f"{wanted}, named .csv, .tsv or .jsonl, compressed or not; received another name. Rename it, if it is one."


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
    known = {one.label for one in sides.train}
    rare = {comparable(one.text) for side in sides[1:] for one in side if one.label not in known}
    for side in sides[1:] if rare else ():
        sides.train.extend(one for one in side if comparable(one.text) in rare)
        side[:] = [one for one in side if comparable(one.text) not in rare]


def drop_held_out(
    records: Iterable[Labeled], held_out: Iterable[Labeled], *, report: Report | None = None
) -> list[Labeled]:
    """Leave out the texts that are among those `held_out`, from a file of their own."""
    report = Report(title="held out elsewhere") if report is None else report
    known = {comparable(one.text) for one in held_out}
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
    found = {record.label for record in records}
    if len(found) < 2:
        received = f'only "{brief(next(iter(found)))}"' if found else "none"
        raise DataError(
            f"The training texts must have at least two labels to choose from; received {received}. Is data.label the "
            "right column?"
        )
    if len(records) >= 20 and len(found) > len(records) / 2:
        raise DataError(
            f"The training texts must share labels; received {len(found):,} labels for {len(records):,} texts. Is "
            "data.label the right column?"
        )
    return sorted(found, key=lambda label: (label_number(label) < 0, label_number(label), label))


def label_number(label: str) -> int:
    """Give the number that a label is, or -1 for any other, such as one of more digits than a number is read from.

    >>> label_number("12"), label_number("²"), label_number("9" * 5000)
    (12, -1, -1)
    """
    return int(label) if label.isdecimal() and len(label) <= _DIGITS else -1


def number_labels(records: Sequence[Labeled], labels: Sequence[str], *, side: str) -> list[int]:
    """Give each record's place in `labels`.

    >>> number_labels([Labeled("x", "b")], ["a", "b"], side="test")
    [1]
    """
    places = {label: number for number, label in enumerate(labels)}
    for record in records:
        if record.label not in places:
            raise DataError(
                f'The {side} texts must have labels that the training texts have; received "{brief(record.label)}". '
                f"{nearest(record.label, labels)}"
            )
    return [places[record.label] for record in records]


def _labeled(row: _Row) -> Labeled | BadLine:
    *texts, label = (" ".join(cell.split()) for cell in row.cells)
    text = " ".join(one for one in texts if one)
    for name, cell in (("text", text), ("label", label)):
        if not cell:
            return BadLine("empty", row.place, "have a text and a label", f"an empty {name}", text or label)
    if "\0" in text + label:
        return BadLine("encoding", row.place, "hold no NUL", "one", text)
    return Labeled(text, label)


def _csv_rows(path: Path, names: Sequence[str]) -> Iterator[tuple[int, list[str] | BadLine]]:
    """Read quoted cells, which may hold commas and line breaks.

    Where columns are named, and the header has semicolons and no comma, semicolons are between the cells.
    """
    with open_decompressed(path) as stream:
        header = stream.peek().partition(b"\n")[0]
        named = not all(name.isdecimal() for name in names)
        between = ";" if named and b";" in header and b"," not in header else ","
        # Line by line, so that a byte that is not UTF-8 is found where it stands.
        lines = (raw.decode("utf-8").removeprefix("\ufeff") for raw in raw_lines(stream, path))
        rows = csv.reader(lines, delimiter=between)
        try:
            for row in rows:
                if row:
                    yield rows.line_num, row
        except (UnicodeDecodeError, csv.Error) as error:
            raise DataError(
                f"{path}, line {rows.line_num + 1} must be CSV in UTF-8; received: {describe(error)}."
            ) from error


def _tsv_rows(path: Path) -> Iterator[tuple[int, list[str] | BadLine]]:
    for number, line in enumerate(read_lines(path), start=1):
        if isinstance(line, BadLine):
            yield number, line
        elif line:
            yield number, line.split("\t")


def _read_table(
    path: Path, names: Sequence[str], rows: Iterator[tuple[int, list[str] | BadLine]]
) -> Iterator[_Row | BadLine]:
    """Find the columns in the header, or by number, and take them out of each row."""
    first = next(((number, row) for number, row in rows if not isinstance(row, BadLine)), None)
    if first is None:
        raise DataError(f"{path} must have at least one line; received an empty file.")
    header = [cell.strip() for cell in first[1]]
    numbered = all(name.isdecimal() for name in names)
    places = _columns(path, names, header)
    for number, row in chain([first] if numbered else [], rows):
        place = f"{path}, line {number}"
        if isinstance(row, BadLine):
            yield row
        elif len(row) <= max(places) or (not numbered and len(row) != len(header)):
            needed = max(places) + 1 if numbered else len(header)
            yield BadLine("columns", place, f"have {needed} columns", str(len(row)), "\t".join(row))
        else:
            yield _Row([row[one] for one in places], place)


def _columns(path: Path, names: Sequence[str], header: list[str]) -> list[int]:
    """Find columns by their numbers, where all are numbers, or by their names."""
    if all(name.isdecimal() for name in names):
        if beyond := [name for name in names if not 1 <= label_number(name) <= len(header)]:
            raise DataError(
                f"The columns of text and label must be numbers of columns of {path}, whose first line has "
                f"{len(header)}; received {brief(beyond[0])!r}. The first is 1. {_HOW}"
            )
        return [label_number(name) - 1 for name in names]
    if missing := [name for name in names if name not in header]:
        raise DataError(
            f"{path} must have a column named {' and one named '.join(missing)}; received the first line: "
            f"{join_names(header, letters=400, between=' | ')}.{near_miss(missing[0], header)} If that is a "
            "header, name its columns of text and label: --set data.text=… --set data.label=… to train, --text … "
            "--label … to classify. If the file has no header, number them from 1, such as data.text=2 and "
            "data.label=1."
        )
    return [header.index(name) for name in names]


def _read_objects(path: Path, names: Sequence[str]) -> Iterator[_Row | BadLine]:
    """Take keys out of JSON objects; numbers and true or false are labels as they are written."""
    empty, found = True, False
    for number, line in enumerate(read_lines(path), start=1):
        place = f"{path}, line {number}"
        row = line if isinstance(line, BadLine) else _parse(line, place)
        empty = False
        if isinstance(row, BadLine):
            yield row
            continue
        missing = next((name for name in names if name not in row), None)
        if missing is not None and not found:
            raise DataError(
                f"The columns of text and label must be keys of {path}; received {missing!r}. "
                f"{nearest(missing, row)} {_HOW}"
            )
        found = True
        cells = [_text(row.get(name)) for name in names]
        good = [cell for cell in cells if cell is not None]
        if len(good) == len(cells):
            yield _Row(good, place)
        else:
            yield BadLine("columns", place, f"have text under {', '.join(names)}", "something else", str(line))
    if empty:
        raise DataError(f"{path} must have at least one line; received an empty file.")


def _parse(line: str, place: str) -> dict[str, object] | BadLine:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return BadLine("json", place, "be a JSON object", "text that is not JSON", line)
    return row if isinstance(row, dict) else BadLine("json", place, "be a JSON object", "other JSON", line)


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return json.dumps(value)
    return str(value) if isinstance(value, str | int | float) else None


def _draw(text: str, salt: str) -> float:
    """Draw a number from 0 to 1 from the text alone."""
    digest = hashlib.blake2b(f"{salt}\0{comparable(text)}".encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2.0**64
