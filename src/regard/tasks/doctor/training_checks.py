"""What metrics.jsonl tells of a training: a rate that diverged, a loss that never fell, a gap to the validation."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from regard.errors import plural
from regard.tasks.doctor.check import Check, check
from regard.training.metrics import is_number

_LAST = 3
"""Reports whose mean is the loss at the end."""


class Course(NamedTuple):
    """How a training went, for advice on what its model outputs."""

    steps: int
    epochs: int
    falling: float
    """Share of the loss that was lost in the last fifth of the reports."""

    @property
    def advice(self) -> str:
        """What to do about a model that has learned too little."""
        made = f"{plural(self.steps, 'step')} ({plural(self.epochs, 'whole epoch')})"
        if self.falling > 0.03:
            return (
                f"After {made} the loss was still falling, by {100 * self.falling:.2g} % in the last fifth: give the "
                "run more train.steps, or more train.minutes where those ended it."
            )
        return f"The loss no longer falls after {made}: see the findings on data and learning rate, or a larger model."


def describe_course(lines: Sequence[Mapping[str, Any]]) -> Course:
    """Describe a training by the lines of its metrics.jsonl."""
    reports = _reports(lines)
    if not reports:
        return Course(0, 0, 0.0)
    losses = [loss for _, loss in reports]
    fifth = max(1, len(losses) // 5)
    before, last = fmean(losses[-2 * fifth : -fifth] or losses[:1]), fmean(losses[-fifth:])
    epochs = [int(line["epoch"]) for line in lines if line.get("event") == "train" and is_number(line.get("epoch"))]
    return Course(reports[-1][0], max(epochs, default=0), (before - last) / abs(before) if before else 0.0)


def check_training(lines: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Check the lines of a metrics.jsonl, of a run of any task; none where there are too few."""
    train = [line for line in lines if line.get("event") == "train"]
    if not train:
        return []
    left_out = sum("not finite" in str(line.get("text")) for line in lines if line.get("event") == "note")
    rate = max((float(line["rate"]) for line in train if is_number(line.get("rate"))), default=0.0)
    lower = f"Train in a new folder with a lower rate, train.schedule.rate = {rate / 3:.2g} (it was {rate:.2g} at most)"
    checks = [
        check(
            "updates left out",
            left_out + sum(not is_number(line.get("loss")) for line in train),
            most=0,
            unit="count",
            problem="{value} updates or reports had a loss or gradient that was not finite.",
            advice=f"{lower}, train.clip = 1, or train.precision = fp32.",
        )
    ]
    reports = _reports(lines)
    if len(reports) >= 2 * _LAST:
        checks += _check_losses(reports, lower)
    return checks + _check_gap(lines)


def _reports(lines: Sequence[Mapping[str, Any]]) -> list[tuple[int, float]]:
    return [
        (int(line["step"]), float(line["loss"]))
        for line in lines
        if line.get("event") == "train" and is_number(line.get("loss")) and is_number(line.get("step"))
    ]


def _check_losses(reports: Sequence[tuple[int, float]], lower: str) -> list[Check]:
    first, last = reports[0][1], fmean(loss for _, loss in reports[-_LAST:])
    at, lowest = min(reports, key=lambda report: report[1])
    fallen = max(first - lowest, 1e-9)
    return [
        check(
            "rise of the training loss",
            max(0.0, last - lowest) / fallen if fallen > 0.05 * abs(first) else 0.0,
            most=0.25,
            problem=f"The training loss fell to {lowest:.3g} at step {at:,} and rose to {last:.3g}, {{value}} of what "
            "it had fallen: the learning rate diverged.",
            advice=f"{lower}, or with a longer train.schedule.warm_up.",
        ),
        check(
            "fall of the training loss",
            fallen / abs(first) if first else 1.0,
            least=0.1,
            problem=f"The training loss fell by {{value}}, from {first:.3g} to {lowest:.3g}: nothing was learned.",
            advice="Check that the lines of both sides belong together, that train.schedule.rate is neither far above "
            "nor far below the default of the preset, and that there are enough train.steps.",
        ),
    ]


def _check_gap(lines: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Compare the validation loss at the end with the loss of training, both without smoothing."""
    valid = [line for line in lines if line.get("event") == "valid" and is_number(line.get("loss"))]
    train = [line for line in lines if line.get("event") == "train" and is_number(line.get("cross_entropy"))]
    if not valid or len(train) < _LAST:
        return []
    last, lowest = valid[-1], min(valid, key=lambda line: float(line["loss"]))
    trained = fmean(float(line["cross_entropy"]) for line in train[-_LAST:])
    return [
        check(
            "validation loss above training loss",
            float(last["loss"]) - trained,
            most=1.0,
            unit="number",
            problem=f"The validation loss, {float(last['loss']):.3g}, is {{value}} nats above that of training, "
            f"{trained:.3g}; it was lowest at step {int(lowest.get('step', 0)):,}: the model knows its training data "
            "by heart, or is validated on other data.",
            advice="Take more data, a larger model.dropout, train.r_drop = 5, or fewer steps; and check that the "
            "validation data is of the same kind.",
        )
    ]
