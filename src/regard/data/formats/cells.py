"""Lines of cells, CSV and TSV: how they are divided, and which first line names the columns."""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from regard.data.formats.compressed import open_decompressed
from regard.data.formats.lines import raw_lines, read_lines
from regard.data.formats.records import BadLine
from regard.errors import DataError, describe

Separator: TypeAlias = Literal["\t", ",", ";"]

SIDES = (("source", "target"), ("src", "tgt"), ("src", "trg"))
"""Names that a source and a target go by."""
_KNOWN = (
    "source target src tgt trg text label sentence translation title body id image question answer kind class category "
    "review sentiment stars rating english spanish german french italian portuguese dutch russian chinese japanese "
    "hindi arabic"
)
_LANGUAGES = (
    "ar bg bn ca cs da de el en es et eu fa fi fr ga gl he hi hr hu id it ja ka ko lt lv mk ms mt nb nl nn no pl pt "
    "ro ru sk sl sq sr sv sw ta te th tr uk ur vi zh"
)
_NAMES, _CODES = frozenset(_KNOWN.split()), frozenset(_LANGUAGES.split())
_REGION = re.compile("[-_][A-Za-z0-9]{2,8}")


class Cells(NamedTuple):
    """The cells of a line, or what is wrong with it; `number` counts lines from 1."""

    number: int
    cells: list[str] | BadLine


def is_language(name: str) -> bool:
    """Return whether a cell is the code of a language, such as en, pt-BR or zh_Hans.

    >>> is_language("pt-BR"), is_language("dog")
    (True, False)
    """
    return name[:2].lower() in _CODES and (len(name) == 2 or _REGION.fullmatch(name[2:]) is not None)


def is_header(cells: Sequence[str]) -> bool:
    """Return whether a first line names columns: two or more cells, all different, each a known name or a language.

    >>> is_header(["en", "es"]), is_header(["Source", "Target"]), is_header(["no", "no"]), is_header(["Hund", "dog"])
    (True, True, False, False)
    """
    names = [cell.strip().lower() for cell in cells]
    return 1 < len(names) == len(set(names)) and all(name in _NAMES or is_language(name) for name in names)


def read_tsv(path: Path) -> Iterator[Cells]:
    """Give the cells of each line of a TSV file: a tab always separates, there is no quoting."""
    for number, line in enumerate(read_lines(path), start=1):
        yield Cells(number, line if isinstance(line, BadLine) else line.split("\t"))


def read_csv(path: Path, separator: Separator = ",") -> Iterator[Cells]:
    """Give the cells of each row of a CSV file; quoted ones may hold separators and line breaks. Empty rows are none.

    Where a quote breaks off or a byte is not UTF-8, nobody knows where the next row begins: that is an error.
    """
    with open_decompressed(path) as stream:
        # Line by line, so that a byte that is not UTF-8 is found where it stands.
        lines = (raw.decode("utf-8").removeprefix("\ufeff") for raw in raw_lines(stream, path))
        rows = csv.reader(lines, delimiter=separator)
        try:
            for row in rows:
                if row:
                    yield Cells(rows.line_num, row)
        except (UnicodeDecodeError, csv.Error) as error:
            raise DataError(
                f"{path}, line {rows.line_num + 1} must be CSV in UTF-8; received: {describe(error)}."
            ) from error


def find_separator(path: Path) -> Separator:
    """Return what is between the cells of a CSV file, by its first line: commas, else semicolons, else tabs."""
    with open_decompressed(path) as stream:
        header = next(raw_lines(stream, path), b"")
    between: tuple[Separator, ...] = (",", ";", "\t")
    return next((item for item in between if item.encode() in header), ",")
