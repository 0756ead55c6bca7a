"""`regard runs`: the runs under a folder, how far they are and how well they do."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.tables import print_table
from regard.cli.terminal import print_json
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.tasks.run_list import RunSummary

_SHOWN = 3
"""Figures in the table."""


def runs(
    folder: Annotated[Path, typer.Argument(help="A folder of runs, or one run.")] = Path("runs"),
    as_json: Annotated[bool, typer.Option("--json", help="Everything, as one JSON object.")] = False,
) -> None:
    """List runs: task, kind of model, steps, state, the figures of the best validation, and differing settings.

    The state is running, stopped (`regard train --out RUN` goes on) or finished. Settings are those in which runs of
    the same task differ.

    Example: `regard runs runs`
    """
    from regard.tasks.run_list import list_runs

    if not folder.is_dir():
        raise ArgumentError(f"`FOLDER` must be a folder of runs; received {folder}, which is none.")
    summaries = list_runs(folder)
    if as_json:
        print_json({"runs": [vars(run) | {"path": str(run.path)} for run in summaries]})
        return
    if not summaries:
        raise ArgumentError(f"`FOLDER` must hold runs; {folder} holds none. `regard train --out {folder}/a` makes one.")
    headings = ["run", "task", "model", "steps", "state", "best validation", "settings"]
    print_table(headings, [_row(run) for run in summaries], words=(0, 1, 2, 4, 5, 6))


def _row(run: "RunSummary") -> list[str]:
    from regard.tasks.run_list import KINDS

    steps = f"{run.step:,}/{run.steps:,}" if run.steps else "–"
    figures = ", ".join(f"{name} {value:.4g}" for name, value in list(run.figures.items())[:_SHOWN])
    at = f" (step {run.best_step:,})" if run.best_step else ""
    settings = ", ".join(f"{key}={value}" for key, value in run.settings.items() if key not in KINDS)
    return [str(run.path), run.task, run.kind, steps, run.state, figures + at, settings]
