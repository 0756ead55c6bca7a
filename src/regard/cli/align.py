"""`regard align`: sentence pairs in, links between their words out."""

import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from regard.cli.engine_run import EngineOutput, EngineOverwrite, Engines, find_engine, run_lines
from regard.cli.flags import AsTyped
from regard.cli.pair_files import read_base, read_division, read_gold, read_two_files
from regard.cli.progress import Watching
from regard.errors import ArgumentError, near_miss
from regard.files import json_text

if TYPE_CHECKING:
    from regard.inspection.readings.alignment import Reading
    from regard.inspection.readings.symmetrize import Join
    from regard.scale.work import Work
    from regard.tasks.alignment.align import Alignment


def align(
    model: Annotated[
        str,
        typer.Argument(help="A run or model folder of a translator or an aligner; or hmm, ibm-1 or diagonal."),
    ],
    source: Annotated[Path | None, typer.Option(help="A plain file of source sentences, one a line.")] = None,
    target: Annotated[Path | None, typer.Option(help="The plain file of their translations.")] = None,
    reverse: Annotated[str, typer.Option(help="A model of the other direction, or hmm, or ibm-1, to join with.")] = "",
    join: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="intersection, union, grow-diag (the default), grow-diag-final, or agreement (that of hmm with hmm).",
        ),
    ] = None,
    develop: Annotated[
        tuple[Path, Path, Path] | None,
        typer.Option(metavar="SOURCE TARGET LINKS", help="Pairs with gold links, to choose layer, head and step by."),
    ] = None,
    train: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="SOURCE TARGET", help="More pairs for hmm and ibm-1 to learn from beside those aligned."),
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Print the error of every layer, step and head on the pairs of --develop.")
    ] = False,
    words: Annotated[
        str, typer.Option(metavar="whitespace|marks", help="What links count: runs between spaces, or marks apart too.")
    ] = "whitespace",
    base: Annotated[
        int | None, typer.Option(help="What the gold LINKS of --develop count from: 0 or 1. Output counts from 0.")
    ] = None,
    as_typed: AsTyped = False,
    device: Annotated[str, typer.Option(help="cpu, cuda or auto.")] = "auto",
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="step, layer, head, norms or threshold; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print words, links and weights, one object a line.")] = False,
    draw: Annotated[bool, typer.Option("--draw", help="Draw the weights of each pair as shaded blocks.")] = False,
    output: EngineOutput = None,
    overwrite: EngineOverwrite = False,
    engine: Engines = "torch",
) -> None:
    """Link the words of sentence pairs: by an aligner, by what a translator attends to, or by counts.

    Links are printed one line a pair, source before target, counted from 0: `0-0 1-2`.

    A translator is forced to output the translation. Read is the head that was trained on word links, if one was
    (train.guided_alignment); else the mean over the heads of its last layer but one, as it is about to output a word.
    Of one with four or more decoder layers and 100 pairs or more, layer, head and step are those that agree most with
    the links of hmm, unless they are chosen: on some corpora the step after is better, at which the word is the input
    (step=read, an early layer).

    Example: `regard align runs/a --source test.es --target test.en`

    An aligner, which `regard train --task align` makes, attends both ways: `regard align runs/al --source … --target …`

    Joined with a model of the other direction: `regard align runs/a --reverse runs/b --source … --target …`

    The reading chosen by gold links: `regard align runs/a --develop dev.es dev.en dev.links --source … --target …`

    The error of each reading: `regard align runs/a --develop dev.es dev.en dev.links --table`

    By hand: `--set step=read --set layer=2 --set head=0 --set norms=true --set threshold=0.2`

    Counts of words and jumps, learned from the same two files and from more, in both directions together: `regard align
    hmm --reverse hmm --train train.es train.en --source test.es --target test.en`

    A baseline without order: `regard align ibm-1 --source … --target …`

    Large files, over all processors: `regard align runs/a --source … --target … --output links --engine ray`
    """
    if table:
        others = {"--source": source, "--target": target, "--train": train, "--set": assignments, "--reverse": reverse}
        _print_errors(model, develop, words, base, device, [name for name, item in others.items() if item])
        return
    if source is None or target is None:
        raise ArgumentError("`--source` and `--target` must name the two files; received one or none. Give both.")
    refused = {"--json": as_json, "--draw": draw, "--develop": develop, "--train": train}
    if cluster := find_engine(engine, output=output, files=[source, target], refused=refused):
        check_join(join)
        work = _over(
            model, reverse, source, target, join=join or "grow-diag", words=words, respell=not as_typed, device=device
        )
        run_lines(work(assignments or []), output or Path(), cluster, overwrite=overwrite)
        return
    if output is not None or overwrite:
        raise ArgumentError("`--output` and `--overwrite` must go with --engine ray; links go to standard output.")
    division, pairs = read_division(words), read_two_files(source, target)
    check_join(join)
    if join and not reverse:
        raise ArgumentError(
            f"`--join` must go with `--reverse`, a model of the other direction; received {join} alone."
        )
    if as_json and draw:
        raise ArgumentError("Either `--json` or `--draw` must be given; received both.")
    from regard.tasks.alignment.aligner import Aligner, check_choosing, load_attending

    models = [model, reverse] if reverse else [model]
    check_choosing(models, develop=develop, settings=assignments, train=train)
    more = [] if train is None else read_two_files(*train)
    # Beside a bar on the terminal, rich would send what is printed to a file to the terminal too.
    shown = None if sys.stdout.isatty() else sys.stdout
    load_there = partial(load_attending, device=device, respell=not as_typed)
    with Watching() as watching:
        aligner = Aligner(models, words=division, watch=watching, note=watching.print_line, load=load_there)
        aligner.train_on += more
        if develop is not None:
            pairs_with_links = read_two_files(develop[0], develop[1])
            aligner.choose_by_gold(read_gold(pairs_with_links, develop[2], base=read_base(base), words=division))
        elif assignments:
            aligner.read_by(_read_reading(assignments))
        else:
            aligner.choose_by_agreement(pairs)
        try:
            for alignment in aligner.align(pairs, cast("Join | None", join)):
                print(_shown(alignment, as_json=as_json, draw=draw), file=shown, flush=True)
        finally:
            for warning in aligner.warnings():
                watching.print_line(f"regard: {warning}")


