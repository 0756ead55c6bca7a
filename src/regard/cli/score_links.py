"""`regard score-links`: how good an alignment is, against gold links."""

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.pair_files import lengths_of, read_base, read_division, read_two_files
from regard.cli.terminal import print_json
from regard.errors import ArgumentError, DataError


def score_links(
    hypotheses: Annotated[Path, typer.Argument(help="A file of links, one line a pair, such as 0-0 1-2.")],
    gold: Annotated[Path, typer.Option(help="The gold links: 0-0 is sure; 0?1, or 0p1, possible.")],
    source: Annotated[Path | None, typer.Option(help="The source sentences, to check links against.")] = None,
    target: Annotated[Path | None, typer.Option(help="Their translations.")] = None,
    words: Annotated[
        str, typer.Option(metavar="whitespace|marks", help="What links count: runs between spaces, or marks apart too.")
    ] = "whitespace",
    base: Annotated[int | None, typer.Option(help="What the links of HYPOTHESES count from: 0 or 1.")] = None,
    gold_base: Annotated[int | None, typer.Option(help="What the links of --gold count from: 0 or 1.")] = None,
    swapped: Annotated[
        bool, typer.Option("--swapped", help="The hypotheses have the target before the source.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Score links against gold ones: alignment error rate, precision and recall, over all pairs together.

    With the sentences, links beyond their words are refused. A file that seems to count from 1 is refused until
    `--base` or `--gold-base` tells what it counts from.

    Example: `regard score-links out.links --gold test.links --source test.es --target test.en`
    """
    from regard.data.formats.pharaoh import has_zero, read_links
    from regard.evaluation.alignment_error import alignment_error

    if (source is None) != (target is None):
        raise ArgumentError("`--source` and `--target` must be given together; received one of them. Give both files.")
    division = read_division(words)
    lengths = None if source is None or target is None else lengths_of(read_two_files(source, target), division)
    own_base, right_base = read_base(base), read_base(gold_base, flag="--gold-base")
    right = read_links(gold, base=right_base, lengths=lengths, argument="gold_base")
    result = read_links(hypotheses, base=own_base, lengths=lengths, swapped=swapped)
    if len(result) != len(right):
        raise DataError(
            f"{hypotheses} must have one line for each of the {len(right):,} lines of {gold}; received {len(result):,}."
        )
    if lengths is None and own_base is None and right_base is None and has_zero(result) != has_zero(right):
        odd, flag = (gold, "--gold-base") if has_zero(result) else (hypotheses, "--base")
        raise DataError(
            f"{odd} must count words from 0, as the other file does; received no 0 anywhere: it seems to count from "
            f"1. Say what it counts from: {flag} 1, or {flag} 0."
        )
    scores = alignment_error(result, right)
    if as_json:
        print_json(scores._asdict())
    else:
        print(scores)
