"""Traces as files: one compressed file, exact to the bit, that holds no code.

A trace file is a zip archive. `trace.json` says what it is, its version, and layer, step and labels of every call;
`calls/00000.safetensors` and so on hold the tensors of each. `unzip` and `safetensors` alone can read it.
"""

import json
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from regard.errors import DataError
from regard.files import write_whole
from regard.inspection.trace import Call, Labels, Trace

FORMAT, VERSION = "regard trace", 1
_ABOUT = "trace.json"
_TENSORS = ("scores", "weights", "value_norms", "mask")
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
            described = _read_about(archive, path)
            return Trace([_call(one, load(archive.read(_member(n)))) for n, one in enumerate(described)])
    except OSError as error:
        raise DataError(f"`path` must be a file that can be read; received {path}: {error.strerror}.") from error
    except zipfile.BadZipFile as error:
        if zipfile.is_zipfile(path):
            raise _damaged(path, error) from error
        raise _foreign(path) from error
    except (zlib.error, EOFError, KeyError, TypeError, ValueError, NotImplementedError, SafetensorError) as error:
        if isinstance(error, DataError):
            raise
        raise _damaged(path, error) from error


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
    return None if labels is None else [one if isinstance(one, str) else list(one) for one in labels]


def _tensors(call: Call) -> dict[str, Tensor]:
    """Give copies of a call's tensors, since a file of tensors may not hold two that share their memory."""
    held = {name: getattr(call, name) for name in _TENSORS}
    return {name: tensor.detach().cpu().clone().contiguous() for name, tensor in held.items() if tensor is not None}


def _read_about(archive: zipfile.ZipFile, path: Path) -> list[dict[str, Any]]:
    if _ABOUT not in archive.namelist():
        raise _foreign(path)
    about = json.loads(archive.read(_ABOUT))
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise _foreign(path)
    if about["version"] != VERSION:
        raise DataError(
            f"`path` must be a trace of version {VERSION}; received version {about['version']}, {path}. Read it with "
            "the regard that wrote it."
        )
    described: list[dict[str, Any]] = about["calls"]
    return described


def _call(about: dict[str, Any], tensors: dict[str, Tensor]) -> Call:
    call = Call(
        layer=about["layer"],
        step=about["step"],
        scores=tensors["scores"],
        weights=tensors["weights"],
        value_norms=tensors["value_norms"],
        mask=tensors.get("mask"),
    )
    call.label(query=about["query_labels"], key=about["key_labels"])
    return call


def _foreign(path: Path) -> DataError:
    return DataError(f"`path` must be a trace that Trace.save wrote; received another kind of file, {path}.")


def _damaged(path: Path, error: Exception) -> DataError:
    return DataError(
        f"`path` must be a whole trace; received a damaged one, {path} ({error}). Record or copy it once more."
    )
