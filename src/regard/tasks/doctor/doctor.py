"""`regard.doctor`: why the output of a run is empty, repeated, copied or full of `<unk>`."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from regard.config.show import to_table
from regard.data.corpora.pair import Pair
from regard.decoding.search import Search
from regard.errors import ArgumentError, DataError, RegardError
from regard.evaluation.attention_tally import AttentionTally
from regard.tasks.doctor.check import Check, Diagnosis
from regard.tasks.doctor.output_checks import Output, check_attention, check_outputs
from regard.tasks.doctor.pair_checks import check_pairs
from regard.tasks.doctor.training_checks import Course, check_training, describe_course
from regard.tasks.doctor.vocabulary_checks import check_vocabulary
from regard.tasks.evaluation.evaluate import Watch, watch_nothing
from regard.tasks.evaluation.held_out import check_trusted, named_data, run_of
from regard.tasks.model_folder import find_model
from regard.tasks.task import all_settings
from regard.tasks.translation.data import gather_pairs
from regard.tasks.translation.model import load
from regard.tasks.translation.settings import Config
from regard.training.metrics import read_metrics
from regard.training.run_folder import RunFolder

TRAINED = 20_000
"""Training pairs that are checked, at most."""
_AT_ONCE = 32


class _Held(NamedTuple):
    """Pairs of the run, as far as they are there."""

    train: list[Pair]
    valid: list[Pair]


def doctor(
    run: str | Path,
    *,
    sentences: int = 200,
    device: str = "cpu",
    trust: bool = False,
    on_progress: Watch | None = None,
) -> Diagnosis:
    """Check a run: training, vocabulary, data and output, each by its number, with what to do where it is ill.

    - `run`: a run folder, finished or not. Of tasks other than translate, the training alone is checked.
    - `sentences`: held-out sentences that are translated, greedily, at most.
    - `trust`: open what config.toml of a run names that was not made here.
    - `on_progress`: called with what is done, how much of it, and of how much.

    Where the data is gone, the samples of the last validation are checked instead.

    `str()` of the result is for people, `table()` gives all figures as plain values; `findings` are the checks that
    are beyond their limits.
    """
    folder, watch = run_of(run), on_progress or watch_nothing
    if folder is None:
        raise ArgumentError(f"`run` must be a run folder, with config.toml and metrics.jsonl; received {run}.")
    if sentences < 1:
        raise ArgumentError(f"`sentences` must be at least 1; received {sentences}.")
    lines, notes = read_metrics(folder.metrics), list[str]()
    task, checks = folder.task(all_settings()) or "translate", check_training(lines)
    if not checks:
        notes.append(f"the training, of which {folder.metrics.name} has no reports")
    if task == "translate":
        checks += _check_translator(folder, lines, notes, watch, sentences=sentences, device=device, trust=trust)
    else:
        notes.append(f"data and output, which are checked for translators, not for the task {task}")
    return Diagnosis(run=str(folder.path), task=task, checks=tuple(checks), notes=tuple(notes))


def _check_translator(
    folder: RunFolder,
    lines: Sequence[dict[str, Any]],
    notes: list[str],
    watch: Watch,
    *,
    sentences: int,
    device: str,
    trust: bool,
) -> list[Check]:
    checks: list[Check] = []
    watch("reading the data", 0, 1)
    held = _gather(folder, notes, trust=trust)
    if held is not None:
        checks += check_pairs(held.train, held.valid)
    course = describe_course(lines)
    if held is None or not held.valid:
        samples = _samples(lines)
        return checks + (check_outputs(samples, course) if samples else [])
    try:
        model = find_model(folder.path)
    except DataError:
        notes.append("vocabulary and output, since there is no model before the first validation")
        return checks
    return checks + _check_model(model, held.valid[:sentences], course, watch, device)


def _check_model(model: Path, pairs: Sequence[Pair], course: Course, watch: Watch, device: str) -> list[Check]:
    translator = load(model, device=device, unknown="keep", respell=False)
    outputs, tally = list[Output](), AttentionTally()
    for start in range(0, len(pairs), _AT_ONCE):
        watch("translating", start, len(pairs))
        some = pairs[start : start + _AT_ONCE]
        outcome = translator.search([pair.source for pair in some], Search(beam=1), weights=True)
        for pair, [best] in zip(some, outcome, strict=True):
            outputs.append(Output(pair, best.text, best.finished))
            if best.weights is not None:
                tally.add(best.weights, finished=best.finished)
    watch("translating", len(pairs), len(pairs))
    return [
        *check_vocabulary(translator.tokenizers, pairs),
        *check_outputs(outputs, course),
        *check_attention(tally),
    ]


def _gather(folder: RunFolder, notes: list[str], *, trust: bool) -> _Held | None:
    """Read the data of the run again, or note why not."""
    try:
        data = folder.read_settings(Config).data
        check_trusted(folder, named_data(data), trust=trust, instead="")
        corpus = gather_pairs(to_table(data))
    except (RegardError, OSError) as error:
        notes.append(f"the data: {str(error).strip()}")
        return None
    if (folder.fingerprint() or corpus.fingerprint()) != corpus.fingerprint():
        notes.append("whether the data is what the run began with: it has changed since")
    return _Held(list(islice(corpus.train, TRAINED)), corpus.valid)


def _samples(lines: Sequence[dict[str, Any]]) -> list[Output]:
    """Give the samples of the last validation."""
    validations = [line for line in lines if line.get("event") == "valid" and line.get("samples")]
    samples = validations[-1]["samples"] if validations else []
    return [
        Output(Pair(source=item["source"], target=item["reference"]), item["hypothesis"])
        for item in samples
        if item["source"] and item["reference"]
    ]
