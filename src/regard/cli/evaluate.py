"""`regard evaluate`: how good a model is, and a translator also where."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.draw_lengths import draw_lengths
from regard.cli.engine_run import EngineOutput, EngineOverwrite, Engines, find_engine
from regard.cli.evaluate_files import evaluate_over
from regard.cli.evaluate_side import is_side_model, measure_side
from regard.cli.evaluate_texts import check_for_language, is_language, measure_texts
from regard.cli.tables import print_table
from regard.cli.terminal import print_json, sanitize
from regard.cli.watching import Watching
from regard.errors import ArgumentError, brief
from regard.files import json_text

if TYPE_CHECKING:
    from regard.tasks.evaluation.evaluate import Evaluating, Evaluation
    from regard.tasks.evaluation.texts import MeasuringText

ALL_HEADS = 12
"""Heads that are shown one by one; of more, each layer's mean."""


def evaluate(
    model: Annotated[Path | None, typer.Argument(help="A run folder or a model folder.")] = None,
    texts: Annotated[
        list[Path] | None,
        typer.Argument(metavar="TEXT", help="For a language model: text files or folders; - for a pipe."),
    ] = None,
    data: Annotated[str, typer.Option(help="A test set: file, folder, hf:NAME or builtin:es-en.")] = "",
    source: Annotated[str, typer.Option(help="A plain file of source sentences, one a line.")] = "",
    target: Annotated[str, typer.Option(help="The plain file of their references.")] = "",
    split: Annotated[str, typer.Option(help="Part of the data, such as valid, long, or test,long.")] = "",
    hypotheses: Annotated[Path | None, typer.Option(help="Output of any system, to score instead of a model.")] = None,
    tokenized: Annotated[
        str, typer.Option(metavar="words|given", help="Also score lower-cased tokens: our words, or split at spaces.")
    ] = "",
    bins: Annotated[str, typer.Option(metavar="10,20,…", help="Source lengths at which a bin begins.")] = "",
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

    Output of any system: `regard evaluate --hypotheses out.txt --source test.es --target test.en`

    A language model: `regard evaluate runs/l text.txt --set stride=64`

    Large files, over all processors: `regard evaluate runs/a --source … --target … --output counts.jsonl --engine ray`

    Further settings, by `--set`: search.beam, search.length_penalty, data.size, data.seed, samples, seed, device; of a
    language model stride and device.
    """
    refused = {"TEXT": texts, "--data": data, "--split": split, "--hypotheses": hypotheses, "--tokenized": tokenized}
    refused |= {"--bins": bins, "--figure": figure}
    if cluster := find_engine(engine, output=output, files=[model, source, target], refused=refused):
        files = Path(source), Path(target)
        settings = read_evaluating(bins="", tokenized="", assignments=assignments)
        evaluate_over(cluster, model or Path(), files, output or Path(), settings, overwrite, as_json)
        return
    if output is not None or overwrite:
        raise ArgumentError("`--output` and `--overwrite` must go with --engine ray; received them alone.")
    if model is not None and is_language(model):
        check_for_language(
            {"data": data, "source": source, "target": target, "hypotheses": hypotheses}
            | {"tokenized": tokenized, "bins": bins, "figure": figure}
        )
        measuring = _read_measuring(assignments)
        measure_texts(model, texts or [], measuring, split=split, trust=trust, as_json=as_json)
        return
    if model is not None and is_side_model(model):
        flags = {"TEXT": texts, "--data": data, "--source": source, "--target": target, "--hypotheses": hypotheses}
        flags |= {"--tokenized": tokenized, "--bins": bins, "--figure": figure}
        measure_side(model, flags, split=split, trust=trust, as_json=as_json, assignments=assignments)
        return
    if texts:
        if model is not None:
            _check_model(model)
        raise ArgumentError(
            f"Text files must be left out but for a language model; received {texts[0]}. The test set of a translator "
            "is named by --data, or by --source and --target."
        )
    settings = read_evaluating(
        data=data,
        source=source,
        target=target,
        split=split,
        tokenized=tokenized,
        bins=bins,
        trust=trust,
        assignments=assignments,
    )
    if (model is None) == (hypotheses is None):
        raise ArgumentError(
            f"Either a model or `--hypotheses` must be given; received {'neither' if model is None else 'both'}."
        )
    if figure is not None:
        _check_figure(figure)
    with Watching() as watching:
        result = _evaluate(settings, model, hypotheses, watching)
    if figure is not None:
        _save([result], figure)
    _keep(result, settings, model)
    if as_json:
        print_json(result.table(), indent=1)
        return
    _show(result)
    if figure is not None:
        print(f"figure  {figure}")


def _read_measuring(assignments: list[str] | None) -> "MeasuringText":
    from regard.config.read import parse_assignments, read_settings
    from regard.tasks.evaluation.texts import MeasuringText

    return read_settings(MeasuringText, parse_assignments(assignments or []))


def read_evaluating(*, bins: str, tokenized: str, assignments: list[str] | None, **data: str | bool) -> "Evaluating":
    """Read the flags that `evaluate` and `compare` share."""
    from regard.config.read import parse_assignments, read_settings
    from regard.tasks.evaluation.evaluate import Evaluating

    flags: dict[str, Any] = {}
    named = {"corpus" if name == "data" else name: value for name, value in data.items() if value}
    if named:
        flags["data"] = named
    if tokenized:
        flags["tokenized"] = tokenized
    if bins:
        edges = bins.split(",")
        if not all(edge.strip().isdecimal() and len(edge) < 10 for edge in edges):
            raise ArgumentError(
                f"`--bins` must be whole numbers with commas, such as 10,20,30; received {brief(bins)}."
            )
        flags["bins"] = tuple(int(edge) for edge in edges)
    return read_settings(Evaluating, flags, parse_assignments(assignments or []))


def _evaluate(settings: "Evaluating", model: Path | None, hypotheses: Path | None, watching: Watching) -> "Evaluation":
    from regard.tasks.evaluation.comparison import system_names
    from regard.tasks.evaluation.evaluate import Outputs, assess, evaluate
    from regard.tasks.evaluation.held_out import find_held_out, read_hypotheses
    from regard.tasks.translation.model import load

    if model is None:
        assert hypotheses is not None
        held_out = find_held_out(settings.data)
        output = Outputs(hypotheses=read_hypotheses(hypotheses, held_out))
        return assess(output, held_out, settings, name=hypotheses.name, watch=watching)
    _check_model(model)
    translator = load(model, device=settings.device)
    held_out = find_held_out(settings.data, model)
    return evaluate(translator, held_out, settings, name=system_names([model])[0], watch=watching)


def _keep(found: "Evaluation", settings: "Evaluating", model: Path | None) -> None:
    """Write what was measured on a run's own pairs beside its model, and say so.

    Only what was measured in the usual way is kept: the studio shows it beside that of other runs.
    """
    from regard.files import write_text
    from regard.tasks.evaluation.evaluate import Evaluating
    from regard.tasks.evaluation.held_out import Choice, run_of

    run = None if model is None or replace(settings.data, trust=False) != Choice() else run_of(model)
    if run is None:
        return
    usual = Evaluating()
    others = [name for name in ("search", "bins", "samples", "seed") if getattr(settings, name) != getattr(usual, name)]
    output = f"not kept in {run.evaluation.name}: {', '.join(others)} not as usual"
    if not others:
        try:
            write_text(run.evaluation, json_text(found.table(), indent=1) + "\n")
            output = f"kept in {run.evaluation}"
        except OSError as error:
            output = f"{run.evaluation} cannot be written ({error.strerror})."
    print(f"regard: {output}", file=sys.stderr)


def _check_model(model: Path) -> None:
    from regard.tasks.model_folder import find_model
    from regard.tasks.model_kinds import check_kind

    check_kind(find_model(model), "translate", "language")


def _check_figure(path: Path) -> None:
    from regard.tasks.evaluation.length_figure import check_figure

    check_figure(path)


def _save(evaluations: Sequence["Evaluation"], path: Path) -> None:
    from regard.tasks.evaluation.length_figure import save_length_figure

    save_length_figure(evaluations, path)


def _show(found: "Evaluation") -> None:
    from regard.evaluation.by_length import FEW

    print(f"{sanitize(found.name)} on {sanitize(found.held_out.name)}: {len(found.held_out.pairs):,} pairs\n")
    rows = [
        [name, f"{score.value:.2f}", f"{score.low:.1f}–{score.high:.1f}", found.measures[name].signature]
        for name, score in found.scores.items()
    ]
    rows += [[f"{name}, lower-cased tokens", f"{value:.2f}", "", how] for name, (value, how) in found.tokenized.items()]
    print_table(["", "score", "95 %", "signature"], rows, words=(0, 3))
    _show_model(found)
    rows = [
        [str(item.bin) + (" *" if item.few else ""), f"{item.sentences:,}"]
        + [
            cell
            for score in item.scores.values()
            for cell in (f"{score.value:.1f}", f"{score.low:.1f}–{score.high:.1f}")
        ]
        for item in found.lengths
    ]
    print_table(["words in the source", "sentences", "BLEU", "95 %", "chrF", "95 %"], rows, title="\nBy source length")
    if any(item.few for item in found.lengths):
        print(f"* fewer than {FEW} sentences")
    print()
    show_lengths([found])
    _show_attention(found)
    for note in found.notes:
        print(f"\nnote: {sanitize(note)}")
    print(f"\n{found.signature}")


def _show_model(found: "Evaluation") -> None:
    outputs = found.outputs
    if outputs.perplexity is not None:
        item = outputs.perplexity
        print(
            f"\nperplexity  {item.per_token:,.2f} a token ({outputs.token}), {item.per_word:,.2f} a word, "
            f"{item.bits_per_character:.3f} bits a character; ends of sentences counted"
        )
    if outputs.parameters is not None and outputs.sentences_per_second is not None:
        print(f"model       {outputs.parameters:,} parameters, {outputs.sentences_per_second:,.1f} sentences/s")


def show_lengths(evaluations: Sequence["Evaluation"]) -> None:
    """Draw quality by length as bars."""
    scores = {item.name: [length.scores["BLEU"] for length in item.lengths] for item in evaluations}
    bins = evaluations[0].lengths
    lines = draw_lengths(scores, bins=[str(item.bin) for item in bins], sentences=[item.sentences for item in bins])
    print("\n".join(lines))


def _show_attention(found: "Evaluation") -> None:
    heads = found.outputs.attention
    if not heads:
        return
    layers = sorted({item.layer for item in heads})
    groups = {f"layer {item.layer}, head {item.head}": [item] for item in heads}
    if len(heads) > ALL_HEADS:
        groups = {f"layer {layer}, mean of heads": [item for item in heads if item.layer == layer] for layer in layers}
    rows = []
    for name, some in groups.items():
        means = [
            sum(getattr(item, field) for item in some) / len(some)
            for field in ("entropy", "relative_entropy", "coverage", "end_mass")
        ]
        rows.append([name, f"{means[0]:.2f}", *(f"{mean:.0%}" for mean in means[1:])])
    print_table(
        ["", "entropy, nats", "of uniform", "source covered", "weight on </s>"], rows, title="\nAttention of the output"
    )
