"""`regard compare` of language models: perplexity and bits a character on the same text."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.evaluate_texts import read_text
from regard.cli.tables import print_table
from regard.cli.terminal import print_json, sanitize
from regard.cli.watching import Watching
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.tasks.evaluation.text_comparison import TextComparison


def compare_language_models(
    systems: Sequence[Path],
    flags: Mapping[str, object],
    *,
    data: str,
    split: str,
    trust: bool,
    as_json: bool,
    assignments: list[str] | None,
) -> None:
    """Measure language models on one text and print them beside each other; `flags` must be left out."""
    from regard.config.read import parse_assignments, read_settings
    from regard.tasks.evaluation.text_comparison import compare_on_text, find_common_text
    from regard.tasks.evaluation.texts import MeasuringText

    for name, value in flags.items():
        if value:
            raise ArgumentError(
                f"`{name}` must be left out for language models, which are compared on plain text; received {value}. "
                "Name the text: --data text.txt"
            )
    if data and split:
        raise ArgumentError(f"`--split` must be left out with --data, which is read whole; received {split}.")
    settings = read_settings(MeasuringText, parse_assignments(assignments or []))
    name, text = read_text(Path(data)) if data else find_common_text(systems, split, trust=trust)
    with Watching() as watching:
        result = compare_on_text(
            systems,
            name,
            text,
            settings,
            watch=lambda system: lambda what, done, total: watching(f"{system}: {what}", done, total),
        )
    if as_json:
        print_json(result.table(), indent=1)
        return
    _show(result)


def _show(result: "TextComparison") -> None:
    first, *_ = totals = [item.total for item in result.evaluations]
    print(f"{sanitize(result.text)}: {first.characters:,} characters; baseline {result.evaluations[0].name}\n")
    rows = [
        [
            item.name,
            f"{total.bits_per_character:.4f}",
            "–" if number == 0 else f"{total.bits_per_character - first.bits_per_character:+.4f}",
            f"{total.bits_per_byte:.4f}",
            f"{total.perplexity:,.2f}",
            f"{total.tokens:,}",
            f"{total.unknown:,}",
            "counts" if item.parameters is None else f"{item.parameters:,}",
            f"{item.tokens_per_second:,.0f}",
        ]
        for number, (item, total) in enumerate(zip(result.evaluations, totals, strict=True))
    ]
    headings = ["", "bits a character", "difference", "bits a byte", "perplexity", "tokens", "unknown", "parameters"]
    print_table([*headings, "tokens/s"], rows)
    print("difference: of bits a character from the baseline; there is no significance test for one running text.")
    for note in result.notes:
        print(f"note: {note}")
    for item in result.evaluations:
        print(f"{item.name}: {item.signature}")
