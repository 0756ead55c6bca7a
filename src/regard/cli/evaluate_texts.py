"""`regard evaluate` of a language model: how surprised it is by texts."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.files import check_unicode
from regard.cli.tables import print_table
from regard.cli.terminal import print_json
from regard.cli.watching import Watching
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.tasks.evaluation.texts import MeasuringText, TextEvaluation
    from regard.tasks.language.data import Text


def is_language(model: Path) -> bool:
    """Tell whether a path is that of a language model or of its run; one that is nothing at all is not."""
    from regard.models.language.folder import is_language_model
    from regard.training.run_folder import RunFolder

    return is_language_model(model) or is_language_model(RunFolder(model).model)


def check_for_language(given: Mapping[str, object]) -> None:
    """Refuse flags that a language model has no use for."""
    for name, value in given.items():
        if value:
            raise ArgumentError(
                f"`--{name}` must be left out for a language model, which is measured on plain text; received {value}. "
                "Write: regard evaluate MODEL TEXT…"
            )


def measure_texts(
    model: Path,
    paths: Sequence[Path],
    settings: "MeasuringText",
    *,
    split: str = "",
    trust: bool,
    as_json: bool = False,
) -> None:
    """Measure a language model on files, or on what its run held out, and print the result."""
    from regard.tasks.evaluation.comparison import system_names
    from regard.tasks.evaluation.texts import evaluate_texts, find_run_text
    from regard.tasks.language.model import load_language

    if paths and split:
        raise ArgumentError(f"`--split` must be left out with text files, which are read whole; received {split}.")
    loaded = load_language(model, device=settings.device)
    texts = dict(map(read_text, paths)) if paths else dict([find_run_text(model, split, trust=trust)])
    with Watching() as watching:
        result = evaluate_texts(loaded, texts, name=system_names([model])[0], stride=settings.stride, watch=watching)
    if as_json:
        print_json(result.table(), indent=1)
        return
    show_texts(result)


def read_text(path: Path) -> tuple[str, "Text"]:
    """Find a text file, the files of a folder, or the test of a built-in text, and name it; `-` is what is piped in."""
    from regard.tasks.evaluation.texts import find_text
    from regard.tasks.language.data import Text

    if str(path) == "-":
        lines = tuple(line.rstrip("\n") for line in sys.stdin)
        for line in lines:
            check_unicode("TEXT", line)
        return "standard input", Text(lines=lines)
    named = find_text(path)
    if named.note:
        print(f"regard: {named.note}", file=sys.stderr)
    return named.name, named.text


def show_texts(found: "TextEvaluation") -> None:
    """Print the figures, of each text where there are several."""
    item = found.total
    if len(found.texts) > 1:
        rows = [
            [
                name,
                f"{text.perplexity:,.2f}",
                f"{text.bits_per_character:.4f}",
                f"{text.bits_per_byte:.4f}",
                f"{text.tokens:,}",
                f"{text.unknown:,}",
            ]
            for name, text in [*found.texts.items(), ("all", item)]
        ]
        print_table(["", "perplexity", "bits a character", "bits a byte", "tokens", "unknown"], rows)
        print()
    else:
        print(f"{found.name} on {next(iter(found.texts))}: {item.characters:,} characters\n")
    size = "counts" if found.parameters is None else f"{found.parameters:,} parameters"
    print(
        f"perplexity  {item.perplexity:,.2f} a token ({item.loss:.4f} nats), {item.bits_per_character:.4f} bits a "
        f"character, {item.bits_per_byte:.4f} bits a byte\n"
        f"tokens      {item.tokenization}; {item.tokens:,}, {item.unknown:,} of them unknown; ends of lines counted\n"
        f"read        {found.reading}\n"
        f"model       {size}, {found.tokens_per_second:,.0f} tokens/s"
    )
    if item.unknown:
        print("\nnote: bits a character and a byte cannot be compared: what is unknown was not spelled")
    if item.altered:
        differ = "1 line differs" if item.altered == 1 else f"{item.altered:,} lines differ"
        print(
            f"\nnote: {differ} from what the tokens write (white space, case, form); characters and bytes are those of "
            "the tokens, and can be compared only with tokens that keep as much"
        )
    print(f"\n{found.signature}")
