"""`regard experiment`: what the lectures on attention rest on, measured here and now."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from regard.cli.outcome import ending_at_sigterm
from regard.cli.tables import print_table
from regard.cli.terminal import is_live, print_json
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regard.experiments import Experiment, Result
    from regard.experiments.experiment import Row
    from regard.experiments.text_models import TextRuns


def experiment(
    name: Annotated[str | None, typer.Argument(help="Which; --list shows them.", show_default=False)] = None,
    recipe: Annotated[
        Path | None,
        typer.Argument(help="A recipe whose text four-curves and luong-table train on.", show_default=False),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List what each shows and which idea it belongs to.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Run them all, one after the other.")] = False,
    out: Annotated[Path, typer.Option(help="Tables and figures go to a folder of the name in here.")] = Path(
        "runs/experiments"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Where the random numbers start.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Reduced size, a few seconds.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="With a recipe: models trained at a time; they share a GPU.")] = 1,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="With a recipe: one setting, such as train.minutes=2."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> None:
    """Run an experiment of the lectures: a table, a figure, and three sentences computed from the numbers.

    Each takes a minute or less on one core, those that train translators a few. The sentences report what this run
    measured, whichever way it falls.

    Example: `regard experiment vanishing-gradients`

    On a text of your own: `regard experiment luong-table recipes/europarl-de-en-papers.toml --jobs 8`. Models that are
    finished are not trained again, and one that was stopped goes on.
    """
    if sum((name is not None, listed, everything)) != 1:
        raise ArgumentError(
            "`regard experiment` must be given one of a name, --list and --all; received "
            f"{'none' if name is None and not (listed or everything) else 'more than one'}."
        )
    if out.is_file():
        raise ArgumentError(f"`--out` must be a folder; received the file {out}.")
    from regard.experiments import EXPERIMENTS, find

    if listed:
        _list(EXPERIMENTS, as_json=as_json)
        return
    chosen = EXPERIMENTS if name is None else (find(name),)
    if recipe is None and (assignments or jobs > 1):
        raise ArgumentError(
            "`--jobs` and `--set` must go with a recipe, whose text models are trained on; received none."
        )
    if recipe is not None and not (name and chosen[0].on_text):
        names = " or ".join(item.name for item in EXPERIMENTS if item.on_text)
        raise ArgumentError(f"`RECIPE` must go with {names}; received {recipe} with {name or '--all'}.")
    import torch

    torch.set_num_threads(1)
    text = None
    if recipe is not None:
        text = find_text(recipe, assignments or [], out / chosen[0].name, jobs=jobs, quick=quick)
    with ending_at_sigterm():
        result = [_run(item, out / item.name, text, seed=seed, quick=quick, as_json=as_json) for item in chosen]
    if as_json:
        print_json(result if name is None else result[0], indent=1)


def find_text(recipe: Path, assignments: "Sequence[str]", folder: Path, *, jobs: int, quick: bool) -> "TextRuns":
    """Read a recipe for an experiment, with settings of the command line over it; those of `experiment` are its own."""
    from dataclasses import asdict

    from regard.config.read import merge, parse_assignments, read_settings
    from regard.experiments.text_models import TextRuns
    from regard.tasks.recipe import OnText, read_recipe

    read = read_recipe(recipe, task="translate")
    assigned = parse_assignments(assignments)
    small = {"pairs": 200, "tested": 20, "size": 16} if quick else {}
    on_text = read_settings(OnText, asdict(read.on_text), small, assigned.pop("experiment", {}), at="experiment")
    settings = read.prepare(merge({"train": {"steps": 4, "validate_every": 4}} if quick else {}, assigned))
    return TextRuns(folder=folder, settings=settings, on_text=on_text, jobs=jobs, recipe=read)


def _list(experiments: "tuple[Experiment, ...]", *, as_json: bool) -> None:
    if as_json:
        print_json([{"name": item.name, "idea": item.idea, "shows": item.shows} for item in experiments], indent=1)
        return
    if sys.stdout.isatty():
        console = Console(highlight=False)
        for item in experiments:
            console.print(Text.assemble((item.name, "bold"), f"  {item.idea}"))
            console.print(Padding(Text(item.shows, style="dim"), (0, 0, 0, 4)))
        return
    rows = [[item.name, item.idea, item.shows] for item in experiments]
    print_table(["experiment", "idea", "shows"], rows, words=(0, 1, 2))


def _run(
    experiment: "Experiment", folder: Path, text: "TextRuns | None", *, seed: int, quick: bool, as_json: bool
) -> dict[str, object]:
    """Run one with a line of progress, write what it found and, unless for machines, show it."""
    from regard import __version__
    from regard.experiments import Settings, write
    from regard.experiments.experiment import as_values

    begun = time.monotonic()
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    parts = (TextColumn("{task.fields[name]}"), BarColumn(bar_width=24), TextColumn("{task.description}"))
    with Progress(*parts, TimeElapsedColumn(), console=console, transient=True, disable=not is_live(console)) as bar:
        task = bar.add_task("starting", total=1.0, name=experiment.name)
        if not is_live(console):
            console.print(Text(f"{experiment.name}: {experiment.shows}"))

        def watch(share: float, doing: str) -> None:
            bar.update(task, completed=share, description=doing)

        result = experiment.run(Settings(seed=seed, quick=quick, watch=watch, text=text))
    write(result, folder)
    seconds = time.monotonic() - begun
    console.print(Text(f"{experiment.name}: done in {seconds:.0f} s; table and figure in {folder}"))
    if not as_json:
        _show(experiment, result)
    on = f"|recipe:{text.recipe.path.name}" if text is not None and text.recipe is not None else ""
    signature = f"experiment:{experiment.name}{on}|seed:{seed}|quick:{'yes' if quick else 'no'}|version:{__version__}"
    return {"name": experiment.name, "signature": signature, "folder": str(folder), **as_values(result)}


def _show(experiment: "Experiment", result: "Result") -> None:
    from regard.experiments.experiment import columns

    for title, rows in result.tables.items():
        headings = columns(rows)
        words = [number for number, heading in enumerate(headings) if _holds_words(rows, heading)]
        cells = [[show_value(row.get(heading, "")) for heading in headings] for row in rows]
        print_table(headings, cells, title=title, words=words)
        print()
    width = min(Console().width, 100) if sys.stdout.isatty() else 100
    for sentence in result.reading:
        for line in Text(sentence).wrap(Console(width=width), width):
            print(line.plain.rstrip())
    print()


def _holds_words(rows: "list[Row]", heading: str) -> bool:
    return all(isinstance(row.get(heading, ""), str) for row in rows)


def show_value(value: str | int | float) -> str:
    """Write a number with three figures, and a word as it is.

    >>> [show_value(value) for value in ("rnn", 1200, 0.03456, 12345.6, 4.2e-9, 1.0, 0.9998)]
    ['rnn', '1,200', '0.0346', '12,346', '4.2e-09', '1.00', '1.00']
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    if size >= 1e6 or 0 < size < 1e-3:
        return f"{value:.1e}"
    return f"{value:,.0f}" if size >= 100 else f"{value:#.3g}"
