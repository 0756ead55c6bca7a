"""What every run does alike: tell its files how it goes, and put the finished model in its place."""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from regard.config.train import Train
from regard.tasks.run_folder import RunFolder
from regard.training.checkpoint import flush
from regard.training.watch import MetricsFile, TensorBoard, Watcher, Watchers

FIGURES = "figures.json"


def run_watchers(folder: RunFolder, settings: Train, watcher: Watcher) -> Watchers:
    """Tell metrics.jsonl, TensorBoard where it is asked for, and `watcher`."""
    files: list[Watcher] = [MetricsFile(folder.metrics)]
    if settings.tensorboard:
        files.append(TensorBoard(folder.path / "tensorboard"))
    return Watchers([*files, watcher])


def figures_again(folder: RunFolder, watcher: Watcher) -> dict[str, float] | None:
    """Give the figures of a run that is finished, and say so; none where there is still something to do."""
    finished = folder.model / FIGURES
    if not finished.is_file():
        return None
    watcher.noted(f"The run in {folder.path} is finished; these are its figures.")
    found: dict[str, float] = json.loads(finished.read_text(encoding="utf-8"))
    return found


def put_model(folder: RunFolder, save: Callable[[Path], None], *, card: str, figures: Mapping[str, float]) -> None:
    """Write the model folder, with its card and its figures: from here on the run is finished."""
    with _model_aside(folder) as aside:
        save(aside)
        (aside / "README.md").write_text(card, encoding="utf-8")
        (aside / FIGURES).write_text(json.dumps(figures), encoding="utf-8")


@contextmanager
def _model_aside(folder: RunFolder) -> Iterator[Path]:
    """Give a folder to write into, which becomes the run's `model/` when it is whole: such a run is finished."""
    aside = folder.path / ".model-writing"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    yield aside
    for path in aside.iterdir():
        flush(path)
    shutil.rmtree(folder.model, ignore_errors=True)
    aside.rename(folder.model)
    flush(folder.path)
