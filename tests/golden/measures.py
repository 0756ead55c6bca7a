"""The numbers that golden files are compared by, from the public entry points alone."""

import io
import json
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import torch

import regard
from regard.inspection import Trace

DATA = Path(__file__).parent / "data"
SOURCES, TARGETS = ["la casa es roja", "el perro es viejo"], ["the house is red", "the dog is old"]
PROMPT, TEXT = "the c", "the cat sits on the red mat"
REVIEW, QUESTION, PICTURE = "a warm and funny film", "how many red circles are there?", "inputs/picture.png"


def task_of(name: str) -> str:
    """Give the task that a model folder's name begins with."""
    return name.partition("-")[0]


def measure_model(task: str, folder: Path, picture: Path) -> dict[str, Any]:
    """Load a model folder and give what it says of inputs that never change."""
    model: Any = regard.load(folder)
    match task:
        case "translator":
            return measure_translator(model)
        case "language":
            return measure_language(model)
        case "classifier":
            return {"own": measure_decision(model), "removal": measure_decision(model, by="removal")}
        case "images":
            return {"probabilities": model.classify([picture])[0].probabilities}
        case "questions":
            answer = model.ask(picture, QUESTION)
            return {"probabilities": answer.probabilities, "weights": moments(answer.attention.weights)}
        case "captions":
            captions = model.caption(picture, beam=2, n_best=2)
            found = [{"text": one.text, "probabilities": list(one.probabilities)} for one in captions]
            return {"captions": found, "weights": moments(captions[0].attention.weights)}
    raise ValueError(f"`task` must begin the name of a model's folder; received {task}.")


def measure_translator(model: Any) -> dict[str, Any]:
    """Give the best outputs, and how likely other translations are."""
    best = [outputs[0] for outputs in model.search(SOURCES, weights=True)]
    forced = model.force(SOURCES, TARGETS)
    return {
        "texts": model.translate(SOURCES),
        "target_tokens": [list(one.target_tokens) for one in best],
        "log_probabilities": [one.log_probability for one in best],
        "weights": [None if one.weights is None else moments(one.weights) for one in best],
        "forced": [list(one.log_probabilities) for one in forced],
    }


def measure_language(model: Any) -> dict[str, Any]:
    """Give what follows a prompt, and how likely a text is."""
    following = model.next(PROMPT, k=3)
    looked_at = following.attended_to and [weight for _, weight in following.attended_to]
    return {
        "greedy": model.generate(PROMPT, max_tokens=12, greedy=True),
        "next": {one.text: one.probability for one in following.tokens},
        "looked_at": looked_at,
        "perplexity": model.perplexity([TEXT]).perplexity,
    }


def measure_decision(model: Any, **by: str) -> dict[str, Any]:
    """Give the probabilities of labels and the weights of words."""
    decision = model.classify([REVIEW], **by)[0]
    return {"probabilities": decision.probabilities, "words": list(decision.words), "weights": list(decision.weights)}


def measure_trace(path: Path) -> list[dict[str, Any]]:
    """Give the layers, labels and sums of a saved trace."""
    return [
        {
            "layer": call.layer,
            "step": call.step,
            "query_labels": call.query_labels,
            "key_labels": call.key_labels,
            "masked": None if call.mask is None else int((~call.mask).sum()),
            "scores": moments(call.scores[call.scores.isfinite()]),
            "weights": moments(call.weights),
            "value_norms": moments(call.value_norms),
        }
        for call in Trace.load(path)
    ]


def moments(values: torch.Tensor) -> dict[str, Any]:
    """Give a tensor's shape, its sum, and a sum in which every index counts by another factor."""
    flat = values.detach().double().flatten()
    factors = torch.linspace(-1, 1, len(flat), dtype=torch.float64)
    return {"shape": list(values.shape), "sum": flat.sum().item(), "weighed": (flat * factors).sum().item()}


def run_command(arguments: list[str]) -> list[Any]:
    """Run `python -m regard` in this process, and give the JSON lines it prints."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with mock.patch.object(sys, "argv", ["regard", *arguments]), redirect_stdout(printed):
        try:
            runpy.run_module("regard", run_name="__main__", alter_sys=False)
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"`regard {' '.join(arguments)}` ended with code {ended.code}.") from ended
    return [json.loads(line) for line in printed.buffer.getvalue().decode().split("\n") if line]


def read_metrics(metrics: Path) -> list[dict[str, Any]]:
    """Give the lines of metrics.jsonl."""
    return [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]


def last_losses(metrics: Path) -> dict[str, float]:
    """Give the last training and validation loss that a run has noted, and its step."""
    last = {one["event"]: one for one in read_metrics(metrics)}
    return {"step": last["valid"]["step"], "train": last["train"]["loss"], "valid": last["valid"]["loss"]}


def rounded(value: Any) -> Any:
    """Round every number to six digits."""
    match value:
        case float():
            return round(value, 6)
        case dict():
            return {key: rounded(one) for key, one in value.items()}
        case list() | tuple():
            return [rounded(one) for one in value]
    return value
