"""`regard train`: data of a task in, a model out; that of a translator is here."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.training_run import carry_out, is_quiet, named, report_run, tell_time, told_how_it_ended
from regard.errors import ArgumentError, near_miss, with_article

TASKS = ("translate", "language", "classify", "images", "questions", "captions")


def train(
    out: Annotated[Path | None, typer.Option(help="The run folder; a run that was stopped there goes on.")] = None,
    data: Annotated[
        str, typer.Option(help="A corpus: file, folder, hf:NAME (Hugging Face) or builtin:NAME; list shows those.")
    ] = "",
    source: Annotated[str, typer.Option(help="A plain file of source sentences, one a line.")] = "",
    target: Annotated[str, typer.Option(help="The plain file of their translations.")] = "",
    preset: Annotated[str, typer.Option(help="A named model of the task, such as bahdanau; list shows them.")] = "",
    task: Annotated[
        str, typer.Option(help="translate, language, classify, images, questions or captions.")
    ] = "translate",
    config: Annotated[Path | None, typer.Option(help="A TOML file of settings.")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One setting; may be repeated.")
    ] = None,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Show every setting with its help, as TOML, and stop.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Give the figures as one JSON object.")] = False,
) -> None:
    """Train a translator, a language model, a classifier of texts or images, a question answerer or a captioner.

    By `--task`: translate reads sentence pairs, language reads text, classify labeled texts, images labeled pictures,
    questions and captions pictures with them. The presets of a task: `regard train --task classify --preset list`

    Example: `regard train --source a.es --target a.en --out runs/b`

    Another: `regard train --preset bahdanau --data builtin:es-en --out runs/a --set train.steps=200`

    A language model: `regard train --task language --preset lstm --data builtin:stories --out runs/l`

    A classifier: `regard train --task classify --preset lstm-attention --data builtin:opinions --out runs/c`

    Of images: `regard train --task images --data builtin:simple-shapes --out runs/f`

    Questions about pictures, and captions: `regard train --task questions --data builtin:simple-shapes --out runs/q`

    Built-in data, so that every task has some: `regard train --data list`

    On several GPUs: `torchrun --nproc-per-node=4 -m regard train …`
    """
    from regard.config.read import load_toml, merge, parse_assignments

    flags: dict[str, Any] = {
        name: value for name, value in (("corpus", data), ("source", source), ("target", target)) if value
    }
    chosen = merge(load_toml(config) if config else {}, {"data": flags} if flags else {})
    chosen = merge(chosen, parse_assignments(assignments or []))
    if preset == "list":
        _print_presets(task)
        return
    if data == "list":
        _print_builtins()
        return
    if out is None and not print_config:
        raise ArgumentError("`--out` must name the run folder, such as runs/a; received nothing.")
    _dispatch(task, chosen, preset, None if print_config else out, as_json=as_json)


def _dispatch(task: str, chosen: dict[str, Any], preset: str, out: Path | None, *, as_json: bool) -> None:
    """Train, or show the settings where there is no folder to train into."""
    for name in ("source", "target"):
        if task in ("classify", "images", "questions", "captions") and name in chosen.get("data", {}):
            raise ArgumentError(f"`--{name}` must be left out with --task {task}, which takes one corpus: --data.")
    show, run = _find_task(task)
    if out is None:
        show(chosen, preset)
    else:
        run(chosen, preset, out, as_json=as_json)


def _find_task(task: str) -> tuple[Callable[..., None], Callable[..., None]]:
    """Give what shows the settings of a task, and what trains."""
    match task:
        case "translate":
            return _print_config, _run
        case "language":
            from regard.cli.train_language import print_language_config, train_language

            return print_language_config, train_language
        case "classify":
            from regard.cli.train_classify import print_classify_config, train_classify

            return print_classify_config, train_classify
        case "images":
            from regard.cli.train_images import print_images_config, train_images

            return print_images_config, train_images
        case "questions" | "captions":
            from regard.cli.train_questions import print_picture_config, train_on_pictures

            return partial(print_picture_config, task), partial(train_on_pictures, task)
    raise _unknown_task(task)


def _print_builtins() -> None:
    """Show the built-in corpora of every task."""
    from regard.cli.tables import print_table
    from regard.data.corpora.catalogue import BUILTINS

    rows = [[one.name, ", ".join(one.tasks), one.about] for one in BUILTINS]
    print_table(["--data", "--task", "what it is"], rows, words=(0, 1, 2))


def _print_presets(task: str) -> None:
    """Show the named models of a task, with a line on each."""
    from regard.cli.tables import print_table
    from regard.config.preset_descriptions import PRESET_DESCRIPTIONS

    if task not in PRESET_DESCRIPTIONS:
        raise _unknown_task(task)
    print_table(["--preset", "what it is"], list(PRESET_DESCRIPTIONS[task].items()), words=(0, 1))


def _unknown_task(task: str) -> ArgumentError:
    return ArgumentError(
        f"`--task` must be {', '.join(TASKS[:-1])} or {TASKS[-1]}; received {task}.{near_miss(task, TASKS)}"
    )


def _print_config(chosen: dict[str, Any], preset: str) -> None:
    """Show the settings of a run on this data, or on data of no size where none is named."""
    from regard.config.compose import compose
    from regard.config.defaults import DataSize
    from regard.config.show import show_settings, to_table

    size = DataSize(pairs=100_000, words=1_000_000)
    compose(chosen, size, name=preset)  # mistakes before any work
    if chosen.get("data", {}).get("corpus") or chosen.get("data", {}).get("source"):
        from regard.tasks.translation.data import gather_pairs

        corpus = gather_pairs(chosen["data"])
        size, chosen = corpus.size, {**chosen, "data": to_table(corpus.data)}
    print(show_settings(compose(chosen, size, name=preset)))


def _run(chosen: dict[str, Any], preset: str, out: Path, *, as_json: bool) -> None:
    from regard.config.compose import compose
    from regard.config.defaults import DataSize
    from regard.config.show import to_table
    from regard.tasks.translation.data import gather_pairs

    compose(chosen, DataSize(pairs=100_000, words=1_000_000), name=preset)  # mistakes before any work
    from regard.cli.progress import Progress
    from regard.tasks.translation.train import train_translator

    progress = Progress(quiet=is_quiet())
    progress.say("reading the data")
    corpus = gather_pairs(chosen.get("data", {}), count=partial(progress.count, "reading the data"))
    for report in corpus.reports:
        if report.dropped:
            progress.say(str(report))
    settings = compose({**chosen, "data": to_table(corpus.data)}, corpus.size, name=preset)
    progress.say(
        f"{len(corpus.train):,} pairs to train on, {len(corpus.valid):,} to validate on, {len(corpus.test):,} to test "
        f"with; {_told_steps(settings.model.kind, settings.train.steps)}"
    )
    with told_how_it_ended(out, progress):
        train = partial(train_translator, count=progress.count)
        trained = carry_out(train, settings, corpus, out, fingerprint=corpus.fingerprint(), watcher=progress)
        report_run(trained, _tell, as_json=as_json)


def _told_steps(kind: str, steps: int) -> str:
    """Say how long a model trains; one that counts takes no steps."""
    return (
        "a statistical model, which counts"
        if kind == "statistical"
        else f"{steps:,} steps of {with_article(kind)} model"
    )


def _tell(figures: Mapping[str, float], side: str) -> str:
    return (
        f"BLEU {figures[f'{side}_bleu']:.2f}, chrF {figures[f'{side}_chrf']:.2f} ({named(side)}); {tell_time(figures)}"
    )
