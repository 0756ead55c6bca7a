"""`regard doctor`: what is wrong with a run, and what to do."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.progress import Watching
from regard.cli.tables import print_table
from regard.cli.terminal import print_json, sanitize

if TYPE_CHECKING:
    from regard.tasks.doctor.check import Diagnosis


def doctor(
    run: Annotated[Path, typer.Argument(help="A run folder, finished or not.")],
    sentences: Annotated[int, typer.Option(min=1, help="Held-out sentences that are translated, at most.")] = 200,
    device: Annotated[str, typer.Option(help="Where the model runs: cpu, cuda or auto.")] = "cpu",
    trust: Annotated[
        bool, typer.Option("--trust", help="Open the data that a run from elsewhere names in its config.toml.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")] = False,
) -> None:
    """Check why the output of a run is empty, repeated, copied or full of unknown tokens, and what to do about it.

    Numbers of its training (a learning rate that diverged, a gap to the validation), vocabulary (unknown tokens), data
    (swapped or equal sides, lines that do not belong together) and output (length, repetition, copies, attention on
    the end), each beside the limits within which it is healthy.

    Exits with 0 where all are, and with 1 where there are findings.

    Example: `regard doctor runs/a`
    """
    from regard.tasks.doctor.doctor import doctor

    with Watching() as watching:
        result = doctor(run, sentences=sentences, device=device, trust=trust, on_progress=watching)
    if as_json:
        print_json(result.table(), indent=1)
    else:
        _show(result)
    if not result.healthy:
        raise typer.Exit(1)


def _show(result: "Diagnosis") -> None:
    rows = [[item.name, item.shown, item.limits, "" if item.healthy else "finding"] for item in result.checks]
    print_table(["check", "value", "healthy", ""], rows, words=(0, 2, 3))
    for item in result.findings:
        print(f"\n{item.name}: {sanitize(item.problem)}\n  {sanitize(item.advice)}")
    for note in result.notes:
        print(f"\nnot checked: {sanitize(note)}")
    if result.healthy:
        print("\nno findings")
