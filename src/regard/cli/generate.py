"""`regard generate`: the beginning of a text in, what follows out."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.files import check_unicode
from regard.cli.terminal import print_json, sanitize
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.data.text.text_tokenizer import TextKind, TextTokenizer
    from regard.tasks.language.model import Next

NAMED = 5
"""Unknown words that a note names."""


def generate(
    model: Annotated[Path, typer.Argument(help="A model folder, or the folder of a finished run.")],
    prompt: Annotated[
        str | None, typer.Argument(help="The beginning of the text; else what is piped in.", show_default=False)
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="Tokens to generate.")] = 100,
    temperature: Annotated[float, typer.Option(help="Below 1 for likelier tokens; 0 for the likeliest.")] = 1.0,
    top_k: Annotated[int, typer.Option(help="Draw from so many of the likeliest; 0 for all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Draw from the likeliest of this probability.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Another seed, another text.")] = 0,
    show_next: Annotated[
        bool, typer.Option("--next", help="Show what may follow, and what the model attends to, instead.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Give one JSON object.")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
) -> None:
    """Go on with a text, token by token.

    Example: `regard generate runs/shakespeare "ROMEO:" --temperature 0.8`

    What may follow: `regard generate runs/shakespeare "To be, or not to" --next`
    """
    from regard.decoding.search import Sampling

    if temperature < 0:
        raise ArgumentError(f"`--temperature` must be 0 for the likeliest tokens, or above; received {temperature}.")
    greedy = temperature == 0
    sampling = Sampling(temperature=temperature or 1.0, top_k=top_k, top_p=top_p, seed=seed)
    if show_next and (max_tokens, temperature, sampling) != (100, 1.0, Sampling()):
        raise ArgumentError(
            "`--next` must go without --max-tokens, --temperature, --top-k, --top-p and --seed: it shows what the "
            "model holds likely, before anything is drawn; received it with one of them. Leave out one or the other."
        )
    from regard.tasks.language.model import load_language

    loaded = load_language(model, device=device)
    prompt = _read_prompt() if prompt is None else prompt
    check_unicode("PROMPT", prompt)
    if unknown := loaded.tokenizer.unknown(prompt):
        more = ", …" if len(unknown) > NAMED else ""
        shown = ", ".join(map(repr, unknown[:NAMED]))
        print(f"regard: not in the text that the model was trained on: {shown}{more}", file=sys.stderr)
    if show_next:
        _show(loaded.next(prompt), loaded.tokenizer, as_json=as_json)
        return
    pieces = loaded.stream(prompt, max_tokens=max_tokens, sampling=sampling, greedy=greedy)
    if as_json:
        print_json({"prompt": prompt, "text": "".join(pieces)})
        return
    written = partial(sanitize, keep="\n\t") if sys.stdout.isatty() else str
    sys.stdout.write(written(prompt))
    for piece in pieces:
        sys.stdout.write(written(piece))
        sys.stdout.flush()
    sys.stdout.write("\n")


def _read_prompt() -> str:
    """Give what is piped in, without the line break at its end; nothing on a terminal."""
    if sys.stdin.isatty():
        return ""
    return sys.stdin.read().removesuffix("\n").removesuffix("\r")


def _show(result: "Next", tokenizer: "TextTokenizer", *, as_json: bool) -> None:
    if as_json:
        tokens = [token._asdict() for token in result.tokens]
        attended = (
            None
            if result.attended_to is None
            else [{"text": text, "weight": weight} for text, weight in result.attended_to]
        )
        print_json({"next": tokens, "never_output": result.never_output, "attended_to": attended})
        return
    _print_bars("next", [(token.text, token.probability) for token in result.tokens], tokenizer.kind)
    if result.never_output >= 0.0005:  # what the three digits show
        print(f"  and {result.never_output:.3f} for what is never output: {_describe_excluded(tokenizer)}")
    attended_to = result.attended_to
    if attended_to is not None:
        print("\nattends to (weights of the last layer, the mean over its heads)")
        most = sorted(range(len(attended_to)), key=lambda index: -attended_to[index][1])[:_SHOWN]
        _print_bars("", [attended_to[index] for index in sorted(most)], tokenizer.kind)


def _describe_excluded(tokenizer: "TextTokenizer") -> str:
    """Name all that a model with this tokenizer never outputs."""
    what = ["<unk> and marks that no text has"]
    if tokenizer.unseen:
        what.append("tokens that the training text lacks")
    if (tokenizer.byte_values >= 0).any():
        what.append("bytes that cannot follow")
    return ", ".join(what)


def _print_bars(title: str, rows: list[tuple[str, float]], kind: "TextKind") -> None:
    """Print words, numbers, and bars as long as these."""
    if title:
        print(title)
    from rich.cells import cell_len

    from regard.data.text.spelling import spell

    shown = [(spell(text, kind=kind), value) for text, value in rows]
    width = max((cell_len(text) for text, _ in shown), default=0)
    for text, value in shown:
        print(f"  {text}{' ' * (width - cell_len(text))}  {value:6.3f}  {'█' * round(30 * value)}".rstrip())


_SHOWN = 20
"""Tokens shown at most."""
