"""A file translated into another, of any size, in constant memory, so that a run that was stopped goes on.

The output grows in FILE.partial. Beside it FILE.progress says how far it is known to be good: it is replaced, whole,
after every chunk of lines. When all is done FILE.partial takes the name FILE, and FILE.progress is removed. So FILE is
there, complete, or it is not.
"""

import hashlib
import io
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from regard.errors import ArgumentError, DataError
from regard.files import Entry, flush, open_to_append, read_json, write_text
from regard.tasks.text_lines import ByteStream, RawLine, gather_lines, split_lines
from regard.tasks.translate_lines import LineTranslator, Tally

Watch: TypeAlias = Callable[[int, int], None]
"""Told how many lines, and bytes of input, are done."""
CHUNK_LINES = 2000


@dataclass(frozen=True, kw_only=True)
class Journal:
    """How far a file is translated."""

    settings: Mapping[str, str]
    """What decides the output, by name."""
    lines: int = 0
    """Lines that are done."""
    output_bytes: int = 0
    """Bytes of FILE.partial that hold them."""
    digest: str = ""
    """A checksum of those lines of the input."""
    finished: bool = False
    """Whether the input has no more lines."""
    tally: Mapping[str, Any] = field(default_factory=dict)
    """What there was to warn of."""


@dataclass(frozen=True)
class OutputPlace:
    """Where an output goes."""

    path: Path

    @property
    def partial(self) -> Path:
        """What is there so far."""
        return self.path.with_name(f"{self.path.name}.partial")

    @property
    def progress(self) -> Path:
        """The journal."""
        return self.path.with_name(f"{self.path.name}.progress")

    def check(self) -> None:
        """Raise where no file can be written."""
        if self.path.is_dir():
            raise ArgumentError(f"`--output` must be a file; received the folder {self.path}. Name a file in it.")
        if not self.path.parent.is_dir():
            raise ArgumentError(
                f"`--output` must be in a folder that is there; received {self.path}. Make it: mkdir -p "
                f"{self.path.parent}"
            )

    def read(self) -> Journal | None:
        """Read the journal, if there is one."""
        if not self.progress.exists():
            return None
        try:
            return _read_journal(read_json(self.progress))
        except DataError as error:
            raise DataError(
                f"{self.progress} must be what `regard translate` wrote; received: {error} Begin anew with --overwrite."
            ) from error

    def write(self, journal: Journal) -> None:
        """Replace the journal, whole."""
        write_text(self.progress, json.dumps(asdict(journal)))

    def complete(self) -> None:
        """Give the output its name, and remove the journal."""
        if self.partial.exists():
            self.partial.replace(self.path)
            flush(self.path.parent)
        self.progress.unlink(missing_ok=True)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open what is there so far, for this process alone."""
        with open_to_append(self.partial) as file:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # Windows
                pass
            except BlockingIOError as error:
                raise ArgumentError(
                    f"`--output` must be a file that no other process writes; {self.path} is being translated. Wait "
                    "for it, or name another."
                ) from error
            yield file


def _read_journal(table: Entry) -> Journal:
    """Read every value of a journal as what it is."""
    tally = table["tally"]
    numbers = {name: tally[name].whole() for name in ("broken_bytes", "broken_lines", "cut_lines") if tally.table()}
    lists = ("first_broken", "first_cut") if numbers else ()
    firsts = {name: [number.whole() for number in tally[name].items()] for name in lists}
    return Journal(
        settings={name: table["settings"][name].text() for name in table["settings"].table()},
        lines=table["lines"].whole(),
        output_bytes=table["output_bytes"].whole(),
        digest=table["digest"].text(),
        finished=table["finished"].flag(),
        tally={**numbers, **firsts, "utf16": tally["utf16"].flag()} if numbers else {},
    )


def translate_file(
    work: LineTranslator,
    source: ByteStream,
    target: Path,
    *,
    settings: Mapping[str, str],
    overwrite: bool = False,
    watch: Watch = lambda lines, size: None,
    chunk_lines: int = CHUNK_LINES,
) -> None:
    """Translate the lines of `source` into the file `target`, or go on where an earlier call stopped.

    - `settings`: what decides the output (model, search, …): a call with others does not go on.
    - `overwrite`: replace a file that is there, and begin anew where the journal is of other settings or another input.
      A pipe cannot be read twice to find out, and is always begun anew.
    - `chunk_lines`: lines between two journals; they are also what is sorted by length.
    """
    place = OutputPlace(target)
    place.check()
    rewind = _rewinder(source)
    looking = not overwrite or rewind is not None
    if looking and (done := _find_done(place, source, settings)) is not None:
        work.lines, work.tally = done.lines, Tally.from_table(done.tally)
        place.complete()
        return
    if target.exists() and not overwrite:
        raise ArgumentError(
            f"`--output` must be a file that is not there yet; {target} is. Name another, or replace it with "
            "--overwrite."
        )
    going = looking and place.partial.exists()
    with place.opened() as file:
        if overwrite and rewind is not None:
            rewind()
        journal, rest = _begin(place, source, settings, going=going, rewind=rewind if overwrite else None)
        file.truncate(journal.output_bytes)
        _go_on(work, rest, place, file, journal, watch, chunk_lines)
    place.complete()


class _Rest(NamedTuple):
    """An input, read as far as it is done."""

    digest: Any
    """Of what is done."""
    size: int
    """Its bytes."""
    lines: Iterator[list[RawLine]]
    """What is left."""


def _rewinder(source: ByteStream) -> Callable[[], object] | None:
    """Give what goes back to where the input is now; None for a pipe."""
    if not isinstance(source, io.IOBase) or not source.seekable():
        return None
    begin = source.tell()
    return lambda: source.seek(begin)


def _find_done(place: OutputPlace, source: ByteStream, settings: Mapping[str, str]) -> Journal | None:
    """Give the journal where all was done for this very input, and the output has its name, but the journal is left."""
    if place.partial.exists() or not place.path.is_file():
        return None
    try:
        journal = place.read()
        if journal is None or not journal.finished or journal.settings != settings:
            return None
        if place.path.stat().st_size != journal.output_bytes:
            return None
        rest = _skip(source, journal, place)
    except DataError:
        return None
    return None if any(rest.lines) else journal


def _begin(
    place: OutputPlace,
    source: ByteStream,
    settings: Mapping[str, str],
    *,
    going: bool,
    rewind: Callable[[], object] | None,
) -> tuple[Journal, _Rest]:
    """Give the journal to go on from, or a new one, with the rest of the input.

    Where the journal is of other settings or of another input, `rewind` is called to begin anew; None to refuse.
    """
    try:
        journal = place.read() if going else None
        if journal is not None:
            _check_same(place, journal, settings)
            return journal, _skip(source, journal, place)
    except ArgumentError:
        if rewind is None:
            raise
        rewind()
    fresh = Journal(settings=dict(settings))
    place.write(fresh)
    return fresh, _skip(source, fresh, place)


def _check_same(place: OutputPlace, journal: Journal, settings: Mapping[str, str]) -> None:
    names = [*journal.settings, *(name for name in settings if name not in journal.settings)]
    changed = [
        f"{name} was {journal.settings.get(name)}, now {settings.get(name)}"
        for name in names
        if journal.settings.get(name) != settings.get(name)
    ]
    if changed:
        raise ArgumentError(
            f"`--output` must be new, or that of the same command, which then goes on; {place.path} was begun with "
            f"another: {'; '.join(changed)}. Give that command, or begin anew with --overwrite."
        )
    size = place.partial.stat().st_size
    if size < journal.output_bytes:
        raise DataError(
            f"{place.partial} must have the {journal.output_bytes:,} bytes that were written; received {size:,}. Begin "
            "anew with --overwrite."
        )


def _go_on(
    work: LineTranslator,
    rest: _Rest,
    place: OutputPlace,
    file: BinaryIO,
    journal: Journal,
    watch: Watch,
    chunk_lines: int,
) -> None:
    digest, size, lines = rest
    work.lines, work.tally = journal.lines, Tally.from_table(journal.tally)
    watch(work.lines, size)
    written = journal.output_bytes

    def write_journal(*, finished: bool = False) -> None:
        file.flush()
        os.fsync(file.fileno())
        place.write(
            Journal(
                settings=journal.settings,
                lines=work.lines,
                output_bytes=written,
                digest=digest.hexdigest(),
                finished=finished,
                tally=work.tally.to_table(),
            )
        )

    for chunk in gather_lines(lines, most_lines=chunk_lines):
        written += file.write(work(chunk))
        _add(digest, chunk)
        size += sum(line.size for line in chunk)
        write_journal()
        watch(work.lines, size)
    write_journal(finished=True)


def _skip(source: ByteStream, journal: Journal, place: OutputPlace) -> _Rest:
    """Pass over the lines that are done, and check that they are the same."""
    lines = split_lines(source)
    digest, left, size = hashlib.sha256(), journal.lines, 0
    rest: list[RawLine] = []
    while left:
        rest = next(lines, [])
        if not rest:
            break
        done, rest = rest[:left], rest[left:]
        _add(digest, done)
        size += sum(line.size for line in done)
        left -= len(done)
    if left or (journal.lines and digest.hexdigest() != journal.digest):
        raise DataError(
            f"`--input` must be as it was when {place.path} was begun; its first {journal.lines:,} lines have changed. "
            "Put it back to go on, or begin anew with --overwrite."
        )
    return _Rest(digest, size, itertools.chain([rest] if rest else [], lines))


def _add(digest: Any, lines: list[RawLine]) -> None:
    for line in lines:
        digest.update(line.content + b"\n")