def _print_errors(
    model: str,
    develop: tuple[Path, Path, Path] | None,
    words: str,
    base: int | None,
    device: str,
    others: Sequence[str],
) -> None:
    """Print the alignment error of each layer, step and head of a translator."""
    if others:
        raise ArgumentError(f"`{others[0]}` must be left out with --table, which measures on the pairs of --develop.")
    if develop is None:
        raise ArgumentError("`--table` must come with --develop SOURCE TARGET LINKS, to measure on; received nothing.")
    from regard.cli.tables import print_table
    from regard.tasks.alignment.reading_choice import error_table
    from regard.tasks.translation.model import load

    division = read_division(words)
    pairs = read_gold(read_two_files(develop[0], develop[1]), develop[2], base=read_base(base), words=division)
    translator = load(model, device=device)
    with Watching() as watching:
        result = error_table(
            translator, pairs, words=division, watch=lambda done: watching("measuring", done, len(pairs))
        )
    headings, rows = result.rows()
    print_table(headings, rows, title=f"alignment error, %, of {len(pairs):,} pairs", words=(0, 1))
    print(f"least: {result.choice.reading}: {result.choice.scores}")
    print(f"where nothing is chosen: {result.usual}: {result.choice.tried[result.usual]}")


def _over(
    model: str, reverse: str, source: Path, target: Path, *, join: Any, words: str, respell: bool, device: str
) -> "Callable[[list[str]], Work]":
    """Give the function that makes work of the settings of a reading: the same for both directions."""
    from regard.scale.text_work import AlignLines, Models
    from regard.tasks.alignment.counted import COUNTING, DIAGONAL

    names = [name for name in (model, reverse) if name]
    if counted := [name for name in names if name in (*COUNTING, DIAGONAL)]:
        raise ArgumentError(f"`--engine ray` must have models that attend; received {counted[0]}. Leave out one.")
    return lambda assignments: AlignLines(
        models=Models.find([Path(name) for name in names], device=device),
        source=source.absolute(),
        target=target.absolute(),
        readings=(_read_reading(assignments) if assignments else None,) * len(names),
        words=read_division(words),
        join=join,
        respell=respell,
    )


def _read_reading(assignments: Sequence[str]) -> "Reading":
    from regard.config.read import parse_assignments, read_settings
    from regard.inspection.readings.alignment import Reading

    return read_settings(Reading, parse_assignments(assignments))


def check_join(join: str | None) -> None:
    """Refuse an unknown way to join."""
    if join is None:
        return
    from regard.inspection.readings.symmetrize import Join

    known = get_args(Join)
    if join not in known:
        raise ArgumentError(f"`--join` must be one of {', '.join(known)}; received {join}.{near_miss(join, known)}")


def _shown(alignment: "Alignment", *, as_json: bool, draw: bool) -> str:
    from regard.data.formats.pharaoh import format_links

    links = format_links(alignment.links)
    if as_json:
        return json_text(_described(alignment, links))
    if not draw:
        return links
    from regard.inspection.drawing.text_matrix import draw_weights

    weights = alignment.weights[:, :-1]
    if alignment.reverse_weights is not None:
        weights = (weights + alignment.reverse_weights[:, :-1].T) / 2
    lines = draw_weights(weights, alignment.source, alignment.target, width=shutil.get_terminal_size().columns)
    return "\n".join([*lines, links, ""])


def _described(alignment: "Alignment", links: str) -> dict[str, Any]:
    described = {
        "source": alignment.source,
        "target": alignment.target,
        "read_as": dict(alignment.read_as),
        "links": links,
        "weights": _rounded(alignment.weights[:, :-1]),
        "nothing": _rounded(alignment.weights[:, -1]),
    }
    if alignment.reverse_weights is not None:
        described["reverse_weights"] = _rounded(alignment.reverse_weights[:, :-1])
        described["reverse_nothing"] = _rounded(alignment.reverse_weights[:, -1])
    return described


def _rounded(weights: Any) -> Any:
    """Give numbers in four digits: a list, or a list of lists."""
    numbers = weights.tolist()
    return [[round(item, 4) for item in row] if isinstance(row, list) else round(row, 4) for row in numbers]
