"""A translator as ONNX files: encoder.onnx, step.onnx, and what a program needs besides, tokenizer.json included."""

import copy
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy.typing import NDArray
from torch import Tensor

from regard.data.text.special import END, START
from regard.errors import ArgumentError, MissingExtraError
from regard.export.onnx_modules import Names, OnnxEncoder, OnnxStep, name_tensors, with_onnx_layers
from regard.files import json_text, write_text
from regard.models.sequence.build import Model
from regard.models.sequence.protocol import AnyModel

ENCODER, STEP, ABOUT = "encoder.onnx", "step.onnx", "onnx.json"
TOLERANCE = 1e-4
"""How far onnxruntime's log-probabilities and weights may be from torch's."""
_STEPS = 5
_ANY = torch.export.Dim.DYNAMIC


def write_onnx(model: Model, folder: Path, *, source_vocabulary: int) -> float:
    """Write both files and compare them with the model; give the largest difference, which is below `TOLERANCE`.

    - encoder.onnx: `source` (batch, length) and `lengths` (batch) to the tensors of memory and state.
    - step.onnx: `token` (batch), memory and state to `log_probabilities` (batch, vocabulary), `weights` (batch, layers,
      heads, length) where the model attends, and `next_` and the name of each tensor of the state.
    """
    _require("onnxscript")
    names = name_tensors(model)
    plain = with_onnx_layers(copy.deepcopy(model).cpu().float()).eval()
    source, lengths = _example(source_vocabulary, rows=3, longest=7)
    with torch.no_grad(), _quietly():
        _write_encoder(plain, names, (source, lengths), folder)
        _write_step(plain, model, names, (source, lengths), folder)
    about = {"memory": names.memory, "state": names.state, "start": START, "end": END, "attends": _attends(names)}
    write_text(folder / ABOUT, json_text(about, indent=2) + "\n")
    return compare(model, names, folder, source_vocabulary=source_vocabulary)


def compare(model: Model, names: Names, folder: Path, *, source_vocabulary: int) -> float:
    """Run both over other sentences, step by step, and give the largest difference; too large a one is an error."""
    runtime = _require("onnxruntime")
    encoder, step = (_session(runtime, folder / name) for name in (ENCODER, STEP))
    source, lengths = _example(source_vocabulary, rows=2, longest=11)
    with torch.inference_mode():
        generating: AnyModel = model
        memory = generating.encode(source, lengths)
        state = generating.start(memory)
        feed = run_named(encoder, {"source": source.numpy(), "lengths": lengths.numpy()})
        token, largest = torch.full((2,), START), 0.0
        for _ in range(_STEPS):
            log_probabilities, state, weights = generating.step(token.unsqueeze(1), state, memory, weights=True)
            output = run_named(step, {"token": token.numpy(), **feed})
            feed.update({name: output[f"next_{name}"] for name in names.state})
            largest = max(largest, _difference(output["log_probabilities"], log_probabilities[:, 0]))
            if weights is not None:
                largest = max(largest, _difference(output["weights"], weights[..., 0, :]))
            token = log_probabilities[:, 0].argmax(-1)
    if not largest <= TOLERANCE:
        raise ArgumentError(
            f"onnxruntime must agree with the model to {TOLERANCE:g}; received a difference of {largest:.2g}. This is "
            "a fault of the export: please report the model's config.json."
        )
    return largest


def run_named(session: Any, feed: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Run a session on the inputs it has, and give its outputs by name."""
    wanted = {item.name: feed[item.name] for item in session.get_inputs()}
    return dict(zip([item.name for item in session.get_outputs()], session.run(None, wanted), strict=True))


def _write_encoder(plain: Model, names: Names, example: tuple[Tensor, Tensor], folder: Path) -> None:
    program = torch.onnx.export(
        OnnxEncoder(plain).eval(),
        example,
        dynamo=True,
        verbose=False,
        dynamic_shapes=({0: _ANY, 1: _ANY}, {0: _ANY}),
        input_names=["source", "lengths"],
        output_names=[*names.memory, *names.state],
    )
    assert program is not None
    program.save(folder / ENCODER)


def _write_step(plain: Model, model: Model, names: Names, example: tuple[Tensor, Tensor], folder: Path) -> None:
    memory, state = _example_tensors(model, names, example)
    attends = _attends(names)
    program = torch.onnx.export(
        OnnxStep(plain, names).eval(),
        (torch.full((example[0].size(0),), START), memory, state),
        dynamo=True,
        verbose=False,
        dynamic_shapes=({0: _ANY}, _axes(names.memory, memory), _axes(names.state, state)),
        input_names=["token", *names.memory, *names.state],
        output_names=["log_probabilities", *["weights"] * attends, *(f"next_{name}" for name in names.state)],
    )
    assert program is not None
    program.save(folder / STEP)


def _example_tensors(model: Model, names: Names, example: tuple[Tensor, Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Give memory and state as tensors, the latter after two steps, so that no axis is 0 or 1 by accident.

    They are contiguous, so that no stride is another number to be named: ONNX has none.
    """
    tensors = list(OnnxEncoder(model)(*example))
    memory, state = tensors[: len(names.memory)], tensors[len(names.memory) :]
    step = OnnxStep(model, names)
    for _ in range(2):
        state = list(step(torch.full((example[0].size(0),), START), memory, state)[-len(names.state) :])
    return [item.contiguous() for item in memory], [item.contiguous() for item in state]


def _axes(names: Sequence[str], tensors: Sequence[Tensor]) -> list[dict[int, Any]]:
    """Say which axes vary: rows always, and positions where a tensor has them, the last but one of keys and values."""
    axes: list[dict[int, Any]] = []
    for name, tensor in zip(names, tensors, strict=True):
        positions = 1 if name == "source_mask" else tensor.ndim - 2
        axes.append({0: _ANY, positions: _ANY} if name.startswith(("source_", "target_")) else {0: _ANY})
    return axes


def _attends(names: Names) -> bool:
    return "source_mask" in names.memory


def _example(vocabulary: int, *, rows: int, longest: int) -> tuple[Int[Tensor, "rows longest"], Int[Tensor, " rows"]]:
    numbers = np.random.default_rng(rows).integers(min(END + 1, vocabulary - 1), vocabulary, (rows, longest))
    lengths = [longest - 2 * row for row in range(rows)]
    return torch.from_numpy(numbers), torch.tensor(lengths)


def _difference(received: NDArray[Any], expected: Tensor) -> float:
    return float(np.abs(received - expected.numpy()).max())


def _session(runtime: Any, path: Path) -> Any:
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _require(package: str) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtraError(
            f"An export to ONNX needs the package {package}, which is not installed. Install it: "
            "pip install 'regard[onnx]'."
        ) from error


@contextmanager
def _quietly(loggers: Sequence[str] = ("torch.onnx", "onnxscript", "onnx_ir")) -> Iterator[None]:
    """Keep torch's exporter from reporting on itself: what is wrong is an error."""
    levels = {name: logging.getLogger(name).level for name in loggers}
    for name in loggers:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
