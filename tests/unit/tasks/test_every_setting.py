"""Every setting of `train`, in a tiny run from its start to its report: here on the CPU, and with `-m gpu` on CUDA.

A setting without a row fails, so that none reaches a GPU for the first time in a run that somebody waits for.
"""

import math
from dataclasses import fields
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import torch
from safetensors.torch import load_file

import regard
from regard.config.train import Schedule
from regard.errors import Interrupted
from regard.tasks.classification.job import ClassificationJob
from regard.tasks.task import all_settings
from regard.training.metrics import read_metrics
from unit.tasks.every_task import SHORT, TASKS, run_task
from unit.tasks.test_going_on import stop_after
from unit.training.copying import Silent

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
#: For each setting the values to run with, and what else they need: of a classifier, or of the task that is named.
ROWS = {
    "steps": [{"steps": 3}],
    "minutes": [{"minutes": 0.0}, {"minutes": 10.0}],
    "start": [{"start": ""}],  # of a model: test_start.py
    "batch_tokens": [{"batch_tokens": 24}],
    "batch_size": [{"task": "images", "batch_size": 3}],
    "accumulate": [{"accumulate": 3}],
    "seed": [{"seed": 7}],
    "weight_decay": [{"weight_decay": 0.0}, {"weight_decay": 0.1}],
    "beta1": [{"beta1": 0.8}],
    "beta2": [{"beta2": 0.9}],
    "clip": [{"clip": 0.0}, {"clip": 0.01}],
    "label_smoothing": [{"label_smoothing": 0.0}, {"label_smoothing": 0.2}],
    "precision": [{"precision": "auto"}, {"precision": "fp32"}, {"precision": "tf32"}]
    + [{"task": task, "precision": "bf16"} for task in TASKS],
    "ema": [{"ema": 0.9}, {"ema": 0.9, "result": "average", "average": 2}],
    "result": [{"result": "best"}, {"result": "last"}, {"result": "average", "keep_checkpoints": 1}],
    "average": [{"result": "average", "average": 1}, {"result": "average", "average": 99}],
    "metric": [{"metric": name} for name in ("loss", "accuracy", "macro_f1")]
    + [{"task": "translate", "metric": name} for name in ("bleu", "chrf")]
    + [{"task": "captions", "metric": "exact"}, {"task": "align", "metric": "agreement"}],
    "patience": [{"patience": 1, "validate_every": 1, "steps": 6}],
    "validate_every": [{"validate_every": 1}, {"validate_every": 100}],
    "valid_sentences": [{"task": "translate", "valid_sentences": 1}],
    "checkpoint_every": [{"checkpoint_every": 100, "result": "average"}],
    "keep_checkpoints": [{"keep_checkpoints": 1}],
    "r_drop": [{"task": "translate", "r_drop": 1.0}],
    "bpe_dropout": [
        {"task": "translate", "bpe_dropout": 0.2, "tokenizer": {"kind": "bpe", "vocabulary_size": 300}},
        {"task": "align", "bpe_dropout": 0.2, "tokenizer": {"kind": "bpe", "vocabulary_size": 300}},
    ],
    "guided_alignment": [
        {"task": "translate", "guided_alignment": 0.5},
        {"task": "translate", "guided_alignment": 0.5, "r_drop": 1.0, "accumulate": 2},
        {
            "task": "translate",
            "guided_alignment": 0.5,
            "bpe_dropout": 0.2,
            "tokenizer": {"kind": "bpe", "vocabulary_size": 300},
        },
    ],
    "tokenize": [
        {"task": "translate", "tokenize": name} for name in ("auto", "13a", "none", "words", "intl", "char", "zh")
    ],
    "case": [{"task": "translate", "case": name} for name in ("auto", "mixed", "lower")],
    "agreement": [{"task": "align", "agreement": 0.0}],
    "entropy": [{"task": "align", "entropy": 0.0}],
    "even": [{"task": "align", "even": 0.0}],
    "log_every": [{"log_every": 3}],
    "samples": [{"task": "translate", "samples": 0}, {"task": "language", "samples": 2}],
    "device": [{}],
    "shard": [{"shard": True}],
    "graphs": [{"graphs": False}],
    "threads": [{"threads": 1}],
    "tensorboard": [{"tensorboard": True}],
    "schedule": [
        {"schedule": {"kind": "constant", "rate": 0.01, "warm_up": 2}},
        {"schedule": {"kind": "inverse-square-root", "rate": 0.01, "warm_up": 2}},
        {"schedule": {"kind": "cosine", "rate": 0.01, "warm_up": 1, "final": 0.1}},
        {"schedule": {"kind": "linear", "rate": 0.01, "warm_up": 1, "final": 0.1}},
        {
            "schedule": {"kind": "plateau", "rate": 0.01, "warm_up": 1, "factor": 0.5, "patience": 1},
            "validate_every": 1,
        },
    ],
}
#: The settings of `train` of every task.
TRAINS = [get_type_hints(settings)["train"] for settings in all_settings().values()]
CASES = [pytest.param(row, id=f"{name}-{number}") for name, rows in ROWS.items() for number, row in enumerate(rows)]


