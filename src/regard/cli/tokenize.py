"""`regard tokenize`: lines in, the tokens of a model out."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from regard.cli.engine_run import Engines, find_engine, run_lines
from regard.errors import ArgumentError


def tokenize(
    model: Annotated[Path, typer.Argument(help="The folder of a translator, or of its run.")],
    texts: Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="Sentences; else --input.")] = None,
    source: Annotated[Path | None, typer.Option("--input", help="A plain file of lines.")] = None,
    output: Annotated[
        Path | None, typer.Option(help="The file to write; a job that was stopped goes on. Else standard output.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an output that is there.")] = False,
    side: Annotated[str, typer.Option(metavar="source|target", help="Whose tokenizer.")] = "source",
    numbers: Annotated[bool, typer.Option("--numbers", help="Write the tokens' numbers.")] = False,
    engine: Engines = "torch",
) -> None:
    """Divide lines into the tokens of a model, with spaces between them: one line out for each line in.

    Example: `regard tokenize runs/a "¿Dónde está el libro?"`

    A file: `regard tokenize runs/a --input corpus.es --output corpus.tokens --numbers`

    A large file, over all processors: `regard tokenize runs/a --input big.es --output big.tokens --engine ray`
    """
    chosen = read_side(side)
    if bool(texts) == (source is not None):
        received = "both" if texts else "neither"
        raise ArgumentError(f"Either sentences or `--input` must be given; received {received}.")
    if (source is None) != (output is None):
        raise ArgumentError("`--input` and `--output` must go together; received one of them.")
    cluster = find_engine(engine, output=output, files=[source], refused={})
    from regard.scale.job import InProcess
    from regard.scale.text_work import Models, TokenizeLines, tokenized

    models = Models.find([model], device="cpu")
    if source is not None and output is not None:
        work = TokenizeLines(models=models, source=source.absolute(), side=chosen, numbers=numbers)
        run_lines(work, output, cluster or InProcess(), overwrite=overwrite)
        return
    from regard.cli.terminal import sanitize
    from regard.data.text.tokenizer import TokenizerPair
    from regard.tasks.model_folder import find_model

    pair = TokenizerPair.load(find_model(model))
    lines = tokenized(pair.source if chosen == "source" else pair.target, numbers=numbers)(texts or [])
    for line in lines:
        print(sanitize(line) if sys.stdout.isatty() else line)


def read_side(side: str) -> Literal["source", "target"]:
    """Read `--side`."""
    match side:
        case "source" | "target":
            return side
    raise ArgumentError(f"`--side` must be source or target; received {side}.")
