"""The figure of quality by length, from evaluations to a file."""

from collections.abc import Sequence
from pathlib import Path

from regard.errors import ArgumentError, DataError
from regard.evaluation.by_length import FEW
from regard.evaluation.scoring import Name
from regard.inspection.drawing.quality_by_length import Curve, quality_by_length
from regard.tasks.evaluation.evaluate import Evaluation

KINDS = (".png", ".svg", ".pdf")


def check_figure(path: Path) -> None:
    """Refuse a kind of picture that cannot be written, before anything is computed."""
    if path.suffix.lower() not in KINDS:
        raise ArgumentError(f"`figure` must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}; received {path}.")


def save_length_figure(evaluations: Sequence[Evaluation], path: Path, *, metric: Name = "BLEU") -> None:
    """Draw quality by length, a line for each system, and write it as what the name ends in."""
    check_figure(path)
    bins = evaluations[0].lengths
    curves = []
    for item in evaluations:
        scores = [length.scores[metric] for length in item.lengths]
        values, low, high = zip(*scores, strict=True)
        curves.append(Curve(name=item.name, values=values, low=low, high=high))
    figure = quality_by_length(
        curves,
        bins=[str(item.bin) for item in bins],
        sentences=[item.sentences for item in bins],
        few=FEW,
        metric=metric,
        title=evaluations[0].held_out.name,
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    except OSError as error:
        raise DataError(f"`figure` must be a file that can be written; {path}: {error.strerror}.") from error
