"""What every `regard train` shares, whatever its task: settings shown, processes joined, how a run may end, figures."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import typer

from regard.cli.terminal import print_json
from regard.errors import ArgumentError, Interrupted, RegardError, TrainingError, plural

if TYPE_CHECKING:
    from regard.config.train import Train
    from regard.tasks.language.train import TrainedLanguage
    from regard.training.run import Run, Trained
    from regard.training.watch import Watcher

Result, Corpus = TypeVar("Result"), TypeVar("Corpus")
Size = TypeVar("Size")
Size_co = TypeVar("Size_co", covariant=True)


@runtime_checkable
class RunSettings(Protocol):
    """Settings of a run of any task."""

    @property
    def train(self) -> "Train":
        """How it is trained."""


Settings = TypeVar("Settings", bound=RunSettings)


class Gathered(Protocol[Size_co]):
    """Data of any task, whose size settings depend on."""

    @property
    def size(self) -> Size_co:
        """How much there is to train on."""


@runtime_checkable
class Teller(Protocol):
    """Whoever shows a run."""

    def say(self, text: str) -> None:
        """Write a line."""

    def close(self) -> None:
        """Stop showing."""


def is_quiet() -> bool:
    """Tell whether another process of the same run does the talking."""
    return os.environ.get("RANK", "0") != "0"


def print_composed(compose: Callable[[Size], Any], typical: Size, gather: Callable[[Any], Gathered[Size]]) -> None:
    """Show the settings of a run on the data that is named, or on data of a `typical` size where none is."""
    from regard.config.show import show_settings

    config = compose(typical)
    print(show_settings(compose(gather(config.data).size) if config.data.corpus else config))


@contextmanager
def told_how_it_ended(out: Path, progress: Teller) -> Iterator[None]:
    """Turn what may end a run into a line and an exit code."""
    from regard.tasks.model_folder import usable_now
    from regard.training.failure import is_disk_full, no_room

    try:
        yield
    except Interrupted as stopped:
        progress.say(f"regard: {stopped}{usable_now(out)}")
        raise typer.Exit(128 + stopped.signal) from None
    except TrainingError as error:
        progress.say(f"regard: {error}")
        raise typer.Exit(1) from None
    except OSError as error:
        if isinstance(error, RegardError) or not is_disk_full(error):
            raise
        progress.say(f"regard: The disk of {out} must have room for the run; it {no_room(error)} and start again.")
        raise typer.Exit(1) from None
    finally:
        progress.close()


def carry_out(
    train: Callable[[Settings, Corpus, "Run"], Result],
    settings: Settings,
    corpus: Corpus,
    out: Path,
    *,
    fingerprint: str,
    watcher: "Watcher",
) -> Result:
    """Join the processes of torchrun, if any, let the first begin the folder, or all refuse it, and train in it."""
    from regard.training.group import joined_group
    from regard.training.interruption import listening
    from regard.training.run import Run
    from regard.training.run_folder import RunFolder

    folder = RunFolder(out)
    settings = folder.with_limits(settings)
    with joined_group(settings.train.device) as group, folder.locked() if group.leads else nullcontext():
        problem = note = ""
        if group.leads:
            try:
                note = folder.begin(settings, fingerprint)
            except RegardError as error:
                problem = str(error)
        problem = group.share_text(problem or "-")
        if problem != "-":
            raise ArgumentError(problem)
        if note:
            watcher.noted(note)
        with listening() as interruption:
            run = Run(folder=folder, command=command_line(), watcher=watcher, group=group, interruption=interruption)
            return train(settings, corpus, run)


def report_run(
    trained: "Trained | TrainedLanguage",
    sentence: Callable[[Mapping[str, float], str], str],
    *,
    as_json: bool,
    show: Callable[[Mapping[str, float], str], None] | None = None,
    tokenization: str = "",
) -> None:
    """Write the figures of a run, and where its files are; `sentence` tells those of a side, test or valid.

    `show` prints more of them before; `tokenization` says what tokens are, where figures are counted in them.
    """
    if not trained.figures:
        return  # not the first of several processes
    figures, folder = trained.figures, trained.folder
    if as_json:
        places = {"model": folder.model, "report": folder.report, "metrics": folder.metrics}
        told = {name: str(path) for name, path in places.items() if path.exists()}
        if tokenization:
            told["tokenization"] = tokenization
        print_json({**figures, **told, "signature": trained.signature})
        return
    side = "test" if any(name.startswith("test_") for name in figures) else "valid"
    if show is not None:
        show(figures, side)
    print(f"{sentence(figures, side)}\nmodel   {folder.model}\nreport  {folder.report}\n{trained.signature}")


def named(side: str) -> str:
    """Call a side what people call it."""
    return "validation" if side == "valid" else side


def tell_time(figures: Mapping[str, float]) -> str:
    """Say how long a run took; a model that is counted takes no steps.

    >>> tell_time({"steps": 0, "seconds": 3.2}), tell_time({"steps": 1200, "seconds": 90.0})
    ('counted in 3 s', '1,200 steps in 90 s')
    """
    steps = int(figures["steps"])
    return f"{plural(steps, 'step') + ' ' if steps else 'counted '}in {figures['seconds']:,.0f} s"


def command_line() -> str:
    """Give the command that was typed, for the model card."""
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    start = f"torchrun --nproc-per-node={ranks} -m regard" if ranks > 1 else "regard"
    return f"{start} {shlex.join(sys.argv[1:])}"
