"""`regard compress`: a translator's folder made small and quick."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.pair_files import read_two_files


def compress(
    model: Annotated[Path, typer.Argument(help="A model folder, or the folder of a finished run.")],
    output: Annotated[Path, typer.Argument(help="The folder to write.")],
    train: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="SOURCE TARGET", help="Pairs to learn a shortlist of output words from."),
    ] = None,
) -> None:
    """Write a translator with matrices of int8, a quarter of its size, and with a shortlist of output words.

    Example: `regard compress runs/a small --train train.es train.en`

    The folder is used as any other: `regard translate small --precision int8 --shortlist --input corpus.es`
    """
    pairs = [] if train is None else read_two_files(*train)
    from regard.tasks.translation.compress import compress

    sizes = compress(model, output, pairs=pairs)
    listed = f", and a shortlist of {_megabytes(sizes.shortlist)}" if sizes.shortlist else ""
    print(f"{output}  {_megabytes(sizes.before)} → {_megabytes(sizes.after)}{listed}")


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"
