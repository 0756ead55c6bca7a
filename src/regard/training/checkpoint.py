"""Checkpoints that are there or not, never half: written aside, flushed, renamed, and verified when read.

A checkpoint is a folder `step-00000500` with `tensors.safetensors`, `state.json` and `digests.json`, the checksums of
the others. Where the parameters are divided over processes, `shards/` holds what each of them has (sharded.py).
Nothing in it is code.
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
from regard.training.sharded import NAME, read_whole

_NAME = re.compile(r"step-([0-9]{8,})")
_TENSORS, _STATE, _DIGESTS, _SHARDS = "tensors.safetensors", "state.json", "digests.json", "shards"


class Checkpoint(NamedTuple):
    """What was saved at a step."""

    step: int
    tensors: dict[str, Tensor]
    state: dict[str, Any]
    shards: Path | None = None
    """Where the tensors are that are not among these, because processes share them."""

    def whole(self) -> "Checkpoint":
        """Give it with every tensor, in the memory of this process."""
        return (
            self if self.shards is None else Checkpoint(self.step, self.tensors | read_whole(self.shards), self.state)
        )


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

    def prepare(self, step: int, *, leads: bool = True) -> Path:
        """Give the folder that every process writes its shards into, before the first one saves the rest."""
        aside = self.folder / f".writing-{step}"
        if leads:
            with using(self.folder):
                self.folder.mkdir(exist_ok=True)
                self.sweep()
                (aside / _SHARDS).mkdir(parents=True)
        return aside / _SHARDS

    def save(self, checkpoint: Checkpoint, *, shards: Mapping[str, str] | None = None) -> None:
        """Write a checkpoint so that, whenever the machine stops, it is whole or not there.

        The folder above must be there: one that was moved away while a run goes on is not made again unnoticed.
        `shards` are the checksums of the files that processes have written into the folder that `prepare` gave.
        """
        with using(self.folder):
            self._save(checkpoint, shards)

    def _save(self, checkpoint: Checkpoint, shards: Mapping[str, str] | None) -> None:
        aside, final = self.folder / f".writing-{checkpoint.step}", self._path(checkpoint.step)
        if shards is None:
            self.folder.mkdir(exist_ok=True)
            self.sweep()
            aside.mkdir()
        try:
            tensors = {name: item.contiguous() for name, item in checkpoint.tensors.items()}
            write_whole(aside / _TENSORS, lambda path: save_file(tensors, path))
            _write_json(aside / _STATE, checkpoint.state)
            digests = {f"{_SHARDS}/{name}": known for name, known in (shards or {}).items()}
            _write_json(aside / _DIGESTS, digests | {name: digest(aside / name) for name in (_TENSORS, _STATE)})
            for path in (*aside.rglob("*"), aside):
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
        """Read and verify the checkpoint of `step`, but for its shards, which `Checkpoint.whole` reads."""
        with using(self._path(step)):
            return self._load(step)

    def _load(self, step: int) -> Checkpoint:
        path = self._path(step)
        try:
            digests = json.loads((path / _DIGESTS).read_text(encoding="utf-8"))
            shards = _shard_files(path, digests)
            for name in (_TENSORS, _STATE, *shards):
                if digest(path / name) != digests[name]:
                    raise DataError(f"{path / name} must have the checksum written beside it; received another.")
            state = json.loads((path / _STATE).read_text(encoding="utf-8"))
            return Checkpoint(step, read_tensors(path / _TENSORS), state, path / _SHARDS if shards else None)
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


def _shard_files(path: Path, digests: Mapping[str, str]) -> list[str]:
    """List the shards that the checksums are of, which must be all there are."""
    known = sorted(name for name in digests if name.startswith(f"{_SHARDS}/"))
    names = sorted(os.listdir(path / _SHARDS)) if (path / _SHARDS).is_dir() else []
    if known != [f"{_SHARDS}/{name}" for name in names] or not all(map(NAME.fullmatch, names)):
        raise DataError(f"{path / _SHARDS} must hold the {len(known)} files of {_DIGESTS}; received {len(names)}.")
    return known


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file into memory of our own: the file may be removed afterwards."""
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (not a mapping)


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