def test_every_setting_has_a_row():
    assert set(ROWS) == {one.name for kind in TRAINS for one in fields(kind)}
    for name, rows in ROWS.items():
        assert name == "device" or any(name in row for row in rows), name


def test_every_choice_has_a_row():
    choices = {}
    for kind in TRAINS:
        for name, hint in get_type_hints(kind).items():
            if get_origin(hint) is Literal:
                choices.setdefault(name, set()).update(get_args(hint))
    for name, known in choices.items():
        assert {row[name] for row in ROWS[name] if name in row} == known, name
    schedules = {row["schedule"]["kind"]: set(row["schedule"]) for row in ROWS["schedule"]}
    known = {one().kind: {part.name for part in fields(one)} for one in get_args(Schedule)}
    assert schedules == known


def parameters(folder):
    return load_file(folder / "model" / "model.safetensors")


def losses(folder):
    return [line["loss"] for line in read_metrics(folder / "metrics.jsonl") if line["event"] != "note"]


def reader(task):
    """Give something that a loaded model of the task answers."""
    ask = {
        "translate": lambda model: model.translate(["यह घर है"]),
        "language": lambda model: model.generate("the ", max_tokens=3),
        "classify": lambda model: model.classify(["w1 apple"]),
    }
    return ask.get(task)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("row", CASES)
def test_a_run_with_the_setting_ends_in_a_model_and_a_report(tmp_path, row, device):
    settings = {"metric": "loss", **row}
    task, tokenizer = settings.pop("task", "classify"), settings.pop("tokenizer", None)
    if settings.get("tensorboard"):
        pytest.importorskip("tensorboard")
    if (task, device, settings.get("precision")) == ("classify", "cpu", "bf16"):
        pytest.skip("oneDNN has no bf16 LSTM for some CPUs")
    table = {"tokenizer": tokenizer} if tokenizer else {}
    trained = run_task(task, tmp_path, device=device, settings=settings, table=table)
    assert 1 <= trained.figures["steps"] <= settings.get("steps", SHORT["steps"])
    assert all(math.isfinite(value) for value in trained.figures.values())
    assert all(one.isfinite().all() for one in parameters(tmp_path).values())
    lines = [line for line in read_metrics(tmp_path / "metrics.jsonl") if line["event"] == "train"]
    assert lines[-1]["loss"] > 0
    assert trained.folder.report.is_file()
    loaded = regard.load(tmp_path, device=device)
    assert next(loaded.model.parameters()).device.type == device
    if reader(task) is not None:
        assert reader(task)(loaded)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("task", TASKS)
def test_a_resumed_run_ends_as_if_nothing_had_happened_there(tmp_path, task, device):
    """To the same bits on a CPU; on a GPU sums are added up in no fixed order, whether a run is resumed or not."""
    settings = {"ema": 0.9, "result": "average", "average": 2}
    run_task(task, tmp_path / "whole", device=device, settings=settings)
    with pytest.raises(Interrupted):
        run_task(task, tmp_path / "parts", device=device, settings=settings, **stop_after(3))
    torch.rand(5, device=device)  # the streams of this process have moved on
    run_task(task, tmp_path / "parts", device=device, settings=settings)
    first, second = (losses(tmp_path / name) for name in ("whole", "parts"))
    assert second == pytest.approx(first, rel=1e-2)
    if device == "cpu":
        first, second = (parameters(tmp_path / name) for name in ("whole", "parts"))
        assert all(torch.equal(one, second[name]) for name, one in first.items())


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("device", DEVICES)
def test_batches_that_do_not_fit_are_divided_there_with_the_same_result(tmp_path, monkeypatch, device):
    names = ("whole", "parts")
    how = {"device": device, "settings": {"metric": "loss", "result": "last"}, "table": {"model": {"dropout": 0.0}}}
    run_task("classify", tmp_path / names[0], **how)
    loss = ClassificationJob.loss

    def little(job, model, batch):
        found = loss(job, model, batch)
        if len(batch.indices) > 2:  # after the pass, so that streams have moved and memory is taken
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return found

    monkeypatch.setattr(ClassificationJob, "loss", little)
    watcher = Silent()
    run_task("classify", tmp_path / names[1], **how, watcher=watcher)
    assert any("out of memory. Batches of more than" in note for note in watcher.notes)
    first, second = (losses(tmp_path / name) for name in names)
    assert second == pytest.approx(first, rel=1e-2)  # AdamW enlarges what rounding leaves of no gradient
