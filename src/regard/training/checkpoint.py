"""Checkpoints that are there or not, never half: written aside, flushed, renamed, and verified when read.

A checkpoint is a folder `step-00000500` with `tensors.safetensors`, `state.json` and `digests.json`, the checksums of
the other two. Nothing in it is code.
"""

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from regard.errors import DataError
from regard.files import digest, flush, write_whole

_NAME = re.compile(r"step-(\d{8,})")
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
        found = (_NAME.fullmatch(path.name) for path in self.folder.glob("step-*"))
        return sorted(int(match[1]) for match in found if match)

    def save(self, checkpoint: Checkpoint) -> None:
        """Write a checkpoint so that, whenever the machine stops, it is whole or not there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.sweep()
        aside, place = self.folder / f".writing-{checkpoint.step}", self._place(checkpoint.step)
        aside.mkdir()
        try:
            tensors = {name: one.contiguous() for name, one in checkpoint.tensors.items()}
            write_whole(aside / _TENSORS, lambda path: save_file(tensors, path))
            _write_json(aside / _STATE, checkpoint.state)
            _write_json(aside / _DIGESTS, {name: digest(aside / name) for name in (_TENSORS, _STATE)})
            for path in (*aside.iterdir(), aside):
                flush(path)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        if place.exists():  # of a run that was resumed before it: the same, or damaged
            place.rename(self.folder / f".replaced-{checkpoint.step}")
        aside.rename(place)
        flush(self.folder)
        self.sweep()

    def load(self, step: int) -> Checkpoint:
        """Read and verify the checkpoint of `step`."""
        place = self._place(step)
        try:
            digests = json.loads((place / _DIGESTS).read_text(encoding="utf-8"))
            for name in (_TENSORS, _STATE):
                if digest(place / name) != digests[name]:
                    raise DataError(f"{place / name} must have the checksum written beside it; received another.")
            state = json.loads((place / _STATE).read_text(encoding="utf-8"))
            return Checkpoint(step, read_tensors(place / _TENSORS), state)
        except (OSError, KeyError, TypeError, ValueError, SafetensorError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{place} must be a whole checkpoint; received {type(error).__name__}: {error}.") from error

    def newest(self) -> Newest:
        """Read the newest checkpoint that is whole."""
        damaged: list[str] = []
        for step in reversed(self.steps()):
            try:
                return Newest(self.load(step), damaged)
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
                self._place(step).rename(gone)
                shutil.rmtree(gone, ignore_errors=True)

    def sweep(self) -> None:
        """Remove what an interrupted save or removal has left."""
        for pattern in (".writing-*", ".replaced-*"):
            for path in self.folder.glob(pattern):
                shutil.rmtree(path, ignore_errors=True)

    def _place(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}"


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file into memory of our own: the file may be removed afterwards."""
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (not a mapping)


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
