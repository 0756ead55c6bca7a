"""What every `regard train` shares, whatever its task: joining the other processes, and how a run may end."""

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import typer

from regard.errors import ArgumentError, Interrupted, RegardError, TrainingError

if TYPE_CHECKING:
    from regard.tasks.run_folder import RunFolder
    from regard.training.group import Group
    from regard.training.interruption import Interruption


@runtime_checkable
class Teller(Protocol):
    """Whoever shows a run."""

    def say(self, text: str) -> None:
        """Write a line."""

    def close(self) -> None:
        """Stop showing."""


class Joined(NamedTuple):
    """The processes that train together, and who is told when to stop."""

    group: "Group"
    interruption: "Interruption"


@contextmanager
def told_how_it_ended(out: Path, progress: Teller) -> Iterator[None]:
    """Turn what may end a run into a line and an exit code."""
    from regard.training.failure import is_disk_full

    try:
        yield
    except Interrupted as stopped:
        progress.say(f"regard: {stopped}")
        raise typer.Exit(128 + stopped.signal) from None
    except TrainingError as error:
        progress.say(f"regard: {error}")
        raise typer.Exit(1) from None
    except OSError as error:
        if isinstance(error, RegardError) or not is_disk_full(error):
            raise
        progress.say(f"regard: The disk of {out} must have room for the run; it is full. Make room and start again.")
        raise typer.Exit(1) from None
    finally:
        progress.close()


@contextmanager
def joined_run(settings: Any, folder: "RunFolder", *, device: str, fingerprint: str) -> Iterator[Joined]:
    """Join the processes of torchrun, if any, and let the first begin the folder, or all refuse it."""
    from regard.training.group import joined_group
    from regard.training.interruption import listening

    with joined_group(device) as group, folder.locked() if group.leads else nullcontext():
        problem = ""
        if group.leads:
            try:
                folder.begin(settings, fingerprint)
            except RegardError as error:
                problem = str(error)
        problem = group.share_text(problem or "-")
        if problem != "-":
            raise ArgumentError(problem)
        with listening() as interruption:
            yield Joined(group, interruption)


def command_line() -> str:
    """Give the command that was typed, for the model card."""
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    start = f"torchrun --nproc-per-node={ranks} -m regard" if ranks > 1 else "regard"
    return f"{start} {shlex.join(sys.argv[1:])}"
