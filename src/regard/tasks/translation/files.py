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
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from regard.errors import ArgumentError, DataError, brief, join_names
from regard.files import flush, open_to_append, read_json, write_text
from regard.tasks.text_lines import ByteStream, RawLine, gather_lines, split_lines
from regard.tasks.translation.lines import LineTranslator, Tally
from regard.training.failure import is_disk_full

Watch: TypeAlias = Callable[[int, int], None]
"""Receives how many lines, and bytes of input, are done."""
CHUNK_LINES = 2000
_MOST_BYTES = 2**20
"""Of a journal."""
_BLOCK = 2**20


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

    @classmethod
    def from_table(cls, table: Any) -> "Journal":
        """Read what was written; whatever else it is, is an error."""
        if not isinstance(table, dict) or table.keys() != _TYPES.keys():
            keys = join_names(table, letters=200) or "no keys" if isinstance(table, dict) else type(table).__name__
            raise DataError(f"it must have the keys {', '.join(_TYPES)}; received {keys}")
        for name, kind in _TYPES.items():
            if type(table[name]) is not kind or (kind is int and table[name] < 0):
                raise DataError(f"{name} must be {_KINDS[kind]}; received {type(table[name]).__name__}")
        if not all(isinstance(value, str) for value in table["settings"].values()):
            raise DataError("settings must be texts; received something else")
        Tally.from_table(table["tally"])
        return cls(**table)


_TYPES = {"settings": dict, "lines": int, "output_bytes": int, "digest": str, "finished": bool, "tally": dict}
_KINDS = {dict: "a table", int: "a number from 0", str: "text", bool: "true or false"}


@dataclass(frozen=True)
class OutputFile:
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
        """Raise where no file can be written, such as under a name that leaves no letter for the journal's."""
        with self._writing(self.progress), suppress(FileNotFoundError, NotADirectoryError):
            os.stat(self.progress.with_name(f".{self.progress.name}.writing"))
        if os.path.isdir(self.path):
            raise ArgumentError(f"`output` must be a file; received the folder {self.path}. Name a file in it.")
        if not os.path.isdir(self.path.parent):
            raise ArgumentError(
                f"`output` must be in a folder that is there; received {self.path}. Make it: mkdir -p "
                f"{self.path.parent}"
            )

    def read(self) -> Journal | None:
        """Read the journal, if there is one."""
        if not self.progress.exists():
            return None
        try:
            return Journal.from_table(read_json(self.progress).value)
        except (OSError, ValueError) as error:
            raise DataError(
                f"{self.progress} must be what `regard translate` wrote; received: {error} Begin anew with "
                "`overwrite=True`."
            ) from error

    def write(self, journal: Journal) -> None:
        """Replace the journal, whole."""
        with self._writing(self.progress):
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
        with self._writing(self.partial):
            opened = open_to_append(self.partial)
        with opened as file:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # Windows
                pass
            except BlockingIOError as error:
                raise ArgumentError(
                    f"`output` must be a file that no other process writes; {self.path} is being translated. Wait "
                    "for it, or name another."
                ) from error
            yield file

    @contextmanager
    def _writing(self, path: Path) -> Iterator[None]:
        """Describe what cannot be written; of a disk that is full the caller knows more."""
        try:
            yield
        except OSError as error:
            if is_disk_full(error):
                raise
            raise ArgumentError(
                f"`output` must be a file that can be written; {brief(str(path), letters=300)} cannot "
                f"({error.strerror}). Name another, in a folder of your own."
            ) from error


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
    output_file = OutputFile(target)
    output_file.check()
    rewind = _rewinder(source)
    resuming = not overwrite or rewind is not None
    if resuming and (done := _find_done(output_file, source, settings)) is not None:
        work.lines, work.tally = done.lines, Tally.from_table(done.tally)
        output_file.complete()
        return
    if os.path.exists(target) and not overwrite:
        raise ArgumentError(
            f"`output` must be a file that is not there yet; {target} is. Name another, or replace it with "
            "`overwrite=True`."
        )
    going = resuming and os.path.exists(output_file.partial)
    with output_file.opened() as file:
        if overwrite and rewind is not None:
            rewind()
        journal, rest = _begin(output_file, source, settings, going=going, rewind=rewind if overwrite else None)
        file.truncate(journal.output_bytes)
        _go_on(work, rest, output_file, file, journal, watch, chunk_lines)
    output_file.complete()


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


def _find_done(output: OutputFile, source: ByteStream, settings: Mapping[str, str]) -> Journal | None:
    """Give the journal where all was done for this very input, and the output has its name, but the journal is left."""
    if os.path.exists(output.partial) or not os.path.isfile(output.path):
        return None
    try:
        journal = output.read()
        if journal is None or not journal.finished or journal.settings != settings:
            return None
        if output.path.stat().st_size != journal.output_bytes:
            return None
        rest = _skip(source, journal, output)
    except DataError:
        return None
    return None if any(rest.lines) else journal


def _begin(
    output: OutputFile,
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
        journal = output.read() if going else None
        if journal is not None:
            _check_same(output, journal, settings)
            return journal, _skip(source, journal, output)
    except ArgumentError:
        if rewind is None:
            raise
        rewind()
    fresh = Journal(settings=dict(settings))
    output.write(fresh)
    return fresh, _skip(source, fresh, output)


def _check_same(output: OutputFile, journal: Journal, settings: Mapping[str, str]) -> None:
    names = [*journal.settings, *(name for name in settings if name not in journal.settings)]
    changed = [
        f"{brief(name)} was {brief(journal.settings.get(name), letters=100)}, now {settings.get(name)}"
        for name in names
        if journal.settings.get(name) != settings.get(name)
    ]
    if changed:
        raise ArgumentError(
            f"`output` must be new, or that of the same command, which then goes on; {output.path} was begun with "
            f"another: {brief('; '.join(changed), letters=800)}. Give that command, or begin anew with "
            "`overwrite=True`."
        )
    size = output.partial.stat().st_size
    if size < journal.output_bytes:
        raise DataError(
            f"{output.partial} must have the {journal.output_bytes:,} bytes that were written; received {size:,}. "
            "Begin anew with `overwrite=True`."
        )
    lines, ended = _count_lines(output.partial, journal.output_bytes)
    if lines != journal.lines or not ended:
        raise DataError(
            f"{output.partial} must have the {journal.lines:,} lines that {output.progress.name} speaks of in its "
            f"first {journal.output_bytes:,} bytes; received {lines:,}{'' if ended else ' and a part of one'}. Begin "
            "anew with `overwrite=True`."
        )


def _count_lines(path: Path, size: int) -> tuple[int, bool]:
    """Count the lines in the first bytes of a file, and say whether these end with one."""
    lines, last = 0, b"\n"
    with path.open("rb") as file:
        while size and (block := file.read(min(size, _BLOCK))):
            lines, last, size = lines + block.count(b"\n"), block[-1:], size - len(block)
    return lines, last == b"\n"


def _go_on(
    work: LineTranslator,
    rest: _Rest,
    output: OutputFile,
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
        output.write(
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


def _skip(source: ByteStream, journal: Journal, output: OutputFile) -> _Rest:
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
            f"The input must be as it was when {output.path} was begun; its first {journal.lines:,} lines have "
            "changed. Put it back to go on, or begin anew with `overwrite=True`."
        )
    return _Rest(digest, size, itertools.chain([rest] if rest else [], lines))


def _add(digest: Any, lines: list[RawLine]) -> None:
    for line in lines:
        digest.update(line.content + b"\n")
