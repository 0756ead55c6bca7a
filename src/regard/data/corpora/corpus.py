"""From "these files" to a stream of pairs: detect the format from the content, then read it, counting what is bad."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

from regard.data.corpora.pair import Pair
from regard.data.corpora.report import Report
from regard.data.formats import Csv, HuggingFace, JsonLines, Parquet, SavedDataset, Tmx, Tsv, TwoFiles
from regard.data.formats.compressed import open_decompressed
from regard.data.formats.hugging_face import PREFIX
from regard.data.formats.paths import (
    file_kind,
    is_file,
    is_folder,
    list_folder,
    name_of_none,
    offer_folders,
    shown,
    what_is_there,
)
from regard.data.formats.records import Corpus, Record
from regard.data.formats.saved_dataset import is_saved_dataset
from regard.data.formats.several import find_in_folder, in_order, match_paths
from regard.errors import DataError, join_names
from regard.files import load_json

AnyPart: TypeAlias = TwoFiles | Tsv | Csv | JsonLines | Tmx | Parquet | SavedDataset | HuggingFace

_START = 1 << 16
_WANTED = "a file of pairs, a folder of them, or builtin:es-en"
_KINDS = (".tsv", ".csv", ".jsonl", ".ndjson", ".json", ".tmx", ".parquet")
_NUMBER = re.compile("[0-9]{1,9}")
_OTHER_TASKS = {
    ".jsonl": " Is it for the task classify?",
    ".txt": " Is it for the task language?",
}


def read_pairs(
    corpus: Corpus, *, bad: Literal["skip", "refuse"] = "skip", report: Report | None = None
) -> Iterator[Pair]:
    """Stream the pairs of `corpus`, leaving out bad lines and counting them in `report`, or refusing the first.

    A corpus whose lines are all bad is refused in any case: something else is wrong with it.

    >>> report = Report(title="reading")
    >>> pairs = list(read_pairs(find_corpus("de.txt", "en.txt"), report=report))  # doctest: +SKIP
    """
    if bad not in ("skip", "refuse"):
        raise DataError(f'`bad` must be "skip" or "refuse"; received {bad!r}.')
    report = Report(title="reading") if report is None else report
    kept_before, first_bad, count = report.kept, None, 0
    for record in corpus.records():
        if isinstance(record, Pair):
            report.keep()
            yield record
            continue
        if bad == "refuse":
            raise DataError(f'{record} Correct it, or skip such lines: bad="skip".')
        report.drop(record.kind, place=record.place, text=record.text or record.received)
        first_bad, count = first_bad or record, count + 1
    if first_bad is not None and report.kept == kept_before:
        raise DataError(f"The corpus must have at least one usable pair; received {count:,} bad lines. {first_bad}")


@dataclass(frozen=True, kw_only=True)
class Several:
    """Several corpora, one after the other, as one."""

    parts: tuple[AnyPart, ...]
    kind: Literal["several"] = "several"

    def records(self) -> Iterator[Record]:
        """Give the records of each part."""
        for part in self.parts:
            yield from part.records()


AnyCorpus: TypeAlias = AnyPart | Several


def find_corpus(
    path: str | Path,
    second: str | Path | None = None,
    *,
    more: Sequence[str] = (),
    source: str | int | None = None,
    target: str | int | None = None,
    split: str = "train",
    configuration: str | None = None,
) -> AnyCorpus:
    """Detect what `path` is: one of two plain files, or by content TSV, JSON Lines, TMX, Parquet or a saved dataset.

    CSV is recognized by its name, .csv: plain text has commas too. A pattern such as parts/*.tsv, a folder of such
    files, and the names of `more` are several files, read as one corpus in the order of their names. Only `hf:name` and
    `hf:owner/name` are data sets of the Hugging Face hub, and use the network. `source` and `target` are columns, keys
    or languages, by name or by number from 1; `split` chooses in a folder and on the hub, `configuration` concerns the
    hub only.
    """
    if second is not None:
        return TwoFiles(source=Path(path), target=Path(second))
    source, target = _number(source), _number(target)
    parts: list[AnyPart] = []
    paths: list[Path] = []
    for name in (path, *more):
        if str(name).startswith(PREFIX):
            hub = str(name).removeprefix(PREFIX)
            parts.append(HuggingFace(name=hub, configuration=configuration, split=split, source=source, target=target))
        else:
            paths += _find_paths(name, split)
    parts += [_find_part(item, source=source, target=target, split=split) for item in in_order(paths)]
    return parts[0] if len(parts) == 1 else Several(parts=tuple(parts))


def _find_part(path: Path, *, source: str | int | None, target: str | int | None, split: str) -> AnyPart:
    if is_folder(path):
        if is_saved_dataset(path):
            return SavedDataset(path=path, split=split, source=source, target=target)
        return Parquet(path=path, source=source, target=target)
    match _sniff(path):
        case "parquet":
            return Parquet(path=path, source=source, target=target)
        case "tmx":
            return Tmx(path=path, source=_language(source), target=_language(target))
        case "jsonl":
            return JsonLines(path=path, source=source, target=target)
        case "csv":
            return Csv(path=path, source=source, target=target)
        case "tsv":
            return Tsv(path=path, source=source, target=target)


def _find_paths(name: str | Path, split: str) -> list[Path]:
    """Give the files that a name means; folders of Parquet, and those that `datasets` saved, stay whole."""
    return [file for path in match_paths(name) for file in (_find_split(path, split) if is_folder(path) else [path])]


def _find_split(folder: Path, split: str) -> list[Path]:
    """Give the files of a folder that hold a split, such as train.jsonl, or the parts of one corpus."""
    if is_saved_dataset(folder) or any(entry.suffix == ".parquet" for entry in list_folder(folder)):
        return [folder]
    files = find_in_folder(folder, kinds=_KINDS, split=split)
    whole = [file for file in files if file.name.partition(".")[0] == split]
    if files and len(whole) < 2:
        return files
    others = [entry.name for entry in list_folder(folder) if file_kind(entry) in _KINDS][:3]
    received = f"{len(whole)} files of that name" if whole else join_names(others) or "no file"
    raise DataError(
        f"{folder} must hold *.parquet files, a data set saved by `datasets`, or one file of pairs called {split}, "
        f"such as {split}.tsv; received {received}. Name a file in it."
    )


def _missing(path: Path) -> str:
    """Report that there is nothing under this path, and what was probably meant."""
    if elsewhere := name_of_none(path):
        return f"{path} must be {_WANTED}; received {elsewhere}"
    advice = offer_folders(path, kinds=(*_KINDS, ""))
    return (
        f"{shown(path)} must be {_WANTED}; received {what_is_there(path)}. {advice} A data set of the Hugging Face hub "
        "is written hf:NAME."
    )


def _sniff(path: Path) -> Literal["parquet", "tmx", "jsonl", "csv", "tsv"]:
    if not is_file(path):
        raise DataError(_missing(path))
    with open_decompressed(path) as stream:
        start = stream.read(_START)
    if start.startswith(b"PAR1"):
        return "parquet"
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):  # UTF-16: of the text formats only XML may be
        return "tmx"
    text = start.decode("utf-8", errors="replace").removeprefix("\ufeff").lstrip()
    if text.startswith(("<?xml", "<!DOCTYPE tmx", "<tmx")):
        return "tmx"
    if text.startswith("{") and any(_is_object(line) for line in islice(text.split("\n"), 20)):
        return "jsonl"
    if file_kind(path) == ".csv" and any(separator in text for separator in (",", ";")):
        return "csv"
    if any("\t" in line for line in islice(text.split("\n"), 20)):
        return "tsv"
    raise DataError(
        f"{path} must be TSV, CSV, JSON Lines, TMX or Parquet when it comes alone; received neither a tab nor a JSON "
        f"object in its first lines: {text[:40]!r}. For two plain files, name both."
        f"{_OTHER_TASKS.get(file_kind(path), '')}"
    )


def _is_object(line: str) -> bool:
    try:
        return isinstance(load_json(line), dict)
    except ValueError:
        return False


def _number(column: str | int | None) -> str | int | None:
    if isinstance(column, str) and _NUMBER.fullmatch(column):
        return int(column)
    return column


def _language(language: str | int | None) -> str | None:
    if isinstance(language, int):
        raise DataError(f"A TMX file is read by language, such as de or en-GB; received the number {language}.")
    return language
