"""`regard compare`: which of several systems is better, by how much, and whether that is chance."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.evaluate import check_length_figure, chosen_settings, read_text, save_figure
from regard.cli.progress import Watching
from regard.cli.show_evaluation import show_lengths
from regard.cli.tables import print_table
from regard.cli.terminal import print_json, sanitize

if TYPE_CHECKING:
    from regard.tasks.evaluation.comparison import Comparison
    from regard.tasks.evaluation.evaluate import Evaluation
    from regard.tasks.evaluation.text_comparison import TextComparison


def compare(
    systems: Annotated[
        list[Path], typer.Argument(help="Run folders, model folders, or files of output; the first is the baseline.")
    ],
    data: Annotated[str, typer.Option(help="A test set: file, folder, hf:NAME or builtin:es-en.")] = "",
    source: Annotated[str, typer.Option(help="A plain file of source sentences, one a line.")] = "",
    target: Annotated[str, typer.Option(help="The plain file of their references.")] = "",
    split: Annotated[str, typer.Option(help="Part of the data, such as valid, long, or test,long.")] = "",
    bins: Annotated[str, typer.Option(hidden=True)] = "",
    figure: Annotated[Path | None, typer.Option(help="Write quality by length as .png, .svg or .pdf.")] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Open the data that runs from elsewhere name in their config.toml.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One setting, such as search.beam=1.")
    ] = None,
) -> None:
    """Compare translators (paired bootstrap, quality by length) or language models (bits a character) on one test set.

    Without a test set, it is the one that the runs held out, which must be the same.

    Example: `regard compare runs/fixed runs/bahdanau --split test,long --figure lengths.png`

    With output of another system: `regard compare runs/a out.txt --source test.es --target test.en`

    Language models: `regard compare runs/lstm runs/transformer --data text.txt`

    Further settings, by `--set`: those of `regard evaluate`.
    """
    settings = chosen_settings(bins, "", assignments)
    if figure is not None:
        check_length_figure(figure, *systems)
    from regard.tasks.calls import compare
    from regard.tasks.evaluation.comparison import Comparison

    with Watching() as watching:
        result = compare(
            *systems,
            data=read_text(Path(data)) if data == "-" else data,
            source=source,
            target=target,
            split=split,
            trust=trust,
            settings=settings,
            on_progress=watching,
        )
    if figure is not None and isinstance(result, Comparison):
        save_figure(result.evaluations, figure)
    if as_json:
        print_json(result.table(), indent=1)
        return
    if isinstance(result, Comparison):
        _show(result)
    else:
        _show_texts(result)
    if figure is not None:
        print(f"\nfigure  {figure}")


def _show(result: "Comparison") -> None:
    first = result.evaluations[0]
    print(f"{sanitize(first.held_out.name)}: {len(first.held_out.pairs):,} pairs; baseline {first.name}\n")
    rows = [_row(item, None) for item in result.evaluations[:1]]
    for item, differences in zip(result.evaluations[1:], result.differences, strict=True):
        rows.append(_row(item, differences["BLEU"].p_value))
    headings = ["", "BLEU", "95 %", "p", "chrF", "TER", "perplexity", "parameters", "sentences/s"]
    print_table(headings, rows)
    print("p: paired bootstrap on BLEU against the baseline; * below 0.05. Perplexity is a word's.\n")
    show_lengths(result.evaluations)
    for item in result.evaluations:
        for note in item.notes:
            print(f"\nnote on {item.name}: {sanitize(note)}")
    print(f"\n{first.measures['BLEU'].signature}")
    for item in result.evaluations:
        print(f"{item.name}: {item.signature}")


def _row(item: "Evaluation", p_value: float | None) -> list[str]:
    outputs, bleu = item.outputs, item.scores["BLEU"]
    p = "–" if p_value is None else f"{p_value:.3f}{'*' if p_value < 0.05 else ' '}"
    return [
        item.name,
        f"{bleu.value:.2f}",
        f"{bleu.low:.1f}–{bleu.high:.1f}",
        p,
        f"{item.scores['chrF'].value:.2f}",
        f"{item.scores['TER'].value:.2f}",
        "–" if outputs.perplexity is None else f"{outputs.perplexity.per_word:,.2f}",
        "–" if outputs.parameters is None else f"{outputs.parameters:,}",
        "–" if outputs.sentences_per_second is None else f"{outputs.sentences_per_second:,.1f}",
    ]


def _show_texts(result: "TextComparison") -> None:
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
