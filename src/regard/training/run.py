"""One run of a training task: where it writes, whom it tells and with whom it trains; what every run does alike.

A run trains, puts its model in place, and then measures it and writes its report and its card. Whatever fails after
training, the model is there; the same command does the rest again. While it trains, the model of its best validation so
far is in `best/`, to be used.
"""

import json
import math
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from torch import nn

from regard.config.train import Train
from regard.errors import Interrupted, RegardError, TrainingError
from regard.files import finite, flush, remove, write_text
from regard.training.failure import disk_full_reason, is_disk_full, needing_space, reason, using
from regard.training.group import Group
from regard.training.interruption import Interruption
from regard.training.job import Job
from regard.training.loop import Trainer
from regard.training.memory import within_memory
from regard.training.metrics import MetricsFile
from regard.training.run_folder import STEP, RunFolder, read_written
from regard.training.state import State
from regard.training.update import SHORTER
from regard.training.watch import TensorBoard, Watcher, Watchers

CARD = "README.md"
Result = TypeVar("Result")


class Trained(NamedTuple):
    """What a run gave; no figures where another process of the group writes them."""

    folder: RunFolder
    figures: dict[str, float]
    signature: str
    tokenization: str = ""
    """What the tokens are that figures are counted in, where the task has several kinds."""
    scored: str = ""
    """How translations were scored: the signature of BLEU."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run folder, the command that made it, who watches it, and the processes that train together."""

    folder: RunFolder
    command: str = ""
    watcher: Watcher = field(default_factory=Watchers)
    group: Group = Group()  # noqa: RUF009 (a plain value)
    interruption: Interruption | None = None
    failures: list[str] = field(default_factory=list)
    """What went wrong after training, a line each: the run is then not finished, though its model is there."""

    def figures_again(self) -> dict[str, Any] | None:
        """Give what `finish` wrote of a run that is finished, and say so; None where there is still work to do.

        Of several processes only the first gets the figures; the others get none, and know that it is finished.
        """
        finished = self.folder.figures
        if not finished.is_file():
            return None
        if not self.group.leads:
            return {}
        figures = read_written(finished, advice="Remove it, and the same command measures the model again.")
        self.watcher.noted(f"The run in {self.folder.path} is finished; these are its figures.")
        return {name: _numbers(value) for name, value in figures.items()}

    def train(
        self,
        model: nn.Module,
        job: Job,
        settings: Train,
        *,
        shorter: str = SHORTER,
        save: Callable[[Path], None] | None = None,
    ) -> State:
        """Train a model, or go on; metrics.jsonl, TensorBoard where it is asked for, and `watcher` receive the figures.

        `shorter` says what to make smaller where memory is too small. `save` writes a model folder: at each best
        validation it writes `best/`, which serves until `put_model` takes its place.
        """
        watchers: list[Watcher] = []
        if self.group.leads:
            watchers = [MetricsFile(self.folder.metrics), self.watcher]
            if settings.tensorboard:
                watchers.append(TensorBoard(self.folder.path / "tensorboard"))
        trainer = Trainer(
            model,
            job,
            settings,
            checkpoints=self.folder.checkpoints,
            watcher=Watchers(watchers),
            group=self.group,
            interruption=self.interruption,
            shorter=shorter,
            keep_best=partial(self._put_best, save) if save is not None else None,
        )
        beginnings = self.folder.beginnings()
        try:
            state = trainer.train()
        except OSError as error:
            if isinstance(error, RegardError) or is_disk_full(error) or self.folder.path.is_dir():
                raise
            raise self._begin_anew(trainer, beginnings) from error
        if trainer.shortfall:
            self.failures.append(trainer.shortfall)
        model.eval()
        return state

    def _begin_anew(self, trainer: Trainer, beginnings: Mapping[Path, str]) -> TrainingError:
        """Make a folder that is gone again, with what it began with and a checkpoint, and say so."""
        path, step = self.folder.path, trainer.state.step
        gone = f"{path} must stay where it is while it trains; by step {step:,} it was moved or removed."
        try:
            self.folder.restore(beginnings)
            saved = trainer.save()
        except (OSError, RegardError) as error:
            return TrainingError(f"{gone} It cannot be made again ({reason(error)}). Put it back, and start again.")
        holds = f"what was learned to step {step:,}" if saved else "no checkpoint"
        return TrainingError(
            f"{gone} A new folder there holds {holds}, and the same command goes on from it; the old one, if it was "
            "moved, holds the checkpoints before."
        )

    def put_model(self, save: Callable[[Path], None]) -> None:
        """Write the model folder: from here on there is a model to use, whatever becomes of the rest."""
        if not self.folder.path.is_dir():
            self.failures.append(f"{self.folder.path} was moved or removed before the model was saved there")
        with using(self.folder.path), needing_space(self.folder.path):
            self.folder.path.mkdir(parents=True, exist_ok=True)
            with _whole_folder(self.folder.model) as aside:
                save(aside)
            self.folder.evaluation.unlink(missing_ok=True)  # of another model, if any
            remove(self.folder.best, best_effort=True)

    def _put_best(self, save: Callable[[Path], None], step: int) -> None:
        """Write the model of the best validation so far; where the disk is full the one before stays."""
        try:
            with using(self.folder.path), _whole_folder(self.folder.best) as aside:
                save(aside)
                write_text(aside / STEP, json.dumps({"step": step}))
        except Exception as error:
            if not is_disk_full(error):
                raise
            self.watcher.noted(
                f"Step {step}: the model of this validation is not saved, since the disk of {self.folder.path} "
                f"{disk_full_reason(error)}: training goes on, and tries again at the next one that is better."
            )

    def finish(
        self,
        measure: Callable[[], Result],
        *,
        figures: Callable[[Result], Mapping[str, Any]],
        page: Callable[[Result], str],
        card: Callable[[Result], str],
        job: Job | None = None,
    ) -> Result:
        """Measure the model that was put in place, write its report and its card, and last its figures.

        `figures`, `page` and `card` are made of what `measure` gives, which reads what is held out in the portions of
        `job`. What fails is kept until the rest is done, and raised then; figures.json says that nothing did.
        """
        with self._stopping_at_once():
            try:
                result = within_memory(job, measure, noted=self.watcher.noted)
            except Exception as error:
                self.failures.append(f"it could not be measured ({reason(error)})")
                raise self._not_finished() from error
            with self._attempt("its report could not be written"):
                write_text(self.folder.report, page(result))
            with self._attempt("its card could not be written"):
                write_text(self.folder.model / CARD, card(result))
            if self.failures:
                raise self._not_finished()
            shutil.rmtree(self.folder.data, ignore_errors=True)  # it can be made again, and is large
            with self._attempt("its figures could not be written"):
                write_text(self.folder.figures, json.dumps(finite(figures(result)), allow_nan=False))
        if self.failures:
            raise self._not_finished()
        return result

    @contextmanager
    def _attempt(self, failure: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.failures.append(f"{failure} ({reason(error)})")

    def _not_finished(self) -> TrainingError:
        return TrainingError(
            f"The model is in {self.folder.model} and can be used, but not all that follows training was done: "
            f"{'; '.join(self.failures)}. The same command tries again."
        )

    @contextmanager
    def _stopping_at_once(self) -> Iterator[None]:
        """Heed a first Ctrl-C or SIGTERM at once: the model is there, and what is left can be done again."""
        if self.interruption is None:
            yield
            return
        try:
            with self.interruption.at_once():
                yield
        except KeyboardInterrupt:
            raise Interrupted(
                f"Stopped after training: the model is in {self.folder.model} and can be used, but it is not measured. "
                "The same command goes on.",
                signal=self.interruption.signal or int(signal.SIGINT),
            ) from None


def _numbers(value: Any) -> Any:
    """Read what was written as null for what is no number."""
    if isinstance(value, dict):
        return {name: _numbers(item) for name, item in value.items()}
    return math.nan if value is None else value


@contextmanager
def _whole_folder(folder: Path) -> Iterator[Path]:
    """Give a folder to write into, which takes the place of `folder` when it is whole; the one above must be there."""
    aside, replaced = (folder.with_name(f".{folder.name}-{state}") for state in ("writing", "replaced"))
    remove(aside)
    aside.mkdir()
    yield aside
    for path in aside.iterdir():
        flush(path)
    remove(replaced)
    if os.path.lexists(folder):
        folder.rename(replaced)
    aside.rename(folder)
    flush(folder.parent)
    remove(replaced, best_effort=True)
