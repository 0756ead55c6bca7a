"""Traces as files: one compressed file, exact to the bit, that holds no code.

A trace file is a zip archive. `trace.json` says what it is, its version, and layer, step and labels of every call;
`calls/00000.safetensors` and so on hold the tensors of each. `unzip` and `safetensors` alone can read it.
"""

import json
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from regard.errors import ArgumentError, DataError, brief
from regard.files import Entry, parse_json, write_whole
from regard.inspection.trace.trace import Call, Labels, Trace

FORMAT, VERSION = "regard trace", 1
_ABOUT = "trace.json"
_TENSORS = ("scores", "weights", "value_norms", "mask")
_SMALL, _RATIO = 1 << 28, 50
"""Bytes that any trace may unpack to, and how many times its own size a larger one may."""
_BROKEN = (zlib.error, struct.error, EOFError, LookupError, TypeError, ValueError, ArithmeticError, RuntimeError)
"""What reading a damaged archive may raise."""
_FAST = 1  # of zlib's levels: the last bits of numbers hardly shrink at any


def save_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace to one file, which appears under its name when it is whole. Gradients are left out."""
    path = Path(path)
    about = {"format": FORMAT, "version": VERSION, "calls": [_about(call) for call in trace]}

    def write(aside: Path) -> None:
        with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED, compresslevel=_FAST) as archive:
            archive.writestr(_ABOUT, json.dumps(about))
            for number, call in enumerate(trace):
                archive.writestr(_member(number), save(_tensors(call)))

    try:
        write_whole(path, write)
    except OSError as error:
        raise DataError(f"`path` must be a file that can be written; received {path}: {error.strerror}.") from error


def load_trace(path: str | Path) -> Trace:
    """Read a trace that `save_trace` wrote, onto the CPU; whatever is not one is an error that says what it is."""
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            _check_size(archive, path)
            return _read_calls(archive, _read_about(archive, path), path)
    except zipfile.BadZipFile as error:
        if zipfile.is_zipfile(path):
            raise _damaged(path, error) from error
        raise _foreign(path) from error
    except OSError as error:
        raise DataError(f"`path` must be a file that can be read; received {path}: {error.strerror}.") from error
    except DataError:
        raise
    except (*_BROKEN, SafetensorError) as error:
        raise _damaged(path, error) from error


def _check_size(archive: zipfile.ZipFile, path: Path) -> None:
    """Raise where a small file would unpack to a large one: the last bits of numbers hardly shrink."""
    unpacked, most = sum(member.file_size for member in archive.infolist()), max(_SMALL, _RATIO * path.stat().st_size)
    if unpacked > most:
        raise _damaged(path, f"it would unpack to {unpacked:,} bytes, more than {most:,}")


def _member(number: int) -> str:
    return f"calls/{number:05}.safetensors"


def _about(call: Call) -> dict[str, Any]:
    return {
        "layer": call.layer,
        "step": call.step,
        "query_labels": _lists(call.query_labels),
        "key_labels": _lists(call.key_labels),
    }


def _lists(labels: Labels | None) -> Sequence[Any] | None:
    """Turn tuples into lists, as JSON has them."""
    return None if labels is None else [item if isinstance(item, str) else list(item) for item in labels]


def _tensors(call: Call) -> dict[str, Tensor]:
    """Give copies of a call's tensors, since a file of tensors may not hold two that share their memory."""
    held = {name: getattr(call, name) for name in _TENSORS}
    return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in held.items() if tensor is not None}


def _read_calls(archive: zipfile.ZipFile, about: Entry, path: Path) -> Trace:
    try:
        calls = enumerate(about["calls"].items())
        return Trace([_call(entry, load(archive.read(_member(number)))) for number, entry in calls])
    except ArgumentError as error:
        raise _damaged(path, error) from error


def _read_about(archive: zipfile.ZipFile, path: Path) -> Entry:
    if _ABOUT not in archive.namelist():
        raise _foreign(path)
    try:
        about = parse_json(archive.read(_ABOUT), _ABOUT)
    except DataError as error:
        raise _damaged(path, error) from error
    if not isinstance(about.value, dict) or about.value.get("format") != FORMAT:
        raise _foreign(path)
    if about["version"].value != VERSION:
        raise DataError(
            f"`path` must be a trace of version {VERSION}; received version {brief(about['version'].value)}, {path}. "
            "Read it with the regard that wrote it."
        )
    return about


def _call(about: Entry, tensors: dict[str, Tensor]) -> Call:
    call = Call(
        layer=about["layer"].text(),
        step=about["step"].whole(),
        scores=tensors["scores"],
        weights=tensors["weights"],
        value_norms=tensors["value_norms"],
        mask=tensors.get("mask"),
    )
    batch, heads, _, key = call.weights.shape
    fitting = call.scores.shape == call.weights.shape and call.value_norms.shape == (batch, heads, key)
    floats = all(tensor.is_floating_point() for tensor in (call.scores, call.weights, call.value_norms))
    if not (fitting and floats) or (call.mask is not None and call.mask.shape != call.weights.shape):
        raise about.refuse("must have tensors of one shape and of numbers", "others")
    if call.mask is not None and call.mask.dtype != torch.bool:
        raise about.refuse("must have a mask of true and false", str(call.mask.dtype))
    call.label(query=_labels(about["query_labels"]), key=_labels(about["key_labels"]))
    return call


def _labels(entry: Entry) -> Labels | None:
    """Read a list of words, or one for each example."""
    if entry.value is None:
        return None
    rows = entry.items()
    if all(isinstance(row.value, str) for row in rows):
        return [row.text() for row in rows]
    return [[word.text() for word in row.items()] for row in rows]


def _foreign(path: Path) -> DataError:
    return DataError(f"`path` must be a trace that Trace.save wrote; received another kind of file, {path}.")


def _damaged(path: Path, error: object) -> DataError:
    return DataError(
        f"`path` must be a whole trace; received a damaged one, {path} ({error}). Record or copy it once more."
    )
