"""`regard perplexity`: `regard evaluate` of a language model, by its own name."""

from pathlib import Path
from typing import Annotated

import typer


def perplexity(
    model: Annotated[Path, typer.Argument(help="A model folder, or the folder of a finished run.")],
    texts: Annotated[
        list[Path] | None,
        typer.Argument(metavar="TEXT", help="Text files or folders, compressed or not; - for a pipe; none: the run's."),
    ] = None,
    stride: Annotated[
        int, typer.Option(help="Tokens that each window of a Transformer adds; 0 for the whole window.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Give one JSON object.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
) -> None:
    """Measure a language model on texts: what `regard evaluate` does with one, in units that say what they count.

    Example: `regard perplexity runs/shakespeare test.txt.xz --stride 64`
    """
    from regard.cli.evaluate_texts import measure_texts
    from regard.tasks.text_evaluation import MeasuringText

    measure_texts(model, texts or [], MeasuringText(stride=stride, device=device), as_json=as_json)
