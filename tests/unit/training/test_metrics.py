"""metrics.jsonl: JSON that any program reads, and lines that end where they end."""

import json
import math
import random
from dataclasses import replace

import pytest

from regard.errors import DataError, Interrupted
from regard.tasks.page import Report
from regard.tasks.translation.page import make_page
from regard.training.metrics import MetricsFile, last_report, read_metrics
from regard.training.watch import Measured, Sample, SampleWeights, Validated, Watchers
from unit.training.copying import SETTINGS, Copying, make_trainer
from unit.training.test_loop import Stop

#: What Python's `str.splitlines` takes for the end of a line beside "\n".
ENDS = ("\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
MEASURED = Measured(
    step=5,
    loss=1.0,
    cross_entropy=1.0,
    rate=0.1,
    gradient_norm=1.0,
    tokens=10,
    tokens_per_second=5.0,
    epoch=0,
    seconds=1.0,
    memory=1,
)


def strict(text):
    """Read JSON, of which NaN and Infinity are no part."""

    def refuse(name):
        raise AssertionError(name)

    return json.loads(text, parse_constant=refuse)


def page(path):
    return make_page(Report("a", "", {}, "", ""), read_metrics(path))


@pytest.mark.parametrize("end", ENDS)
def test_a_sample_may_hold_what_ends_a_line_elsewhere(tmp_path, end):
    path = tmp_path / "metrics.jsonl"
    text = f"one{end}two"
    looks = SampleWeights((text,), (text,), ((1.0,),))
    for step in (2, 4):
        file = MetricsFile(path)
        file.measured(replace(MEASURED, step=step))
        file.validated(Validated(loss=1.0, samples=(Sample(text, text, text, looks),), step=step), best=True)
    file.noted(text)
    MetricsFile(path).started(4, 9)  # a resumed run writes the file anew
    found = read_metrics(path)
    assert [line["event"] for line in found] == ["train", "valid", "train", "valid", "note"]
    assert found[1]["samples"][0] == {
        "source": text, "hypothesis": text, "reference": text,
        "looks": {"source": [text], "target": [text], "weights": [[1.0]]},
    }  # fmt: skip
    assert found[4]["text"] == text
    assert last_report(path)["step"] == 4


def test_what_is_no_number_is_null_and_drawn_as_nothing(tmp_path):
    path = tmp_path / "metrics.jsonl"
    file = MetricsFile(path)
    file.measured(replace(MEASURED, step=1))
    file.measured(replace(MEASURED, step=2, loss=math.nan, cross_entropy=math.inf, gradient_norm=-math.inf))
    looks = SampleWeights(("a",), ("b",), ((math.nan,),))
    validated = Validated(loss=math.nan, figures={"bleu": math.inf}, samples=(Sample("a", "b", "c", looks),), step=2)
    file.validated(validated, best=False)
    lines = [strict(line) for line in path.read_text().splitlines()]
    assert [lines[1][name] for name in ("loss", "cross_entropy", "gradient_norm")] == [None, None, None]
    assert (lines[2]["loss"], lines[2]["bleu"]) == (None, None)
    found = read_metrics(path)
    assert found[2]["samples"][0]["looks"] is None
    assert last_report(path)["loss"] is None
    assert "cross-entropy" in page(path)


def test_older_files_with_nan_are_read_and_written_without(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text(
        '{"event": "train", "step": 1, "cross_entropy": NaN}\n{"event": "train", "step": 2, "cross_entropy": 3.0}\n'
        '{"event": "train", "step": 2, "cross_entropy": Infinity}\n'
    )
    assert "NaN" not in page(path)
    MetricsFile(path).started(2, 9)
    assert [strict(line)["cross_entropy"] for line in path.read_text().splitlines()] == [None, 3.0, None]


def test_the_name_of_a_file_that_is_no_utf8_can_be_noted(tmp_path):
    file = MetricsFile(tmp_path / "metrics.jsonl")
    file.noted("a\udcff")
    assert read_metrics(tmp_path / "metrics.jsonl")[0]["text"] == "a\udcff"
    file.started(0, 1)
    assert read_metrics(tmp_path / "metrics.jsonl")[0]["text"] == "a\udcff"


VALUES = (None, True, -1, 0.5, 1e400, 10**400, "x", "\u2028", [], [1], {}, {"source": 1}, [[None]], "[" * 3000)


def test_damaged_lines_are_left_out_and_the_rest_is_drawn(tmp_path):
    """A few thousand lines of known and unknown keys with values of all kinds; none may stop a run or its report."""
    draw, path = random.Random(3), tmp_path / "metrics.jsonl"
    keys = ("event", "step", "loss", "cross_entropy", "bleu", "rate", "samples", "text", "best", "x")
    sample = {"source": "a", "hypothesis": "b", "reference": "c"}
    looks = {"source": ["a"], "target": ["b"], "weights": [[1.0]]}
    lines = ["", "{", "null", "[" * 100_000, '{"event": "valid", "step": 1, "samples": 3}', "\ufffd", "1" * 5000]
    for _ in range(3000):
        value = {"event": draw.choice(["train", "valid", "note", 3]), "step": draw.randrange(9)}
        value |= {key: draw.choice(VALUES) for key in draw.sample(keys, draw.randrange(4))}
        if draw.random() < 0.5:
            part = {draw.choice([*looks]): draw.choice(VALUES)} if draw.random() < 0.5 else {}
            value["samples"] = [{**sample, "looks": {**looks, **part}}, draw.choice(VALUES)]
        text = json.dumps(value)
        lines.append(text[: draw.randrange(len(text))] if draw.random() < 0.1 else text)
    path.write_text("\n".join([*lines, '{"event": "train", "step": 8, "cross_entropy": 1.5}', ""]))
    assert "cross-entropy" in page(path)
    assert last_report(path)["cross_entropy"] == 1.5
    MetricsFile(path).started(4, 9)
    assert all(line.get("step", 0) <= 4 for line in read_metrics(path))
    assert "cross-entropy" in page(path)


@pytest.mark.parametrize("stopped", [1, 7, 12])
def test_the_first_line_after_a_resume_is_the_mean_of_the_right_steps(tmp_path, stopped):
    settings = replace(SETTINGS, steps=20, log_every=5, checkpoint_every=3)
    figures = []
    for name, batches in (("whole", 0), ("parts", stopped)):
        path = tmp_path / name / "metrics.jsonl"
        path.parent.mkdir()
        if batches:
            job = Copying()
            with pytest.raises(Interrupted):
                make_trainer(
                    path.parent,
                    settings,
                    job=job,
                    interruption=Stop(job, batches),
                    watcher=Watchers([MetricsFile(path)]),
                ).train()
        make_trainer(path.parent, settings, watcher=Watchers([MetricsFile(path)])).train()
        known = ("step", "loss", "cross_entropy", "rate", "gradient_norm", "tokens", "epoch")
        figures.append([[line[key] for key in known] for line in read_metrics(path) if line["event"] == "train"])
    assert figures[0] == figures[1]


def test_a_file_that_may_not_be_written_is_named_and_the_step_is_saved(tmp_path, monkeypatch):
    path = tmp_path / "metrics.jsonl"
    file = MetricsFile(path)
    trainer = make_trainer(tmp_path, replace(SETTINGS, checkpoint_every=1000), watcher=Watchers([file]))
    started = file.started

    def lose_the_right(step, steps):
        started(step, steps)
        path.unlink()
        path.mkdir()

    monkeypatch.setattr(file, "started", lose_the_right)
    message = (
        r"metrics.jsonl must be the run's to read and to write; it is not \(Is a directory\). Mend that and give the"
    )
    with pytest.raises(DataError, match=message):
        trainer.train()
    assert trainer.checkpoints.steps() == [5]  # where the first line was due
    path.rmdir()
    make_trainer(tmp_path, replace(SETTINGS, checkpoint_every=1000), watcher=Watchers([MetricsFile(path)])).train()
    assert read_metrics(path)[-1]["step"] == 30
