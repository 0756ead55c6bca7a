"""The folder of a run: config.toml, metrics.jsonl, checkpoints/, best/ or model/, report.html, evaluation.json."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from regard.config.data_files import start_from, take_names
from regard.config.read import find_kind, read_any_version
from regard.config.show import differences, show_settings
from regard.errors import ArgumentError, DataError, MissingExtraError, RegardError
from regard.files import SMALL, open_to_append, parse_json, read_bytes, read_json, read_toml, unreadable, write_text
from regard.training.checkpoint import Checkpoints
from regard.training.failure import is_disk_full, using
from regard.training.limits import is_raised, with_limits_of

Settings = TypeVar("Settings")
FIGURES, STEP = "figures.json", "step.json"
_DATA, _MADE_HERE = ".data.json", ".made-here.json"
_LIMITS = ("train.steps ", "train.minutes ")
"""Settings that may be raised: the run goes on."""
_FROM_STEPS = tuple(
    f"train.{name} " for name in ("validate_every", "checkpoint_every", "log_every", "schedule.warm_up")
)
"""Settings that the number of steps decides where they are not set."""


@dataclass(frozen=True)
class RunFolder:
    """Where everything of a run is."""

    path: Path

    @property
    def config(self) -> Path:
        """Every setting of the run."""
        return self.path / "config.toml"

    @property
    def metrics(self) -> Path:
        """A line for each report."""
        return self.path / "metrics.jsonl"

    @property
    def model(self) -> Path:
        """The model folder, there when the run has made its steps."""
        return self.path / "model"

    @property
    def best(self) -> Path:
        """The model folder of the best validation so far, there from the first one on until the run has its model."""
        return self.path / "best"

    @property
    def figures(self) -> Path:
        """What was measured of the model, there when the run is finished."""
        return self.model / FIGURES

    def best_step(self) -> int | None:
        """Give the step whose model is in `best`; None where there is none."""
        path = self.best / STEP
        return read_json(path)["step"].whole() if path.is_file() else None

    @property
    def report(self) -> Path:
        """A page on the run."""
        return self.path / "report.html"

    @property
    def evaluation(self) -> Path:
        """What `regard evaluate` last measured on the pairs that the run held out."""
        return self.path / "evaluation.json"

    @property
    def data(self) -> Path:
        """The tokens of a corpus that is not held in memory, there until the run is finished."""
        return self.path / "data"

    @property
    def checkpoints(self) -> Checkpoints:
        """What a run that was stopped goes on from."""
        return Checkpoints(self.path / "checkpoints")

    def begin(self, config: Any, fingerprint: str, *, tasks: Mapping[str, type] | None = None) -> str:
        """Make the folder, or check that it holds this very run; give what a user should know of it, if anything.

        `tasks` are the settings of every task by its name, to tell of which a folder is where it is of another.
        """
        self._make()
        if self.config.is_file():
            raised = self._check_same(config, fingerprint, tasks or {})
            note = self._check_data(fingerprint)
            return f"{note} {self._raise_limits(config, raised)}".strip() if raised else note
        others = [path.name for path in self.path.iterdir() if not path.name.startswith(".")]
        if others:
            raise ArgumentError(
                f"`out` must be a new or empty folder, or one that `regard train` made; {self.path} holds "
                f"{', '.join(sorted(others)[:3])}{', …' if len(others) > 3 else ''} and no config.toml. Name another."
            )
        with using(self.path):
            self._write_data(fingerprint)
            write_text(self.config, show_settings(config) + "\n")
            self._mark()
        return ""

    def with_limits(self, config: Settings) -> Settings:
        """Give the settings of the run that is here with the higher limits of `config`, where that is all it changes.

        What the number of steps decides by default, such as the steps between validations, stays as it was, and so does
        a precision that was not chosen.
        """
        if not self.config.is_file():
            return config
        try:
            before: Any = self.read_settings(type(config))
        except (ArgumentError, DataError):
            return config  # `begin` says what is wrong
        train = config.train  # type: ignore[attr-defined]
        if train.precision == "auto":  # left to us: it stays what the run began with
            train = replace(train, precision=before.train.precision)
            config = replace(config, train=train)  # type: ignore[type-var]
        before = take_names(before, config, same_content=True)  # whether it is the same content, `begin` checks
        raised = with_limits_of(config, before)
        rest = [change for change in differences(raised, config) if not change.startswith(_FROM_STEPS)]
        return raised if is_raised(before.train, train) and not rest else config

    def _raise_limits(self, config: Any, raised: list[str]) -> str:
        """Let a run go on beyond its end; its model stays in use until there is a better one."""
        steps = self.checkpoints.steps()
        before = read_any_version(type(config), self.table())  # its names start from the folder it began in
        if not steps and not self.model.is_dir() and not self.best.is_dir():  # it ended before it had learned anything
            with using(self.path):
                write_text(self.config, show_settings(with_limits_of(config, before)) + "\n")
                self._mark()
            return ""
        if not steps:
            raise ArgumentError(
                f"`train.steps` can be raised where checkpoints are left to go on from; {self.checkpoints.folder} "
                "holds none. Start from its model in a new folder, `start`."
            )
        minutes = before.train.minutes
        if self.figures.is_file() and steps[-1] < before.train.steps and 0 < minutes == config.train.minutes:
            raise ArgumentError(
                f"`train.minutes` must be raised too, or set to 0 for no limit: the run in {self.path} ended by its "
                f"{minutes:g} minutes, at step {steps[-1]:,} of {before.train.steps:,}; received more steps alone."
            )
        with using(self.path):
            self.figures.unlink(missing_ok=True)  # first: whatever happens next, the run is not finished
            write_text(self.config, show_settings(with_limits_of(config, before)) + "\n")
            self._mark()
        return f"The run goes on after step {steps[-1]:,} ({'; '.join(raised)}); its other settings stay as they were."

    def beginnings(self) -> dict[Path, str]:
        """Give what `begin` wrote: its files with their texts, as far as they are there."""
        texts = {}
        for path in (self.config, self.path / _DATA):
            with suppress(OSError, ValueError):
                texts[path] = path.read_text(encoding="utf-8")
        return texts

    def restore(self, beginnings: Mapping[Path, str]) -> None:
        """Make a folder that is gone again, as `begin` left it."""
        self.path.mkdir(parents=True, exist_ok=True)
        for path, text in beginnings.items():
            write_text(path, text)
        self._mark()

    def _write_data(self, fingerprint: str) -> None:
        write_text(self.path / _DATA, json.dumps({"fingerprint": fingerprint, "folder": os.getcwd()}))

    def read_settings(self, kind: type[Settings]) -> Settings:
        """Read config.toml as the settings of a task; files are named so that they are found from this folder."""
        try:
            return start_from(read_any_version(kind, self.table()), self._began_in())
        except DataError:
            raise
        except ArgumentError as error:
            raise DataError(f"{self.config} must be what `regard train` wrote; received: {error}") from error

    def task(self, tasks: Mapping[str, type]) -> str:
        """Name the task of the run, of those whose settings are given; nothing where there is no run."""
        return find_kind(self.table(), tasks) if self.config.is_file() else ""

    def is_running(self) -> bool:
        """Tell whether a process trains into the folder now; never on Windows, which has no such locks."""
        try:
            import fcntl

            with (self.path / ".lock").open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except (ImportError, OSError):
            pass
        return False

    def fingerprint(self) -> str | None:
        """Give the checksum of the data that the run began with; None where nobody noted it."""
        path = self.path / _DATA
        return read_json(path)["fingerprint"].text() if path.is_file() else None

    def _record(self) -> dict[str, Any]:
        """Give what was noted of the data; nothing where that is gone or damaged, which `_check_data` tells."""
        with suppress(RegardError, OSError):
            return read_written(self.path / _DATA, advice="")
        return {}

    def _began_in(self) -> Path:
        """Give the folder in which the run was begun, from which config.toml names its data."""
        folder = self._record().get("folder")
        return Path(folder) if isinstance(folder, str) else Path.cwd()

    def made_here(self) -> bool:
        """Say whether config.toml is the very file that `regard train` wrote or went on from, here.

        When a file was last changed is known to the system alone: no archive can bring it along, and no program set it.
        """
        try:
            return read_json(self.path / _MADE_HERE)["changed"].whole() == _last_change(self.config)
        except (DataError, OSError):
            return False

    def _mark(self) -> None:
        """Note that whoever trains has named this data; see `made_here`."""
        write_text(self.path / _MADE_HERE, json.dumps({"changed": _last_change(self.config)}))

    def table(self) -> dict[str, Any]:
        """Read config.toml as it is."""
        try:
            return read_toml(self.config)
        except OSError as error:
            raise unreadable(self.config, error) from error
        except DataError as error:
            reason = str(error.__cause__ if isinstance(error.__cause__, ValueError) else error).rstrip(".")
            raise DataError(f"{self.config} must be what `regard train` wrote; received: {reason}.") from error

    def _check_same(self, config: Any, fingerprint: str, tasks: Mapping[str, type]) -> list[str]:
        """Raise unless the settings are those of the run, but for limits that are raised, which are given."""
        table = self.table()
        try:
            before = read_any_version(type(config), table)
        except ArgumentError as error:
            if task := find_kind(table, tasks):
                raise ArgumentError(
                    f"`out` must be a new folder, or that of a run of the same task; {self.path} holds one of "
                    f"{task}. Name a new folder."
                ) from error
            raise ArgumentError(f"{self.config} must be what `regard train` wrote; received: {error}") from error
        before = start_from(before, self._began_in())
        same_content = self._record().get("fingerprint") == fingerprint
        changed = differences(take_names(before, config, same_content=same_content), config)
        if changed and all(change.startswith(_LIMITS) for change in changed) and is_raised(before.train, config.train):
            return changed
        if changed:
            changed, following = _set_first(changed)
            rest = f"; and {len(changed) - 5} more" if len(changed) > 5 else ""
            raise ArgumentError(
                f"`out` must be a new folder, or that of a run with the same settings, which then goes on; "
                f"{self.path} is of another: {'; '.join(changed[:5])}{rest}{following}. Name a new folder, or give the "
                f"settings it began with, which are in {self.config}."
            )
        return []

    def _check_data(self, fingerprint: str) -> str:
        path = self.path / _DATA
        with using(self.path):
            self._mark()
        if not path.is_file():
            with using(path):
                self._write_data(fingerprint)
            return (
                f"{path} is gone, so nobody can tell whether the data is what the run began with: that check is left "
                "out this once."
            )
        if read_written(path, advice="Remove it to go on without it.").get("fingerprint") != fingerprint:
            raise ArgumentError(
                f"The data of a run must stay as it was; that of {self.path} has changed since it began. Put the old "
                "data back to go on, or name a new folder."
            )
        return ""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep a second process from training into the same folder; the lock ends with the process.

        Where a mistake in the settings or the data ends a run before its first checkpoint, what it wrote goes again.
        """
        absent = [path for path in (self.path, *self.path.parents) if not path.exists()]
        known = self.config.is_file()
        self._make()
        try:
            with self._lock():
                yield
        except (ArgumentError, MissingExtraError) as error:
            if not known and not isinstance(error, InUseError) and not self.checkpoints.steps():
                self._withdraw(absent)
            raise

    @contextmanager
    def _lock(self) -> Iterator[None]:
        try:
            import fcntl
        except ImportError:  # Windows
            yield
            return
        with _open_lock(self.path / ".lock") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise InUseError(
                    f"`out` must be a folder that no other process trains into; {self.path} is in use. Wait for "
                    "it, or name another folder."
                ) from error
            yield

    def _make(self) -> None:
        if self.path.is_file():
            raise ArgumentError(f"`out` must be a folder; received the file {self.path}.")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            reason = "" if os.access(self.path, os.W_OK | os.X_OK) else "Permission denied"
        except OSError as error:
            if is_disk_full(error):
                raise
            reason = error.strerror or str(error)
        if reason:
            raise ArgumentError(
                f"`out` must be a folder that can be written to; {self.path} cannot be ({reason}). Name another."
            )

    def _withdraw(self, absent: list[Path]) -> None:
        """Remove what a run that never began has written, and the folders that were made for it."""
        if self.config.is_file():  # which is written only where there was nothing else
            for path in (self.metrics, self.path / _DATA, self.path / _MADE_HERE, self.config):
                path.unlink(missing_ok=True)
            for path in (self.data, self.best, self.path / "tensorboard", self.checkpoints.folder):
                shutil.rmtree(path, ignore_errors=True)
        (self.path / ".lock").unlink(missing_ok=True)
        for path in absent:
            if not path.is_dir() or any(path.iterdir()):
                break
            path.rmdir()


