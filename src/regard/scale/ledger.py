"""The blocks of an output that are finished, recorded so that a job that was killed goes on, to the same file.

Beside the output FILE the folder FILE.blocks holds job.json, which names all that decides the output, and a file for
each finished block: a line of JSON, with checksums of what came in and what came out, and then the output itself. Each
is written whole, by one rename. When all are there, FILE is written in their order, appears by a rename, and the folder
is removed. So FILE is there, complete, or it is not, whoever is killed, and when.

What is read here is as untrusted as any file: it is bounded, checked, and computed again where it is not as recorded.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from regard.errors import ArgumentError, DataError, RegardError, brief
from regard.files import open_to_append, parse_json, read_json, remove, write_text, write_whole
from regard.scale.blocks import Block

_JOB = "job.json"
_NAME = re.compile(r"[0-9]{5}-[0-9]{3}")
_HEAD = 1 << 20
"""Bytes of the line that says what a block holds, at most."""
_COPIED = 1 << 20


class Record(NamedTuple):
    """What is known of a block that is finished."""

    number: int
    input: str
    output: str
    """Checksums."""
    size: int
    facts: dict[str, Any]
    """What else the work gave."""


@dataclass(frozen=True)
class Ledger:
    """The finished blocks of one output."""

    output: Path

    @property
    def folder(self) -> Path:
        """Where they are."""
        return self.output.with_name(f"{self.output.name}.blocks")

    @contextmanager
    def opened(self, settings: Mapping[str, str], *, overwrite: bool = False) -> Iterator[None]:
        """Begin a job, or go on with it, for this process alone; `settings` are all that decides the output."""
        self._check_output(overwrite)
        self.folder.mkdir(exist_ok=True)
        with self._locked():
            if overwrite and not self._is_same(settings):
                for path in self.folder.iterdir():
                    if path.name != ".lock":
                        remove(path)
            self._check_same(settings)
            write_text(self.folder / _JOB, json.dumps({"settings": dict(settings)}))
            yield

    def record(self, block: Block, content: bytes, facts: Mapping[str, Any]) -> None:
        """Record a finished block; one that is there already is replaced by the same."""
        lines = content.count(b"\n")
        if lines != block.lines or not content.endswith(b"\n"):
            raise DataError(
                f"Block {block.number} must have {block.lines:,} lines of output, each with its end; received "
                f"{lines:,}. Whoever computed it is at fault: report it."
            )
        head = {
            "number": block.number,
            "input": block.digest,
            "output": hashlib.sha256(content).hexdigest(),
            "size": len(content),
            "facts": dict(facts),
        }
        write_whole(self._path(block), lambda aside: aside.write_bytes(json.dumps(head).encode() + b"\n" + content))

    def finished(self, blocks: Sequence[Block]) -> dict[int, Record]:
        """Give the records of blocks whose input and output are as recorded; what is damaged is as if it were not."""
        records = {}
        there = {path.name for path in self.folder.iterdir() if _NAME.fullmatch(path.name)}
        for block in blocks:
            if self._path(block).name in there:
                try:
                    records[block.number] = self._copy(block, lambda content: None)
                except (RegardError, OSError):
                    continue
        return records

    def complete(self, blocks: Sequence[Block]) -> list[Record]:
        """Write the output from its blocks, in order, give it its name, and remove the ledger; give the records."""
        records: list[Record] = []

        def write(aside: Path) -> None:
            with aside.open("wb") as file:
                records.extend(self._copy(block, file.write) for block in blocks)

        write_whole(self.output, write)
        remove(self.folder, best_effort=True)
        return records

    def _copy(self, block: Block, write: Callable[[bytes], object]) -> Record:
        """Read a block, hand its output to `write`, and check it."""
        path = self._path(block)
        with path.open("rb") as file:
            record = _read_head(file, path)
            digest, left = hashlib.sha256(), record.size
            while left and (content := file.read(min(left, _COPIED))):
                digest.update(content)
                write(content)
                left -= len(content)
            whole = not left and not file.read(1)
        expected = (block.number, block.digest)
        if not whole or digest.hexdigest() != record.output or (record.number, record.input) != expected:
            raise DataError(f"{path} must hold block {block.number} as it was recorded; received something else.")
        return record

    def _path(self, block: Block) -> Path:
        return self.folder / f"{block.number // 1000:05d}-{block.number % 1000:03d}"

    def _check_output(self, overwrite: bool) -> None:
        if self.output.is_dir():
            raise ArgumentError(f"`output` must be a file; received the folder {self.output}. Name a file in it.")
        if not self.output.parent.is_dir():
            raise ArgumentError(f"`output` must be in a folder that is there; received {self.output}.")
        if self.output.exists() and not overwrite:
            raise ArgumentError(
                f"`output` must be a file that is not there yet; {self.output} is. Name another, or replace it with "
                "`overwrite=True`."
            )

    def _settings(self) -> dict[str, str] | None:
        path = self.folder / _JOB
        if not path.exists():
            return None
        table = read_json(path)["settings"].table()
        if not all(isinstance(value, str) for value in table.values()):
            raise DataError(f"{path}: settings must be texts; received something else.")
        return table

    def _is_same(self, settings: Mapping[str, str]) -> bool:
        try:
            return self._settings() == settings
        except DataError:
            return False

    def _check_same(self, settings: Mapping[str, str]) -> None:
        try:
            before = self._settings()
        except DataError as error:
            raise DataError(f"{error} Begin anew with `overwrite=True`.") from error
        if before is None or before == settings:
            return
        changed = [
            f"{brief(name)} was {brief(before.get(name), letters=100)}, now {brief(settings.get(name), letters=100)}"
            for name in {**before, **settings}
            if before.get(name) != settings.get(name)
        ]
        raise ArgumentError(
            f"`output` must be new, or that of the same command, which then goes on; {self.output} was begun with "
            f"another: {brief('; '.join(changed), letters=800)}. Give that command, or begin anew with "
            "`overwrite=True`."
        )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            file = open_to_append(self.folder / ".lock")
        except OSError as error:
            raise ArgumentError(
                f"`output` must be a file that can be written; {self.folder} cannot ({error.strerror}). Name another."
            ) from error
        with file:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # Windows
                pass
            except BlockingIOError as error:
                raise ArgumentError(
                    f"`output` must be a file that no other process writes; {self.output} is being written. Wait "
                    "for it, or name another."
                ) from error
            yield


def _read_head(file: BinaryIO, path: Path) -> Record:
    line = file.readline(_HEAD)
    if not line.endswith(b"\n"):
        raise DataError(f"{path} must begin with a line of at most {_HEAD:,} bytes; received a longer one, or none.")
    entry = parse_json(line, path)
    size = entry["size"].whole(most=os.fstat(file.fileno()).st_size)
    texts = entry["input"].text(), entry["output"].text()
    return Record(entry["number"].whole(), *texts, size, entry["facts"].table())
