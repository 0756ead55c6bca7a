"""`metrics.jsonl`: a line for each report of a run, one JSON object each, without NaN and without infinity."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regard.files import finite, load_json, write_text
from regard.training.failure import is_disk_full, using
from regard.training.watch import Measured, Sample, Validated

_WEIGHTS = ("source", "target", "weights")


class MetricsFile:
    """A watcher that writes the file; a resumed run drops the lines of the steps it makes again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting: list[str] = []

    def started(self, step: int, steps: int) -> None:
        """Go back to `step`."""
        del steps
        with using(self._path):
            kept = [line for line in read_metrics(self._path) if line.get("step", 0) <= step]
            write_text(self._path, "".join(_line(item) for item in kept))

    def stepped(self, step: int) -> None:
        """Write nothing."""

    def measured(self, measured: Measured) -> None:
        """Write a line of event train."""
        figures = asdict(measured) | {"perplexity": measured.perplexity}
        self._write({"event": "train", **figures})

    def validated(self, validated: Validated, *, best: bool) -> None:
        """Write a line of event valid."""
        samples = [_sample_table(item) for item in validated.samples]
        figures = {"step": validated.step, "seconds": validated.seconds, "loss": validated.loss, **validated.figures}
        self._write({"event": "valid", **figures, "best": best, "samples": samples})

    def noted(self, text: str) -> None:
        """Write a line of event note."""
        self._write({"event": "note", "text": text})

    def _write(self, line: dict[str, Any]) -> None:
        self._waiting.append(_line(line))
        try:
            with using(self._path), self._path.open("a", encoding="utf-8") as file:
                file.write("".join(self._waiting))
            self._waiting.clear()
        except OSError as error:
            if not is_disk_full(error):
                raise  # else the lines wait for the next time: training matters more


def read_metrics(path: Path) -> list[dict[str, Any]]:
    r"""Read the lines of a metrics.jsonl, leaving out one that was cut off or is no report.

    Lines end at "\n" alone: a sample may hold U+2028 and others that Python takes for the end of a line too.
    """
    if not path.is_file():
        return []
    lines = map(read_report, path.read_text(encoding="utf-8", errors="replace").split("\n"))
    return [line for line in lines if line]


def last_report(path: Path) -> dict[str, Any] | None:
    """Read the last line on training of a file that is being written; its loss may be none."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return None
    reports = map(read_report, reversed(lines))
    return next((line for line in reports if line.get("event") == "train" and "step" in line), None)


def read_report(text: str) -> dict[str, Any]:
    """Read one line; nothing where it is not what `MetricsFile` writes."""
    try:
        line = load_json(text)
    except ValueError:
        return {}
    if not isinstance(line, dict) or line.get("event") not in ("train", "valid", "note"):
        return {}
    if not is_number(line.get("step", 0)):
        return {}
    if line["event"] == "valid":
        samples = line.get("samples")
        line["samples"] = (
            [_with_weights(item) for item in samples if _is_sample(item)] if isinstance(samples, list) else []
        )
    return line


def is_number(value: object) -> bool:
    """Return whether a value of JSON is a number that can be drawn; older files hold NaN.

    >>> is_number(1.5), is_number(None), is_number(float("nan")), is_number(True)
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e308 and math.isfinite(value)


def _sample_table(sample: Sample) -> dict[str, Any]:
    """Give what a line holds of a sample; its weights are under the key `looks`, as in every version."""
    weights = None if sample.weights is None else sample.weights._asdict()
    texts = {"source": sample.source, "hypothesis": sample.hypothesis, "reference": sample.reference}
    alignment = None if sample.alignment is None else sample.alignment._asdict()
    return {**texts, "looks": weights} | ({} if alignment is None else {"alignment": alignment})


def _is_sample(sample: object) -> bool:
    parts = ("source", "hypothesis", "reference")
    return isinstance(sample, dict) and all(isinstance(sample.get(name), str) for name in parts)


def _with_weights(sample: dict[str, Any]) -> dict[str, Any]:
    """Leave out weights that are none."""
    kept = {name: table for name, table in sample.items() if name != "alignment" or are_weights(table)}
    return kept if are_weights(sample.get("looks")) else {**kept, "looks": None}


def are_weights(table: object) -> bool:
    """Return whether these are weights: a row for each target token, a column for each source token."""
    if not isinstance(table, dict) or not all(isinstance(table.get(name), list) for name in _WEIGHTS):
        return False
    source, target, weights = (table[name] for name in _WEIGHTS)
    return len(weights) == len(target) and all(_is_row(row, len(source)) for row in weights)


def _is_row(row: object, length: int) -> bool:
    return isinstance(row, Sequence) and len(row) == length and all(map(is_number, row))


def _line(value: dict[str, Any]) -> str:
    """Write a line; half a surrogate pair, as in the name of a file that is no UTF-8, is written as JSON's escape."""
    text = json.dumps(finite(value), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode() + "\n"
