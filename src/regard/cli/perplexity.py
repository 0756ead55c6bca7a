"""`regard perplexity`: how surprised a language model is by a text."""

import json
from pathlib import Path
from typing import Annotated

import typer


def perplexity(
    model: Annotated[Path, typer.Argument(help="A model folder, or the folder of a finished run.")],
    text: Annotated[Path, typer.Argument(help="A text file or a folder of them; they may be compressed.")],
    stride: Annotated[
        int, typer.Option(help="Tokens that each window of a Transformer adds; 0 for the whole window.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Give one JSON object.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
) -> None:
    """Measure a language model on a text, in units that say what they count.

    Example: `regard perplexity runs/shakespeare test.txt.xz --stride 64`
    """
    from regard.cli.progress import Progress
    from regard.tasks.language_model import load_language
    from regard.tasks.text_corpus import Text, find_files

    loaded = load_language(model, device=device)
    progress = Progress()
    progress.say("reading the text")
    found = loaded.measure(Text(find_files(text)), stride=stride)
    if as_json:
        print(json.dumps({**found.figures(), "tokenization": found.tokenization}))
        return
    print(
        f"perplexity {found.perplexity:,.2f} a token ({found.loss:.4f} nats), {found.bits_per_character:.4f} bits a "
        f"character, {found.bits_per_byte:.4f} bits a byte\n"
        f"{found.tokens:,} tokens ({found.tokenization}), {found.unknown:,} of them unknown; "
        f"{found.characters:,} characters"
    )
