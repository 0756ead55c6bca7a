"""`--engine`: a command on large files, over many workers; file to file, finished blocks recorded."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from regard.cli.progress import LineProgress, keeping_lines
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.scale.job import Engine
    from regard.scale.work import Work
    from regard.tasks.translation.lines import Translate

Engines: TypeAlias = Annotated[
    str,
    typer.Option(
        "--engine", metavar="NAME", help="torch, in this process; ray, or ray:HOST:PORT: large files, many workers."
    ),
]
EngineOutput: TypeAlias = Annotated[
    Path | None, typer.Option("--output", help="The file that --engine ray writes; a job that was stopped goes on.")
]
EngineOverwrite: TypeAlias = Annotated[bool, typer.Option("--overwrite", help="Replace an output that is there.")]


def find_engine(
    name: str,
    *,
    output: Path | None,
    files: Sequence[object],
    refused: Mapping[str, object],
    local: Sequence[str] = ("torch",),
) -> "Engine | None":
    """Give the engine of `--engine`, None for those of this process, `local`; the others read `files`, write `output`.

    `refused` are the flags that those do not know, with their values.
    """
    if name == "torch":
        return None
    from regard.scale.job import choose_engine

    engine = choose_engine(name, local=local)
    if engine is None:
        return None
    if output is None or not all(files):
        raise ArgumentError(f"`--engine {name}` must have files for its input and its --output; received none.")
    for flag, value in refused.items():
        if value:
            raise ArgumentError(f"`{flag}` must be left out with --engine {name}; received it. Leave out one of them.")
    return engine


def run_lines(work: "Work", output: Path, engine: "Engine", *, overwrite: bool) -> list[dict[str, Any]]:
    """Run a job, show how far it is, and give the facts of every chunk."""
    from regard.scale.job import run_job

    size = sum(path.stat().st_size for path in work.inputs if path.is_file())
    progress, lines = LineProgress(size=size), 0

    def watch(done: int, blocks: int, total: int) -> None:
        nonlocal lines
        lines = done
        progress(done, size * blocks // max(1, total))

    with keeping_lines(progress, output, lambda: lines):
        return run_job(work, output, engine, overwrite=overwrite, watch=watch)


def warn_of_lines(facts: Sequence[Mapping[str, Any]], reach: int) -> None:
    """Write what was not as it should be of the lines that were translated; `reach` tokens are read of a line."""
    from regard.scale.text_work import merge_tallies

    for warning in merge_tallies(facts).warnings(reach):
        print(f"regard: {warning}", file=sys.stderr)


def translate_over(
    engine: "Engine",
    models: Sequence[Path],
    settings: "Translate",
    source: Path | None,
    output: Path | None,
    overwrite: bool,
    dictionary: Path | None,
    terms: Path | None,
    device: str,
) -> None:
    """Translate a file over the workers of an engine."""
    from regard.scale.text_work import Models, TranslateLines
    from regard.tasks.translation.unknown_words import read_dictionary

    assert source is not None
    assert output is not None
    words = read_dictionary(dictionary) if dictionary else {}
    known = Models.find(models, device=device)
    work = TranslateLines(
        models=known,
        source=source.absolute(),
        translate=settings,
        dictionary=words,
        terms=read_dictionary(terms) if terms else {},
    )
    facts = run_lines(work, output, engine, overwrite=overwrite)
    warn_of_lines(facts, settings.max_source_length)
