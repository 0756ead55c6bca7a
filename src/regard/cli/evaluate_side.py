"""`regard evaluate` of a classifier, a question answerer or a captioner: the figures of its test data."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from regard.cli.label_measures import print_scores
from regard.cli.tables import print_table
from regard.cli.terminal import print_json, sanitize
from regard.errors import ArgumentError, plural

if TYPE_CHECKING:
    from regard.tasks.evaluation.sides import SideEvaluation

_UNITS = {"classify": "text", "images": "image", "questions": "question", "captions": "caption"}


def is_side_model(model: Path) -> bool:
    """Tell whether a path is that of a model that is measured on the data of its run alone."""
    from regard.errors import DataError
    from regard.tasks.model_folder import find_model
    from regard.tasks.model_kinds import saved_task

    try:
        return saved_task(find_model(model)) in _UNITS
    except DataError:
        return False


def measure_side(
    model: Path,
    flags: Mapping[str, object],
    *,
    split: str,
    trust: bool,
    as_json: bool,
    assignments: list[str] | None,
) -> None:
    """Measure a model on what its run held out, and print it; `flags` must be left out."""
    from regard.config.read import parse_assignments, read_settings
    from regard.tasks.evaluation.sides import MeasuringSide, evaluate_side

    for name, value in flags.items():
        if value:
            raise ArgumentError(
                f"`{name}` must be left out for a model that is measured on what its run held out; received {value}. A "
                "classifier is measured on other data so: regard classify MODEL --input test.csv --label label."
            )
    settings = read_settings(MeasuringSide, parse_assignments(assignments or []))
    result = evaluate_side(model, settings, split=split, trust=trust)
    if as_json:
        print_json(result.table(), indent=1)
        return
    _show(result)


def _show(result: "SideEvaluation") -> None:
    unit, figures, side = _UNITS[result.task], result.figures, result.side
    named = "validation" if side == "valid" else side
    print(f"{sanitize(result.name)} on its {named} data: {plural(result.items, unit)}\n")
    if result.scores is not None:
        print_scores(result.scores, result.labels, count=result.items, unit=unit)
    elif result.task == "questions":
        from regard.tasks.questions.page import kind_rows

        start = f"{side}_accuracy_"
        kinds = [name.removeprefix(start) for name in figures if name.startswith(start)]
        print_table(["right, percent", "model", "majority", "question alone"], kind_rows(figures, kinds, side))
        print(f"\naccuracy {100 * figures[f'{side}_accuracy']:.2f} % ({named})")
    else:
        print(
            f"right word for word {100 * figures[f'{side}_exact']:.2f} %, BLEU {figures[f'{side}_bleu']:.2f}; always "
            f"the commonest caption {100 * figures[f'{side}_majority']:.2f} % ({named})"
        )
    print(f"\n{result.signature}")
