"""What `regard train` shows of a run, whatever its task: progress, how it ended, figures."""

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from regard.cli.progress import Progress
from regard.cli.tables import print_table
from regard.cli.terminal import print_json
from regard.errors import Interrupted, RegardError, TrainingError

if TYPE_CHECKING:
    from regard.tasks.task import Task
    from regard.training.run import Trained
    from regard.training.watch import Measured, Validated


class TaskProgress(Progress):
    """Shows the units and the figures of a task."""

    def __init__(self, task: "Task[Any, Any, Any]", *, quiet: bool = False) -> None:
        super().__init__(quiet=quiet)
        self._shown = task

    def describe_training(self, measured: "Measured") -> str:
        """Write the figures of training on one line, in the units of the task."""
        if self._shown.rated == "tokens":
            return super().describe_training(measured)
        return f"loss {measured.loss:.3f}  {measured.tokens_per_second:,.0f} {self._shown.rated}/s"

    def describe_validation(self, validated: "Validated") -> str:
        """Write the figures of a validation on one line, as the task names them."""
        if self._shown.validation is None:
            return super().describe_validation(validated)
        return f"valid loss {validated.loss:.3f}  {self._shown.validation(validated.figures)}"


def is_quiet() -> bool:
    """Return whether another process of the same run shows it."""
    return os.environ.get("RANK", "0") != "0"


@contextmanager
def explained_ending(out: Path, progress: Progress) -> Iterator[None]:
    """Turn what may end a run into a line and an exit code."""
    from regard.tasks.model_folder import usable_now
    from regard.training.failure import disk_full_reason, is_disk_full

    try:
        yield
    except Interrupted as stopped:
        progress.print_line(f"regard: {stopped}{usable_now(out)}")
        raise typer.Exit(128 + stopped.signal) from None
    except TrainingError as error:
        progress.print_line(f"regard: {error}")
        raise typer.Exit(1) from None
    except OSError as error:
        if isinstance(error, RegardError) or not is_disk_full(error):
            raise
        progress.print_line(
            f"regard: The disk of {out} must have room for the run; it {disk_full_reason(error)} and start again."
        )
        raise typer.Exit(1) from None
    finally:
        progress.close()


def report_run(task: "Task[Any, Any, Any]", trained: "Trained", *, as_json: bool) -> None:
    """Write the figures of a run, and where its files are."""
    if not trained.figures:
        return  # not the first of several processes
    figures, folder = trained.figures, trained.folder
    if as_json:
        files = {"model": folder.model, "report": folder.report, "metrics": folder.metrics}
        facts = {name: str(path) for name, path in files.items() if path.exists()}
        if trained.tokenization:
            facts["tokenization"] = trained.tokenization
        if trained.scored:
            facts["bleu"] = trained.scored
        print_json({**figures, **facts, "signature": trained.signature})
        return
    side = "test" if any(name.startswith("test_") for name in figures) else "valid"
    if task.table is not None:
        print_table(*task.table(figures, side))
    print(f"{task.conclude(trained, side)}\nmodel   {folder.model}\nreport  {folder.report}\n{trained.signature}")


def command_line() -> str:
    """Give the command that was typed, for the model card."""
    ranks, nodes = (int(os.environ.get(name, "1")) for name in ("WORLD_SIZE", "GROUP_WORLD_SIZE"))
    several = f"--nnodes={nodes} " if nodes > 1 else ""
    start = f"torchrun {several}--nproc-per-node={ranks // nodes} -m regard" if ranks > 1 else "regard"
    return f"{start} {shlex.join(sys.argv[1:])}"
