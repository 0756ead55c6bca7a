"""A file translated into another, of any size, in constant memory, so that a run that was stopped goes on.

The output grows in FILE.partial. Beside it FILE.progress says how far it is known to be good: it is replaced, whole,
after every chunk of lines. When all is done FILE.partial takes the name FILE, and FILE.progress is removed. So FILE is
there, complete, or it is not.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from regard.errors import ArgumentError, DataError
from regard.tasks.text_lines import ByteStream, RawLine, gather_lines, split_lines
from regard.tasks.translate_lines import LineTranslator, Tally
from regard.training.checkpoint import flush, write_text

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
        try:
            return Journal(**json.loads(self.progress.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            raise DataError(
                f"{self.progress} must be what `regard translate` wrote; received: {error}. "
                "Begin anew with --overwrite."
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
        with self.partial.open("ab") as file:
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
    - `overwrite`: replace a file that is there, and begin anew where the journal is of other settings.
    - `chunk_lines`: lines between two journals; they are also what is sorted by length.
    """
    place = OutputPlace(target)
    place.check()
    if _is_done(place, settings):
        place.complete()
        return
    if target.exists() and not overwrite:
        raise ArgumentError(
            f"`--output` must be a file that is not there yet; {target} is. Name another, or replace it with "
            "--overwrite."
        )
    with place.opened() as file:
        journal = _begin(place, settings, overwrite=overwrite)
        file.truncate(journal.output_bytes)
        _go_on(work, source, place, file, journal, watch, chunk_lines)
    place.complete()


def _is_done(place: OutputPlace, settings: Mapping[str, str]) -> bool:
    """Say whether all was done but the last renaming."""
    try:
        journal = place.read()
    except DataError:
        return False
    return journal is not None and journal.finished and journal.settings == settings


def _begin(place: OutputPlace, settings: Mapping[str, str], *, overwrite: bool) -> Journal:
    """Give the journal to go on from, or a new one."""
    fresh = Journal(settings=dict(settings))
    try:
        journal = place.read()
        if journal is not None:
            _check_same(place, journal, settings)
            return journal
    except ArgumentError:
        if not overwrite:
            raise
    place.write(fresh)
    return fresh


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
    source: ByteStream,
    place: OutputPlace,
    file: BinaryIO,
    journal: Journal,
    watch: Watch,
    chunk_lines: int,
) -> None:
    lines = split_lines(source)
    digest, rest, size = _skip(lines, journal, place)
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

    def remaining() -> Iterator[list[RawLine]]:
        yield rest
        yield from lines

    for chunk in gather_lines(remaining(), most_lines=chunk_lines):
        written += file.write(work(chunk))
        _add(digest, chunk)
        size += sum(line.size for line in chunk)
        write_journal()
        watch(work.lines, size)
    write_journal(finished=True)


def _skip(lines: Iterator[list[RawLine]], journal: Journal, place: OutputPlace) -> tuple[Any, list[RawLine], int]:
    """Pass over the lines that are done, and check that they are the same; give those read beyond them."""
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
            f"Put it back to go on, or remove {place.progress} to begin anew."
        )
    return digest, rest, size


def _add(digest: Any, lines: list[RawLine]) -> None:
    for line in lines:
        digest.update(line.content + b"\n")
