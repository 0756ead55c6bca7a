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
    import numpy as np

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
    place: Callable[[str], str] | None = None,
) -> "ClassificationScores":
    """Write how good decisions are against the true labels, and give it; `unit` is what was classified.

    With `--json`, whose rows are decisions alone, one line of it goes to standard error; `--summary` gets all of it.
    A true label that the model does not have is counted as wrong, and `place` says where it first stood.
    """
    import numpy as np

    gold = [true or "" for _, true in kept]
    rows = np.array([[item.probabilities[label] for label in labels] for item, _ in kept])
    every, result = _score(rows, gold, labels)
    strange = [label for label in gold if label not in labels]
    if strange:
        first = f"{place(strange[0])}: " if place is not None else ""
        print(
            f"regard: {plural(len(strange), unit)} with a label that the model does not have "
            f'({first}"{sanitize(strange[0])}"), '
            "counted as wrong, and left out of the cross-entropy",
            file=sys.stderr,
        )
    if wanted.summary is not None:
        figures = {**result._asdict(), "bins": [item._asdict() for item in result.bins], "labels": every}
        write_page(wanted.summary, f"{json_text(figures, indent=1)}\n", option="--summary")
    if wanted.as_json:
        print(f"regard: {_describe(result, count=len(kept), unit=unit)}", file=sys.stderr)
    else:
        print_scores(result, every, count=len(kept), unit=unit)
    return result


def _score(
    rows: "np.ndarray", gold: Sequence[str], labels: Sequence[str]
) -> "tuple[tuple[str, ...], ClassificationScores]":
    """Score labels, those that the model does not have too, which it gives no probability."""
    import numpy as np

    from regard.data.formats.labeled import Labeled, number_labels
    from regard.evaluation.classification import score_labels

    known = np.array([label in labels for label in gold])
    if known.all() or not known.any():  # none at all is a wrong column, which is refused
        return tuple(labels), score_labels(
            rows, number_labels([Labeled("", item) for item in gold], labels, side="measured")
        )
    every = (*labels, *sorted(set(gold) - set(labels)))
    numbers = [every.index(label) for label in gold]
    result = score_labels(np.pad(rows, ((0, 0), (0, len(every) - len(labels)))), numbers)
    encoded = rows[known, [numbers[position] for position in np.flatnonzero(known)]]
    return every, result._replace(cross_entropy=float(-np.log(np.maximum(encoded, 1e-30)).mean()))


def _describe(found: "ClassificationScores", *, count: int, unit: str) -> str:
    return (
        f"accuracy {100 * found.accuracy:.2f} %, macro-F1 {100 * found.macro_f1:.2f}, calibration error "
        f"{found.calibration_error:.4f}, cross-entropy {found.cross_entropy:.4f} on {plural(count, unit)}"
    )


def print_scores(found: "ClassificationScores", labels: Sequence[str], *, count: int, unit: str) -> None:
    """Print the figures, what was taken for what, and how right each confidence is."""
    from regard.cli.tables import print_table

    print(f"{_describe(found, count=count, unit=unit)}\n")
    table = [
        [label, *map(str, row), f"{f1:.3f}"] for label, row, f1 in zip(labels, found.confusion, found.f1, strict=True)
    ]
    print_table(["true \\ chosen", *labels, "F1"], table)
    bins = [
        [f"{item.low:.1f}–{item.high:.1f}", str(item.texts), f"{item.confidence:.3f}", f"{item.accuracy:.3f}"]
        for item in found.bins
        if item.texts
    ]
    print()
    print_table(["confidence", f"{unit}s", "mean", "right"], bins)
