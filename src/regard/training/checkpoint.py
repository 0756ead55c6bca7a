"""Checkpoints that are there or not, never half: written aside, flushed, renamed, and verified when read.

A checkpoint is a folder `step-00000500` with `tensors.safetensors`, `state.json` and `digests.json`, the checksums of
the other two. Nothing in it is code.
"""

import errno
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from regard.errors import DataError
from regard.files import digest, flush, remove, write_whole
from regard.training.failure import using

_NAME = re.compile(r"step-([0-9]{8,})")
_TENSORS, _STATE, _DIGESTS = "tensors.safetensors", "state.json", "digests.json"


class Checkpoint(NamedTuple):
    """What was saved at a step."""

    step: int
    tensors: dict[str, Tensor]
    state: dict[str, Any]


class Newest(NamedTuple):
    """The newest good checkpoint, if there is one, and a line for each damaged one after it."""

    checkpoint: Checkpoint | None
    damaged: list[str]


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of one run."""

    folder: Path

    def steps(self) -> list[int]:
        """List the steps that have one, good or not, in order."""
        try:
            with using(self.folder):
                names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        matches = filter(None, map(_NAME.fullmatch, names))
        return sorted(int(match[1]) for match in matches if self._path(int(match[1])).name == match[0])

    def make(self) -> None:
        """Make the folder where it is not there, and raise where it could not be written to later."""
        with using(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            if not os.access(self.folder, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint so that, whenever the machine stops, it is whole or not there.

        The folder above must be there: one that was moved away while a run goes on is not made again unnoticed.
        """
        with using(self.folder):
            self._save(checkpoint)

    def _save(self, checkpoint: Checkpoint) -> None:
        self.folder.mkdir(exist_ok=True)
        self.sweep()
        aside, final = self.folder / f".writing-{checkpoint.step}", self._path(checkpoint.step)
        aside.mkdir()
        try:
            tensors = {name: item.contiguous() for name, item in checkpoint.tensors.items()}
            write_whole(aside / _TENSORS, lambda path: save_file(tensors, path))
            _write_json(aside / _STATE, checkpoint.state)
            _write_json(aside / _DIGESTS, {name: digest(aside / name) for name in (_TENSORS, _STATE)})
            for path in (*aside.iterdir(), aside):
                flush(path)
        except BaseException:
            remove(aside, best_effort=True)
            raise
        if os.path.lexists(final):  # of a run that was resumed before it: the same, or damaged
            final.rename(self.folder / f".replaced-{checkpoint.step}")
        aside.rename(final)
        flush(self.folder)
        self.sweep()

    def load(self, step: int) -> Checkpoint:
        """Read and verify the checkpoint of `step`."""
        with using(self._path(step)):
            return self._load(step)

    def _load(self, step: int) -> Checkpoint:
        path = self._path(step)
        try:
            digests = json.loads((path / _DIGESTS).read_text(encoding="utf-8"))
            for name in (_TENSORS, _STATE):
                if digest(path / name) != digests[name]:
                    raise DataError(f"{path / name} must have the checksum written beside it; received another.")
            state = json.loads((path / _STATE).read_text(encoding="utf-8"))
            return Checkpoint(step, read_tensors(path / _TENSORS), state)
        except (OSError, KeyError, TypeError, ValueError, RecursionError, SafetensorError) as error:
            if isinstance(error, DataError | PermissionError):  # what may not be read need not be damaged
                raise
            raise DataError(f"{path} must be a whole checkpoint; received {type(error).__name__}: {error}.") from error

    def newest(self, check: Callable[[Checkpoint], None] | None = None) -> Newest:
        """Read the newest checkpoint that is whole, and in which `check` finds nothing wrong."""
        damaged: list[str] = []
        for step in reversed(self.steps()):
            with using(self._path(step)):
                try:
                    checkpoint = self._load(step)
                    if check is not None:
                        check(checkpoint)
                    return Newest(checkpoint, damaged)
                except DataError as error:
                    damaged.append(str(error))
        return Newest(None, damaged)

    def prune(self, keep: Iterable[int]) -> None:
        """Remove every checkpoint but those of the steps `keep`."""
        kept = set(keep)
        for step in self.steps():
            if step not in kept:
                # Under another name first, so that no half-removed folder passes for a checkpoint.
                gone = self.folder / f".replaced-{step}"
                with using(self.folder):
                    remove(gone, best_effort=True)
                    self._path(step).rename(gone)
                remove(gone, best_effort=True)

    def sweep(self) -> None:
        """Remove what an interrupted save or removal has left."""
        for pattern in (".writing-*", ".replaced-*"):
            for path in self.folder.glob(pattern):
                remove(path, best_effort=True)

    def _path(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}"


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file into memory of our own: the file may be removed afterwards."""
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (not a mapping)


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
