"""Compare systems on the same pairs: runs, or files of their output."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.errors import ArgumentError, DataError
from regard.evaluation.bootstrap import SAMPLES, SEED, Difference, paired_difference
from regard.evaluation.scoring import Name
from regard.tasks.evaluation.evaluate import Evaluating, Evaluation, Outputs, Watch, assess, evaluate
from regard.tasks.evaluation.held_out import Choice, HeldOut, find_held_out, read_hypotheses
from regard.tasks.model_folder import check_kind, find_model
from regard.tasks.translation.model import load


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Systems on one set of pairs; the first is the baseline."""

    evaluations: tuple[Evaluation, ...]
    differences: tuple[dict[Name, Difference], ...]
    """From the baseline, for each system after it."""

    def __str__(self) -> str:
        first = self.evaluations[0]
        lines = [f"{first.held_out.name}: {len(first.held_out.pairs):,} pairs; baseline {first.name}"]
        values = [(None, first), *zip(self.differences, self.evaluations[1:], strict=True)]
        for difference, item in values:
            score, chance = item.scores["BLEU"], "" if difference is None else f", p {difference['BLEU'].p_value:.3f}"
            lines.append(f"{item.name}: BLEU {score.value:.2f} ({score.low:.1f}–{score.high:.1f}){chance}")
        return "\n".join(lines)

    def table(self) -> dict[str, Any]:
        """Give everything as plain values, for JSON."""
        first = self.evaluations[0]
        systems = [item.table() for item in self.evaluations]
        for system, differences in zip(systems[1:], self.differences, strict=True):
            system["difference"] = {name: result._asdict() for name, result in differences.items()}
        return {
            "test_set": first.held_out.name,
            "sentences": len(first.held_out.pairs),
            "fingerprint": first.held_out.fingerprint,
            "baseline": first.name,
            "systems": systems,
        }


def compare(evaluations: Sequence[Evaluation], *, samples: int = SAMPLES, seed: int = SEED) -> Comparison:
    """Test by paired bootstrap resampling how each system differs from the first."""
    if len(evaluations) < 2:
        raise ArgumentError(f"`evaluations` must be two or more; received {len(evaluations)}.")
    baseline = evaluations[0]
    for other in evaluations[1:]:
        _check_same(baseline.held_out, other.held_out, baseline.name, other.name)
    differences = tuple(
        {
            name: paired_difference(item.measures[name], baseline.measures[name], samples=samples, seed=seed)
            for name in baseline.measures
        }
        for item in evaluations[1:]
    )
    return Comparison(evaluations=tuple(evaluations), differences=differences)


def common_held_out(systems: Sequence[Path], choice: Choice) -> HeldOut:
    """Find the pairs to compare on: those named, or those that every run among the systems has held out."""
    for path in systems:
        if not path.exists():
            raise DataError(
                f"A system must be a run folder, a model folder or a file of its output; {path} is not there."
            )
    runs = [path for path in systems if path.is_dir()]
    if choice.corpus or choice.source or not runs:
        return find_held_out(choice)
    first = find_held_out(choice, runs[0])
    for other in runs[1:]:
        _check_same(first, find_held_out(choice, other), str(runs[0]), str(other))
    return first


def evaluate_systems(
    systems: Sequence[Path], settings: Evaluating, *, watch: Callable[[str], Watch]
) -> list[Evaluation]:
    """Evaluate each run folder, model folder or file of hypotheses; `watch` gives a watcher for each by its name."""
    for path in systems:
        if path.is_dir():
            check_kind(find_model(path), "translate")
    held_out = common_held_out(systems, settings.data)
    evaluations = [
        evaluate_system(path, held_out, settings, name=name, watch=watch(name))
        for path, name in zip(systems, system_names(systems), strict=True)
    ]
    if not any(item.scoring.lowercase for item in evaluations):
        return evaluations
    return [item if item.scoring.lowercase else _without_case(item) for item in evaluations]


def _without_case(item: Evaluation) -> Evaluation:
    """Score a system once more without case, since another outputs lower case alone."""
    again = assess(item.outputs, item.held_out, replace(item.settings, case="lower"), name=item.name)
    note = "Scored without case (case:lc), since another system outputs no upper case."
    return replace(again, notes=(note, *again.notes))


def evaluate_system(path: Path, held_out: HeldOut, settings: Evaluating, *, name: str, watch: Watch) -> Evaluation:
    """Evaluate the translator of a folder, or the output of any system, a file with a line for each pair."""
    if path.is_dir():
        translator = load(path, device=settings.device, precision=settings.precision, shortlist=settings.shortlist)
        return evaluate(translator, held_out, settings, name=name, watch=watch)
    outputs = Outputs(hypotheses=read_hypotheses(path, held_out))
    return assess(outputs, held_out, settings, name=name, watch=watch)


def system_names(systems: Sequence[Path]) -> list[str]:
    """Call each by the last part of its path, as many parts as tell them apart.

    >>> system_names([Path("runs/a"), Path("runs/b/model"), Path("out/b.txt")])
    ['a', 'b', 'b.txt']
    >>> system_names([Path("one/a"), Path("two/a")])
    ['one/a', 'two/a']
    """
    parts = [(path.parent if path.name == "model" else path).parts for path in systems]
    for length in range(1, max(map(len, parts), default=1) + 1):
        names = ["/".join(item[-length:]) for item in parts]
        if len(set(names)) == len(names):
            return names
    return [f"{path} ({number})" for number, path in enumerate(systems, start=1)]


def _check_same(first: HeldOut, second: HeldOut, one: str, other: str) -> None:
    if first.fingerprint != second.fingerprint:
        raise DataError(
            f"Systems must be compared on the same pairs; {one} was to be tested on {first.name} "
            f"({len(first.pairs):,} pairs, {first.fingerprint}), {other} on {second.name} ({len(second.pairs):,} "
            f"pairs, {second.fingerprint}). Name one test set for all: `data`, or `source` and `target`."
        )
