"""One run of a training task: where it writes, whom it tells and with whom it trains; what every run does alike."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from regard.config.train import Train
from regard.files import flush, read_json, remove
from regard.tasks.run_folder import RunFolder
from regard.training.group import Group
from regard.training.interruption import Interruption
from regard.training.job import Job
from regard.training.loop import Trainer
from regard.training.state import State
from regard.training.update import SHORTER
from regard.training.watch import MetricsFile, TensorBoard, Watcher, Watchers

FIGURES = "figures.json"


class Trained(NamedTuple):
    """What a run gave; no figures where another process of the group writes them."""

    folder: RunFolder
    figures: dict[str, float]
    signature: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run folder, the command that made it, who is told how it goes, and the processes that train together."""

    folder: RunFolder
    command: str = ""
    watcher: Watcher = field(default_factory=Watchers)
    group: Group = Group()  # noqa: RUF009 (a plain value)
    interruption: Interruption | None = None

    def figures_again(self) -> dict[str, Any] | None:
        """Give what `put_model` wrote of a run that is finished, and say so; None where there is still work to do.

        Of several processes only the first gets the figures; the others get none, and know that it is finished.
        """
        finished = self.folder.model / FIGURES
        if not finished.is_file():
            return None
        if not self.group.leads:
            return {}
        self.watcher.noted(f"The run in {self.folder.path} is finished; these are its figures.")
        return read_json(finished).table()

    def train(self, model: nn.Module, job: Job, settings: Train, *, shorter: str = SHORTER) -> State:
        """Train a model, or go on; metrics.jsonl, TensorBoard where it is asked for, and `watcher` are told.

        `shorter` says what to make smaller where memory is too small.
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
        )
        state = trainer.train()
        model.eval()
        return state

    def put_model(self, save: Callable[[Path], None], *, card: str, figures: Mapping[str, Any]) -> None:
        """Write the model folder, with its card and its figures: from here on the run is finished."""
        with _model_aside(self.folder) as aside:
            save(aside)
            (aside / "README.md").write_text(card, encoding="utf-8")
            (aside / FIGURES).write_text(json.dumps(figures), encoding="utf-8")


@contextmanager
def _model_aside(folder: RunFolder) -> Iterator[Path]:
    """Give a folder to write into, which becomes the run's `model/` when it is whole: such a run is finished."""
    aside = folder.path / ".model-writing"
    remove(aside)
    aside.mkdir(parents=True)
    yield aside
    for path in aside.iterdir():
        flush(path)
    remove(folder.data)  # it can be made again, and is large
    remove(folder.model)
    folder.evaluation.unlink(missing_ok=True)  # of another model, if any
    aside.rename(folder.model)
    flush(folder.path)
