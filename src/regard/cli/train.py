"""`regard train`: data of a task in, a model out."""

from pathlib import Path
from typing import Annotated, Any

import typer

from regard.errors import ArgumentError
from regard.tasks.task import DEFAULT, TASKS, data_settings, find_task

_NAMES = (
    f"{', '.join(list(TASKS)[:-1])} or {list(TASKS)[-1]}; without it {DEFAULT}, or the task of the run that goes on."
)


def train(
    recipe: Annotated[
        Path | None, typer.Argument(help="A TOML file of settings, such as recipes/multi30k-en-de.toml.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run folder; a run that was stopped there goes on, by this option alone.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            help="A corpus: file, folder, 'parts/*.tsv', hf:NAME (Hugging Face) or builtin:NAME; list shows those. May "
            "be repeated."
        ),
    ] = None,
    source: Annotated[str, typer.Option(help="A plain file of source sentences, one a line.")] = "",
    target: Annotated[str, typer.Option(help="The plain file of their translations.")] = "",
    preset: Annotated[str, typer.Option(help="A named model of the task, such as bahdanau; list shows them.")] = "",
    task: Annotated[str, typer.Option(help=_NAMES)] = "",
    start: Annotated[
        Path | None, typer.Option("--from", help="A model or run folder to start from: fine-tuning on new data.")
    ] = None,
    config: Annotated[Path | None, typer.Option(hidden=True)] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One setting; may be repeated.")
    ] = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Show every setting with its help, as TOML, and stop.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Give the figures as one JSON object.")] = False,
) -> None:
    """Train a translator, language model, classifier of texts or images, question answerer, captioner or aligner.

    Without `--preset` a translator is a Transformer as large as the data allows; without a GPU and with fewer than
    200,000 pairs it is bahdanau, which learns sooner there.

    By `--task`: translate reads sentence pairs, language reads text, classify labeled texts, images labeled pictures,
    questions and captions pictures with them, align sentence pairs. The presets of a task:
    `regard train --task classify --preset list`

    A recipe holds all of a run: `regard train recipes/multi30k-en-de.toml`. RESULTS.md lists what each gives. Its
    settings may be overridden by all other options.

    Example: `regard train --source a.es --target a.en --out runs/b`

    Another: `regard train --preset bahdanau --data builtin:es-en --out runs/a --set train.steps=200`

    A language model: `regard train --task language --preset lstm --data builtin:stories --out runs/l`

    A classifier: `regard train --task classify --preset lstm-attention --data builtin:opinions --out runs/c`

    Of images: `regard train --task images --data builtin:simple-shapes --out runs/f`

    Questions about pictures, and captions: `regard train --task questions --data builtin:simple-shapes --out runs/q`

    Built-in data, so that every task has some: `regard train --data list`

    Go on where a run was stopped, or beyond its end: `regard train --out runs/a --set train.steps=2000`

    Fine-tune on other data: `regard train --from runs/a --source b.es --target b.en --out runs/c`

    On several GPUs: `torchrun --nproc-per-node=4 -m regard train …`
    """
    if preset == "list":
        _print_presets(task or DEFAULT)
        return
    if "list" in (data or []):
        _print_builtins()
        return
    from regard.config.read import merge, parse_assignments

    if recipe is not None and config is not None:
        raise ArgumentError(f"`recipe` must be named once; received {recipe} and --config {config}.")
    flags = data_settings(data or [], source, target)
    from regard.tasks.recipe import read_recipe
    from regard.tasks.training import settings_of_run, start_run_from

    chosen = {"data": flags} if flags else {}
    file = recipe or config
    read = read_recipe(file, task=task) if file is not None else None
    if read is not None:
        task, preset, out = read.task, preset or read.preset, out or (read.out if recipe else None)
    elif out is not None and not (flags or preset or start):
        known, chosen = settings_of_run(out)
        if task and known and find_task(task).name != known:
            raise ArgumentError(
                f"`task` must be {known}, that of the run in {out}, or be left out; received {task}. For another task "
                "name a new folder, `out`, and data."
            )
        task = task or known
    task = task or DEFAULT
    chosen = merge(chosen, parse_assignments(assignments or []))
    if read is not None:
        chosen = read.prepare(chosen)
    chosen = start_run_from(start or "", task, chosen, preset)
    if print_config:
        _print_config(task, chosen, preset)
        return
    if out is None:
        raise ArgumentError("`--out` must name the run folder, such as runs/a; received nothing.")
    run_training(task, chosen, preset, out, as_json=as_json)


def run_training(name: str, chosen: dict[str, Any], preset: str, out: Path, *, as_json: bool = False) -> None:
    """Train with the settings `chosen` laid over those of `preset`, into the run folder `out`, and show it."""
    task = find_task(name)
    from regard.cli.training_run import TaskProgress, command_line, explained_ending, is_quiet, report_run
    from regard.tasks.training import train_task

    progress = TaskProgress(task, quiet=is_quiet())
    with explained_ending(out, progress):
        trained = train_task(task, chosen, out, preset=preset, display=progress, command=command_line())
        report_run(task, trained, as_json=as_json)


def _print_config(name: str, chosen: dict[str, Any], preset: str) -> None:
    """Show the settings of a run on the data that is named, or on data of a typical size."""
    from regard.config.show import show_settings
    from regard.tasks.training import find_settings

    print(show_settings(find_settings(find_task(name), chosen, preset)))


def _print_presets(name: str) -> None:
    """Show the named models of a task, with a line on each."""
    presets = find_task(name).presets
    width = max(map(len, presets))
    print("\n".join(f"{preset.ljust(width)}  {line}" for preset, line in presets.items()))


def _print_builtins() -> None:
    """Show the built-in corpora of every task."""
    from regard.cli.tables import print_table
    from regard.data.corpora.catalogue import BUILTINS

    rows = [[item.name, ", ".join(item.tasks), item.about] for item in BUILTINS]
    print_table(["--data", "--task", "what it is"], rows, words=(0, 1, 2))
