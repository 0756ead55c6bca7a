"""`regard compare`: which of several systems is better, by how much, and whether that is chance."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from regard.cli.compare_texts import compare_language_models
from regard.cli.evaluate import read_evaluating, show_lengths
from regard.cli.evaluate_texts import is_language
from regard.cli.tables import print_table
from regard.cli.terminal import print_json, sanitize
from regard.cli.watching import Watching
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.tasks.evaluation.comparison import Comparison
    from regard.tasks.evaluation.evaluate import Evaluation


def compare(
    systems: Annotated[
        list[Path], typer.Argument(help="Run folders, model folders, or files of output; the first is the baseline.")
    ],
    data: Annotated[str, typer.Option(help="A test set: file, folder, hf:NAME or builtin:es-en.")] = "",
    source: Annotated[str, typer.Option(help="A plain file of source sentences, one a line.")] = "",
    target: Annotated[str, typer.Option(help="The plain file of their references.")] = "",
    split: Annotated[str, typer.Option(help="Part of the data, such as valid, long, or test,long.")] = "",
    bins: Annotated[str, typer.Option(metavar="10,20,…", help="Source lengths at which a bin begins.")] = "",
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
    """
    if len(systems) < 2:
        raise ArgumentError(
            f"`regard compare` must be given two systems or more; received {len(systems)}. For one: regard evaluate."
        )
    if is_language(systems[0]):
        flags = {"--source": source, "--target": target, "--bins": bins, "--figure": figure}
        compare_language_models(
            systems, flags, data=data, split=split, trust=trust, as_json=as_json, assignments=assignments
        )
        return
    from regard.tasks.evaluation.comparison import compare, evaluate_systems
    from regard.tasks.evaluation.length_figure import check_figure, save_length_figure

    settings = read_evaluating(
        data=data,
        source=source,
        target=target,
        split=split,
        tokenized="",
        bins=bins,
        trust=trust,
        assignments=assignments,
    )
    if figure is not None:
        check_figure(figure)
    with Watching() as watching:
        evaluations = evaluate_systems(
            systems,
            settings,
            watch=lambda name: lambda what, done, total: watching(f"{name}: {what}", done, total),
        )
        watching("comparing", 0, 1)
        result = compare(evaluations, samples=settings.samples, seed=settings.seed)
    if figure is not None:
        save_length_figure(result.evaluations, figure)
    if as_json:
        print_json(result.table(), indent=1)
        return
    _show(result)
    if figure is not None:
        print(f"\nfigure  {figure}")


def _show(found: "Comparison") -> None:
    first = found.evaluations[0]
    print(f"{sanitize(first.held_out.name)}: {len(first.held_out.pairs):,} pairs; baseline {first.name}\n")
    rows = [_row(item, None) for item in found.evaluations[:1]]
    for item, differences in zip(found.evaluations[1:], found.differences, strict=True):
        rows.append(_row(item, differences["BLEU"].p_value))
    headings = ["", "BLEU", "95 %", "p", "chrF", "TER", "perplexity", "parameters", "sentences/s"]
    print_table(headings, rows)
    print("p: paired bootstrap on BLEU against the baseline; * below 0.05. Perplexity is a word's.\n")
    show_lengths(found.evaluations)
    for item in found.evaluations:
        for note in item.notes:
            print(f"\nnote on {item.name}: {sanitize(note)}")
    print(f"\n{first.measures['BLEU'].signature}")
    for item in found.evaluations:
        print(f"{item.name}: {item.signature}")


def _row(one: "Evaluation", p_value: float | None) -> list[str]:
    outputs, bleu = one.outputs, one.scores["BLEU"]
    p = "–" if p_value is None else f"{p_value:.3f}{'*' if p_value < 0.05 else ' '}"
    return [
        one.name,
        f"{bleu.value:.2f}",
        f"{bleu.low:.1f}–{bleu.high:.1f}",
        p,
        f"{one.scores['chrF'].value:.2f}",
        f"{one.scores['TER'].value:.2f}",
        "–" if outputs.perplexity is None else f"{outputs.perplexity.per_word:,.2f}",
        "–" if outputs.parameters is None else f"{outputs.parameters:,}",
        "–" if outputs.sentences_per_second is None else f"{outputs.sentences_per_second:,.1f}",
    ]
