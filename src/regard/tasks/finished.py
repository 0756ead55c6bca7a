"""What every run does alike: tell its files how it goes, and put the finished model in its place."""

import shutil
from collections.abc import Iterator
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


@contextmanager
def model_aside(folder: RunFolder) -> Iterator[Path]:
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
