"""Quality by length, of runs that know what they held out: read where it was measured, else measured on demand."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regard.data.corpora.pair import words
from regard.decoding.search import Search
from regard.errors import ArgumentError
from regard.files import read_json
from regard.studio.models import Models
from regard.studio.schema.compare import Bin, Interval, LengthsAnswer, Measured, Measuring
from regard.studio.views.compare_pairs import find_common
from regard.tasks.evaluation.evaluate import Evaluating, evaluate
from regard.tasks.evaluation.held_out import HeldOut, run_of
from regard.tasks.translation.model import Translator, load
from regard.training.failure import reason

MOST = 300
"""Sentences that are translated; of more, every n-th."""
NUM_BINS = 5
SAMPLES = 200


class Lengths:
    """Measures in a thread of its own, on a model of its own, so that the other views need not wait."""

    def __init__(self, models: Models) -> None:
        self._models, self._lock = models, threading.Lock()
        self._results: dict[str, dict[str, Measured]] = {}  # by name and by the sentences, the latest last
        self._progress: Measuring | None = None
        self._failed: tuple[set[str], str] = (set(), "")

    def begin(self, names: Sequence[str]) -> None:
        """Begin to measure those that were not measured yet on the same sentences, unless one is at it already."""
        for name in names:
            self._models.find(name, Translator)
        if all(run_of(self._models.folders[name]) is None for name in names):
            raise ArgumentError(
                f"`models` must include one that was opened by the folder of its run, which knows what was held out; "
                f"received {', '.join(names)}, without config.toml beside the model. Choose such a model too: all are "
                "measured on its sentences."
            )
        with self._lock:
            if self._progress is not None:
                return
            self._progress, self._failed = _beginning(names[0]), (set(), "")
        threading.Thread(target=self._run, args=(list(names),), daemon=True).start()

    def answer(self, names: Sequence[str]) -> LengthsAnswer:
        """Give what is known of these models on the same sentences, and how far the measuring is.

        What was measured on other sentences than the first model cannot be compared, and counts as not measured.
        """
        results = {name: self._known(name) for name in names}
        measured = [result for result in results.values() if result]
        shared = [item for item in measured[0] if all(item in result for result in measured)] if measured else []
        chosen = (shared or list(measured[0]))[-1] if measured else ""
        with self._lock:
            error = self._failed[1] if self._failed[0] == set(names) else ""
            return LengthsAnswer(
                results={name: result[chosen] for name, result in results.items() if chosen in result},
                progress=self._progress,
                error=error or None,
            )

    def _known(self, name: str) -> dict[str, Measured]:
        """Give all that is known of a model, by the sentences it was measured on; the latest last."""
        self._models.find(name, Translator)
        before = read_results(self._models, name)
        with self._lock:
            return ({before.fingerprint: before} if before else {}) | self._results.get(name, {})

    def _run(self, names: list[str]) -> None:
        try:
            folders = {name: self._models.folders[name] for name in names}
            common = find_common(folders)
            held_out = thinned(common.held_out)
            settings = Evaluating(search=Search(), bins=edges_of(held_out), samples=SAMPLES)
            for name, path in folders.items():
                result = self._results.get(name, {}).get(held_out.fingerprint)
                if result is None:
                    measured = evaluate(
                        load(path),
                        held_out,
                        settings,
                        name=name,
                        watch=lambda stage, done, total, name=name: self._watch(name, stage, done, total),  # type: ignore[misc]
                    )
                    result = write_results(measured.table(), source=common.source(name))
                self._keep(name, result)
        except Exception as error:  # in a thread it would be lost otherwise
            self._failed = set(names), f"{reason(error)}."
        finally:
            with self._lock:
                self._progress = None

    def _keep(self, name: str, result: Measured) -> None:
        """Keep what was measured as the latest."""
        with self._lock:
            kept = self._results.setdefault(name, {})
            kept.pop(result.fingerprint, None)
            kept[result.fingerprint] = result

    def _watch(self, name: str, stage: str, done: int, total: int) -> None:
        with self._lock:
            self._progress = Measuring(model=name, stage=stage, done=done, total=total)


def _beginning(name: str) -> Measuring:
    return Measuring(model=name, stage="reading the pairs", done=0, total=0)


def thinned(held_out: HeldOut) -> HeldOut:
    """Take every n-th pair, so that at most `MOST` are left."""
    every = -(-len(held_out.pairs) // MOST)
    if every == 1:
        return held_out
    name = f"{held_out.name}, one of {every} pairs"
    return replace(held_out, pairs=held_out.pairs[::every], name=name, report=None, lines=())


def edges_of(held_out: HeldOut) -> tuple[int, ...]:
    """Divide the sources by length into bins of about equally many."""
    lengths = sorted(len(words(source)) for source in held_out.sources)
    cuts = np.quantile(lengths, np.linspace(0, 1, NUM_BINS + 1)[1:-1])
    result = sorted({int(np.ceil(cut)) for cut in cuts} - {0})
    return tuple(result) or (lengths[-1] + 1,)


def read_results(models: Models, name: str) -> Measured | None:
    """Read what was measured before, in the folder of the run; nothing where that is not there, or not what it was."""
    run = run_of(models.folders[name])
    if run is None:
        return None
    try:
        return write_results(read_json(run.evaluation).table(), source=run.evaluation.name)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError):
        return None


def write_results(table: dict[str, Any], *, source: str) -> Measured:
    """Write the figures by length for the page, from the table of an evaluation."""
    return Measured(
        test_set=str(table["test_set"]),
        fingerprint=str(table["fingerprint"]),
        sentences=int(table["sentences"]),
        source=source,
        scores={name: float(result["value"]) for name, result in table["scores"].items()},
        bins=[
            Bin(
                low=int(item["low"]),
                high=None if item["high"] is None else int(item["high"]),
                mean_length=float(item["mean_length"]),
                sentences=int(item["sentences"]),
                few=bool(item["few"]),
                scores={
                    name: Interval(**{part: float(item[name][part]) for part in ("value", "low", "high")})
                    for name in _METRICS
                },
            )
            for item in table["by_length"]
        ],
    )


_METRICS = ("BLEU", "chrF")
