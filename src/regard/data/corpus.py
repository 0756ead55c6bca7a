"""From "these files" to a stream of pairs: find the format by looking, then read it, counting what is bad."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Literal, TypeAlias

from regard.data.compressed import file_kind, missing_file, open_decompressed
from regard.data.formats import HuggingFace, JsonLines, Parquet, Tmx, Tsv, TwoFiles
from regard.data.formats.hugging_face import is_saved_dataset
from regard.data.pair import Pair
from regard.data.records import Corpus
from regard.data.report import Report
from regard.errors import DataError

AnyCorpus: TypeAlias = TwoFiles | Tsv | JsonLines | Tmx | Parquet | HuggingFace

_START = 1 << 16
_OTHER_TASKS = {
    ".csv": " Is it for --task classify?",
    ".jsonl": " Is it for --task classify?",
    ".txt": " Is it for --task language?",
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


def find_corpus(
    path: str | Path,
    second: str | Path | None = None,
    *,
    source: str | int | None = None,
    target: str | int | None = None,
    split: str = "train",
    configuration: str | None = None,
) -> AnyCorpus:
    """Say what `path` is: one of two plain files, or by its content TSV, JSON Lines, TMX, Parquet or a saved dataset.

    A name that is neither file nor folder and looks like one on the Hugging Face hub (`name` or `owner/name`) is taken
    for that. `source` and `target` are columns, keys or languages, by name or by number from 1; `split` and
    `configuration` concern datasets only.
    """
    place = Path(path)
    if second is not None:
        return TwoFiles(source=place, target=Path(second))
    source, target = _number(source), _number(target)
    if place.is_dir() and not is_saved_dataset(place) and any(place.glob("*.parquet")):
        return Parquet(path=place, source=source, target=target)
    if place.is_dir() or (not place.exists() and _may_be_on_hub(str(path))):
        return HuggingFace(name=str(path), configuration=configuration, split=split, source=source, target=target)
    match _sniff(place):
        case "parquet":
            return Parquet(path=place, source=source, target=target)
        case "tmx":
            return Tmx(path=place, source=_language(source), target=_language(target))
        case "jsonl":
            return JsonLines(path=place, source=source, target=target)
        case "tsv":
            return Tsv(path=place, source=source, target=target)


def _sniff(path: Path) -> Literal["parquet", "tmx", "jsonl", "tsv"]:
    if not path.is_file():
        raise DataError(missing_file(path))
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
    if any("\t" in line for line in islice(text.split("\n"), 20)):
        return "tsv"
    raise DataError(
        f"{path} must be TSV, JSON Lines, TMX or Parquet when it comes alone; received neither a tab nor a JSON object "
        f"in its first lines: {text[:40]!r}. For two plain files, name both.{_OTHER_TASKS.get(file_kind(path), '')}"
    )


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _may_be_on_hub(name: str) -> bool:
    return len(name.split("/")) <= 2 and not name.startswith((".", "/", "~")) and "." not in name.rpartition("/")[2]


def _number(column: str | int | None) -> str | int | None:
    return int(column) if isinstance(column, str) and column.isascii() and column.isdecimal() else column


def _language(language: str | int | None) -> str | None:
    if isinstance(language, int):
        raise DataError(f"A TMX file is read by language, such as de or en-GB; received the number {language}.")
    return language
