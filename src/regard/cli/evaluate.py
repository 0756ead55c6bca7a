"""`regard evaluate`: how good a model is, and a translator also where."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.engine_run import EngineOutput, EngineOverwrite, Engines, find_engine
from regard.cli.evaluate_files import evaluate_over
from regard.cli.files import check_unicode
from regard.cli.progress import Watching
from regard.cli.show_evaluation import show_evaluation
from regard.cli.terminal import print_json
from regard.errors import ArgumentError, brief
from regard.files import json_text

if TYPE_CHECKING:
    from regard.tasks.evaluation.evaluate import Evaluation
    from regard.tasks.evaluation.texts import NamedText


def evaluate(
    model: Annotated[Path | None, typer.Argument(help="A run folder or a model folder.")] = None,
    texts: Annotated[
        list[Path] | None,
        typer.Argument(metavar="TEXT", help="For a language model: text files or folders; - for a pipe."),
    ] = None,
    data: Annotated[
        str, typer.Option(help="What to measure on: file, folder, hf:NAME or builtin:NAME; else what the run held out.")
    ] = "",
    source: Annotated[str, typer.Option(help="A plain file of source sentences, one a line.")] = "",
    target: Annotated[str, typer.Option(help="The plain file of their references.")] = "",
    split: Annotated[str, typer.Option(help="Part of the data, such as valid, long, or test,long.")] = "",
    hypotheses: Annotated[Path | None, typer.Option(help="Output of any system, to score instead of a model.")] = None,
    tokenize: Annotated[
        str, typer.Option(help="What BLEU's words are: 13a, none for tokenized text, words, …; else what suits.")
    ] = "",
    bins: Annotated[str, typer.Option(hidden=True)] = "",
    figure: Annotated[Path | None, typer.Option(help="Write quality by length as .png, .svg or .pdf.")] = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Open the data that a run from elsewhere names in its config.toml.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="One setting, such as search.beam=1.")
    ] = None,
    output: EngineOutput = None,
    overwrite: EngineOverwrite = False,
    engine: Engines = "torch",
) -> None:
    """Score a translator (BLEU, chrF, TER, by length), a language model (perplexity), or a model of another task.

    Of a translator also perplexity, and what its attention does; of a language model bits a character and a byte; of a
    classifier, a question answerer or a captioner the figures that its training printed.

    Without a test set or text, it is what the run held out. Figures of a translator's run, measured in the usual way,
    are then also kept in its evaluation.json, where the studio finds them.

    Example: `regard evaluate runs/a`

    Another: `regard evaluate runs/a --data builtin:es-en --split test,long --figure lengths.png`

    Tokenized text, as published figures on Multi30k have it: `regard evaluate runs/a --tokenize none`

    Output of any system: `regard evaluate --hypotheses out.txt --source test.es --target test.en`

    A language model: `regard evaluate runs/l text.txt --set stride=64`

    A classifier, on other texts: `regard evaluate runs/c --data test.csv --set text=review --set label=stars`

    Large files, over all processors: `regard evaluate runs/a --source … --target … --output counts.jsonl --engine ray`

    Further settings, by `--set`: search.beam, search.length_penalty, data.size, data.seed, bins=[10,20,30] (source
    lengths), case=lower (without case), samples, seed, device; of a language model stride and device; of a classifier
    text, label and device.
    """
    refused = {"TEXT": texts, "--data": data, "--split": split, "--hypotheses": hypotheses}
    refused |= {"--bins": bins, "--figure": figure}
    if cluster := find_engine(engine, output=output, files=[model, source, target], refused=refused):
        files = Path(source), Path(target)
        chosen = chosen_settings(bins, tokenize, assignments)
        evaluate_over(cluster, model or Path(), files, output or Path(), chosen, overwrite, as_json)
        return
    if output is not None or overwrite:
        raise ArgumentError("`--output` and `--overwrite` must go with --engine ray; received them alone.")
    if (model is None) == (hypotheses is None):
        raise ArgumentError(
            f"Either a model or `--hypotheses` must be given; received {'neither' if model is None else 'both'}."
        )
    settings = chosen_settings(bins, tokenize, assignments)
    if figure is not None:
        check_length_figure(figure, model)
    if texts and (data or source or target):
        raise ArgumentError(f"`TEXT` must be left out with --data, --source and --target; received {texts[0]}.")
    from regard.tasks.calls import evaluate

    with Watching() as watching:
        result = evaluate(
            model or hypotheses or "",
            data=[read_text(path) for path in texts] if texts else data,
            source=source,
            target=target,
            split=split,
            trust=trust,
            settings=settings,
            on_progress=watching,
        )
    _finish(result, model, figure, as_json=as_json)


def _finish(result: Any, model: Path | None, figure: Path | None, *, as_json: bool) -> None:
    """Write the figure, keep the figures of a translator, and print them all."""
    from regard.tasks.evaluation.evaluate import Evaluation

    if isinstance(result, Evaluation):
        if figure is not None:
            save_figure([result], figure)
        _keep(result, model)
    if as_json:
        print_json(result.table(), indent=1)
        return
    show_evaluation(result)
    if figure is not None:
        print(f"figure  {figure}")


def chosen_settings(bins: str, tokenize: str, assignments: list[str] | None) -> dict[str, Any]:
    """Read the settings of `evaluate` and `compare`: those of `--set`, over those that have flags."""
    from regard.config.read import merge, parse_assignments

    flags: dict[str, Any] = {"tokenize": tokenize} if tokenize else {}
    if bins:
        edges = bins.split(",")
        if not all(edge.strip().isdecimal() and len(edge) < 10 for edge in edges):
            raise ArgumentError(
                f"`--bins` must be whole numbers with commas, such as 10,20,30; received {brief(bins)}."
            )
        flags["bins"] = [int(edge) for edge in edges]
    return merge(flags, parse_assignments(assignments or []))


def check_length_figure(path: Path, *models: Path | None) -> None:
    """Refuse a figure that cannot be written, or of models that are no translators, before anything is computed."""
    from regard.tasks.evaluation.length_figure import check_figure
    from regard.tasks.model_folder import check_kind, find_model

    check_figure(path)
    for model in models:
        if model is not None and not model.is_file():
            check_kind(find_model(model), "translate")


def save_figure(evaluations: Sequence["Evaluation"], path: Path) -> None:
    """Draw quality by length."""
    from regard.tasks.evaluation.length_figure import save_length_figure

    save_length_figure(evaluations, path)


def read_text(path: Path) -> "NamedText":
    """Find a text file, the files of a folder, or the test of a built-in text; `-` is what is piped in."""
    from regard.tasks.evaluation.texts import NamedText, find_text
    from regard.tasks.language.data import Text

    if str(path) == "-":
        lines = tuple(line.rstrip("\n") for line in sys.stdin)
        for line in lines:
            check_unicode("TEXT", line)
        return NamedText("standard input", Text(lines=lines))
    named = find_text(path)
    if named.note:
        print(f"regard: {named.note}", file=sys.stderr)
    return named


def _keep(result: "Evaluation", model: Path | None) -> None:
    """Write what was measured on a run's own pairs beside its model, and print where.

    Only what was measured in the usual way is kept: the studio shows it beside that of other runs.
    """
    from regard.files import write_text
    from regard.tasks.evaluation.evaluate import Evaluating
    from regard.tasks.evaluation.held_out import Choice, run_of

    settings, usual = result.settings, Evaluating()
    run = None if model is None or replace(settings.data, trust=False) != Choice() else run_of(model)
    if run is None:
        return
    names = ("search", "bins", "tokenize", "case", "samples", "seed")
    others = [name for name in names if getattr(settings, name) != getattr(usual, name)]
    outcome = f"not kept in {run.evaluation.name}: {', '.join(others)} not as usual"
    if not others:
        try:
            write_text(run.evaluation, json_text(result.table(), indent=1) + "\n")
            outcome = f"kept in {run.evaluation}"
        except OSError as error:
            outcome = f"{run.evaluation} cannot be written ({error.strerror})."
    print(f"regard: {outcome}", file=sys.stderr)
