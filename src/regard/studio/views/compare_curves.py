"""Training curves: the figures of a run, read on from where they were read last, while it may still be going."""

import os
import time
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

from regard.errors import DataError
from regard.files import load_json, read_toml
from regard.models.folder import CONFIG
from regard.studio.models import QUIET, Models
from regard.studio.preparing import SYSTEM
from regard.studio.schema.compare import CurveAnswer, RunState
from regard.tasks.evaluation.held_out import run_of
from regard.training.metrics import is_number
from regard.training.run_folder import RunFolder

PORTION = 256 * 2**10
"""Bytes read at once."""


def run_folders(models: Models) -> dict[str, RunFolder]:
    """Name the runs that the studio was started with, and the one that it trains itself. Nothing else can be read."""
    result = {}
    for name, path in list(models.folders.items()):
        run = run_of(path)
        if run is not None and run.metrics.is_file():
            result[name] = run
    preparation = models.preparation
    if preparation is not None:
        result.setdefault(SYSTEM, RunFolder(preparation.folder / SYSTEM))
    return result


def state_of(name: str, run: RunFolder) -> RunState:
    """Return whether a run is going on, and how far it is to go."""
    written = _modified(run.metrics)
    finished = _modified(run.model / CONFIG) >= written > 0
    going = not finished and time.time() - written < QUIET
    state: Literal["finished", "going", "stopped", "begun"] = "stopped" if written else "begun"
    return RunState(run=name, state="finished" if finished else "going" if going else state, steps=_steps(run.config))


class Portion(NamedTuple):
    """Lines of a file that were not known yet."""

    lines: list[bytes]
    offset: int
    file: str
    anew: bool
    """Whether they begin from the start: a run that is resumed writes the file anew."""
    more: bool
    """Whether there are lines left to read at once."""


def read_portion(path: Path, offset: int, file: str) -> Portion:
    """Read the lines that were written after `offset`; from the start where the file is not the one it was."""
    try:
        with path.open("rb") as opened:
            status = os.fstat(opened.fileno())
            continues = file == f"{status.st_dev}-{status.st_ino}" and offset <= status.st_size
            start = offset if continues else 0
            opened.seek(start)
            lines = _whole_lines(opened)
    except OSError:
        return Portion([], 0, "", file != "", False)
    end = start + len(lines)
    more = len(lines) >= PORTION // 2 and end < status.st_size
    return Portion(lines.split(b"\n"), end, f"{status.st_dev}-{status.st_ino}", not continues, more)


def read_on(run: RunState, path: Path, offset: int, file: str) -> CurveAnswer:
    """Read the figures that were written after `offset`."""
    portion = read_portion(path, offset, file)
    return CurveAnswer(
        **run.parts(),
        lines=[line for line in map(_figures, portion.lines) if line],
        offset=portion.offset,
        file=portion.file,
        anew=portion.anew,
        more=portion.more,
    )


def _whole_lines(file: BinaryIO) -> bytes:
    """Read a portion up to the end of a line; a line that is still being written is left for the next time."""
    portion = file.read(PORTION)
    if len(portion) == PORTION:
        portion += file.readline()
    return portion[: portion.rfind(b"\n") + 1]


def _figures(line: bytes) -> dict[str, Any]:
    """Keep the event and its numbers, and the words of a note; what is no line of figures gives nothing."""
    try:
        table = load_json(line)
    except ValueError:
        return {}
    if not isinstance(table, dict) or table.get("event") not in ("train", "valid", "note"):
        return {}
    result: dict[str, Any] = {name: _number(value) for name, value in table.items() if isinstance(value, int | float)}
    if table["event"] == "note":
        result["text"] = str(table.get("text", ""))[:500]
    return {"event": table["event"], **result}


def _number(value: float) -> float | None:
    """Give a number, or a flag; older files hold NaN, and JSON for pages knows no infinity."""
    return value if isinstance(value, bool) or is_number(value) else None


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _steps(config: Path) -> int | None:
    try:
        table = read_toml(config)
    except (OSError, DataError):
        return None
    steps = table.get("train", {}).get("steps") if isinstance(table.get("train", {}), dict) else None
    return steps if isinstance(steps, int) else None
