"""How good labels are, written for `regard classify` of texts and of images."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from regard.cli.files import check_file, write_page
from regard.cli.terminal import sanitize
from regard.errors import ArgumentError, plural
from regard.files import json_text

if TYPE_CHECKING:
    from regard.evaluation.classification import ClassificationScores
    from regard.tasks.classification.model import Decision
    from regard.tasks.images.model import ImageDecision


class Wanted(NamedTuple):
    """What `regard classify` writes."""

    as_json: bool = False
    html: Path | None = None
    figure: Path | None = None
    summary: Path | None = None


def check_summary(summary: Path | None, *, measured: bool, needs: str) -> None:
    """Refuse a file for figures that cannot be written, or where nothing is measured; `needs` is the flag for that."""
    if summary is None:
        return
    if not measured:
        raise ArgumentError(
            f"`--summary` must go with {needs}, against which is measured; received it alone. Add {needs}."
        )
    check_file(summary, option="--summary")


def measure_labels(
    kept: "Sequence[tuple[Decision | ImageDecision, str | None]]",
    labels: Sequence[str],
    *,
    wanted: Wanted,
    unit: str = "text",
    locate: Callable[[str], str] | None = None,
) -> "ClassificationScores":
    """Write how good decisions are against the true labels, and give it; `unit` is what was classified.

    With `--json`, whose rows are decisions alone, one line of it goes to standard error; `--summary` gets all of it.
    A true label that the model does not have is counted as wrong, and `locate` gives where it first is.
    """
    import numpy as np

    from regard.tasks.evaluation.labels import describe_scores, score_against

    gold = [true or "" for _, true in kept]
    rows = np.array([[item.probabilities[label] for label in labels] for item, _ in kept])
    every, result, unknown = score_against(rows, gold, labels)
    if unknown:
        first = f"{locate(unknown[0])}: " if locate is not None else ""
        print(
            f"regard: {plural(len(unknown), unit)} with a label that the model does not have "
            f'({first}"{sanitize(unknown[0])}"), '
            "counted as wrong, and left out of the cross-entropy",
            file=sys.stderr,
        )
    if wanted.summary is not None:
        figures = {**result._asdict(), "bins": [item._asdict() for item in result.bins], "labels": every}
        write_page(wanted.summary, f"{json_text(figures, indent=1)}\n", option="--summary")
    if wanted.as_json:
        print(f"regard: {describe_scores(result, count=len(kept), unit=unit)}", file=sys.stderr)
    else:
        print_scores(result, every, count=len(kept), unit=unit)
    return result


def print_scores(result: "ClassificationScores", labels: Sequence[str], *, count: int, unit: str) -> None:
    """Print the figures, what was taken for what, and how right each confidence is."""
    from regard.cli.tables import print_table
    from regard.tasks.evaluation.labels import describe_scores

    print(f"{describe_scores(result, count=count, unit=unit)}\n")
    table = [
        [label, *map(str, row), f"{f1:.3f}"] for label, row, f1 in zip(labels, result.confusion, result.f1, strict=True)
    ]
    print_table(["true \\ chosen", *labels, "F1"], table)
    bins = [
        [f"{item.low:.1f}–{item.high:.1f}", str(item.texts), f"{item.confidence:.3f}", f"{item.accuracy:.3f}"]
        for item in result.bins
        if item.texts
    ]
    print()
    print_table(["confidence", f"{unit}s", "mean", "right"], bins)
