"""The runs under a folder: what each trains, how far it is, how well it does, and how its settings differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from regard.errors import DataError
from regard.tasks.task import all_settings
from regard.training.metrics import read_metrics
from regard.training.run_folder import RunFolder, read_written

RunState = Literal["running", "stopped", "finished", "unreadable"]
_DEEP = 3
"""Folders within one another that are searched."""
KINDS = ("model.kind", "model.cell", "model.attention.kind", "model.attention.score", "model.image.kind")
"""Settings that say together what a model is."""
_DERIVED = ("train.log_every", "train.validate_every", "train.schedule.warm_up", "train.valid_sentences")
"""Settings that follow from the data and the steps where nobody chose them: they would hide what was chosen."""
_NOT_FIGURES = ("event", "step", "seconds", "best", "samples")


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """One run."""

    path: Path
    state: RunState
    task: str = ""
    kind: str = ""
    """The kind of model, with its attention or cell where it has several."""
    step: int = 0
    """Steps that are saved."""
    steps: int = 0
    """Steps it is to make; 0 for a model that is counted."""
    best_step: int = 0
    """The step of the best validation."""
    figures: dict[str, float] = field(default_factory=dict)
    """Those of the best validation; of a model that is counted, those measured at its end."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Every setting under its dotted key; `list_runs` leaves those in which runs of the same task differ, those of the
    model where runs of the same kind of model do."""


def list_runs(folder: str | Path = "runs") -> list[RunSummary]:
    """Describe the run in `folder`, or those in it and in its folders, in the order of their names."""
    runs = [describe_run(path) for path in sorted(_run_folders(Path(folder), _DEEP))]
    return [replace(run, settings=_differing(run, runs)) for run in runs]


def describe_run(path: Path) -> RunSummary:
    """Describe one run."""
    run = RunFolder(path)
    state: RunState = "running" if run.is_running() else "finished" if run.figures.is_file() else "stopped"
    try:
        table, task = run.table(), run.task(all_settings())
        counted = not run.checkpoints.steps() and state == "finished"
        step, figures = _measured_at_end(run) if counted else _best_validation(run)
    except DataError:
        return RunSummary(path=path, state="unreadable")
    settings = dict(_flat(table))
    return RunSummary(
        path=path,
        state=state,
        task=task,
        kind="-".join(str(settings[key]) for key in KINDS if settings.get(key)),
        step=max(run.checkpoints.steps(), default=0),
        steps=0 if counted else int(settings.get("train.steps", 0)),
        best_step=step,
        figures=figures,
        settings=settings,
    )


def _run_folders(folder: Path, deep: int) -> Iterator[Path]:
    if RunFolder(folder).config.is_file():
        yield folder
    elif deep and folder.is_dir():
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink() and not path.name.startswith("."):
                yield from _run_folders(path, deep - 1)


def _best_validation(run: RunFolder) -> tuple[int, dict[str, float]]:
    best = [line for line in read_metrics(run.metrics) if line.get("event") == "valid" and line.get("best")]
    if not best:
        return 0, {}
    return int(best[-1].get("step", 0)), _numbers({k: v for k, v in best[-1].items() if k not in _NOT_FIGURES})


def _measured_at_end(run: RunFolder) -> tuple[int, dict[str, float]]:
    table = read_written(run.figures, advice="Remove it, and the same command measures the model again.")
    return 0, _numbers(table.get("figures", table))


def _numbers(table: Mapping[str, Any]) -> dict[str, float]:
    return {name: value for name, value in table.items() if isinstance(value, int | float)}


def _flat(table: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        key = f"{at}.{name}" if at else name
        if isinstance(value, Mapping):
            yield from _flat(value, key)
        else:
            yield key, value


def _differing(run: RunSummary, runs: Sequence[RunSummary]) -> dict[str, Any]:
    """Give the settings in which runs of its task differ; those of the model, in which runs of its kind do."""
    same = [other for other in runs if other.task == run.task and other.settings]
    alike = [other for other in same if other.settings.get("model.kind") == run.settings.get("model.kind")]
    return {
        key: value
        for key, value in run.settings.items()
        if key not in _DERIVED
        and any(other.settings.get(key) != value for other in (alike if key.startswith("model.") else same))
    }