def read_written(path: Path, *, advice: str) -> dict[str, Any]:
    """Read a table that a run wrote as JSON; `advice` says what to do where it is no longer one."""
    try:
        with using(path):
            return parse_json(read_bytes(path, most=SMALL), path).table()
    except DataError as error:
        raise DataError(f"{path} must hold the table that `regard train` wrote; received: {error} {advice}") from error


def _last_change(path: Path) -> int:
    """Give the moment of a file's last change, of its content or its name; opened, so that a server is asked anew."""
    with path.open("rb") as file:
        return os.fstat(file.fileno()).st_ctime_ns


def _open_lock(path: Path) -> BinaryIO:
    try:
        return open_to_append(path)
    except OSError as error:
        raise InUseError(
            f"`out` must be a folder whose {path.name} is a plain file; {path} cannot be opened ({error.strerror}). "
            "Remove it, or name another folder."
        ) from error


def _set_first(changed: list[str]) -> tuple[list[str], str]:
    """Put what follows from another setting behind it.

    >>> _set_first(["train.log_every was 50, now 1", "train.steps was 9, now 8"])
    (['train.steps was 9, now 8'], ' (train.steps also decides train.log_every)')
    """
    steps = any(item.startswith("train.steps ") for item in changed)
    following = [item.partition(" ")[0] for item in changed if steps and item.startswith(_FROM_STEPS)]
    rest = [item for item in changed if item.partition(" ")[0] not in following]
    named = " and ".join([", ".join(following[:-1]), following[-1]] if len(following) > 1 else following)
    return rest, f" (train.steps also decides {named})" if following else ""


class InUseError(ArgumentError):
    """Another process trains into the folder."""
