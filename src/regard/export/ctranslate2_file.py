"""The head of CTranslate2's model.bin, compared with the model it must hold, before CTranslate2 reads it.

CTranslate2 takes memory as the file says, and multiplies whatever it finds. So a file of a stranger must have exactly
the tensors, of exactly the shapes, that the description beside it asks for.

The layout: version, name of the specification, revision, number of variables; for each its name, rank, shape, type,
number of bytes and these bytes; then the number of names for other variables, and these pairs.
"""

import math
import struct
from pathlib import Path
from typing import Any, BinaryIO

import torch

from regard.config.model import SavedModel
from regard.errors import DataError
from regard.export.ctranslate2_spec import make_spec
from regard.models.sequence.build import build_model
from regard.models.sequence.transformer import TransformerModel

_VERSION, _NAME, _REVISION = 6, "TransformerSpec", (1, 7)
_ITEM_BYTES = (4, 1, 2, 4, 2, 2)
"""Of float32, int8, int16, int32, float16 and bfloat16."""
_MOST_VARIABLES, _MOST_RANK = 100_000, 4
_SCALE = "_scale"


def check_file(path: Path, config: SavedModel) -> None:
    """Raise unless the file holds the tensors of the model that `config` describes, and nothing else."""
    expected = _expected_shapes(config)
    try:
        with path.open("rb") as file:
            received = _read_shapes(file, path.stat().st_size)
    except (OSError, ValueError, struct.error, UnicodeDecodeError) as error:
        raise DataError(f"{path} must be a model of CTranslate2; received: {error}.") from error
    for name, shape in expected.items():
        if name not in received:
            raise DataError(f"{path} must hold {name}; received a file without. Export the model once more.")
        if received[name] != shape:
            raise DataError(f"{path}: {name} must have the shape {shape}; received {received[name]}.")
    for name, shape in received.items():
        rows = expected.get(name.removesuffix(_SCALE), ())[:1]
        if name not in expected and not (name.endswith(_SCALE) and shape in (rows, ())):
            raise DataError(f"{path} must hold the model's own tensors alone; received {name} as well.")


def _expected_shapes(config: SavedModel) -> dict[str, tuple[int, ...]]:
    """Give names and shapes by building the model without numbers: each array repeats a single zero."""
    with torch.random.fork_rng(), torch.device("meta"):
        model: Any = build_model(
            config.model,  # type: ignore[arg-type]
            source_vocabulary=config.source_vocabulary,
            target_vocabulary=config.target_vocabulary,
        )
    assert isinstance(model, TransformerModel)
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            setattr(module, name, torch.nn.Parameter(torch.zeros(()).expand(parameter.shape), requires_grad=False))
    spec = make_spec(model, config)
    return {name: _shape(value) for name, value in spec.variables().items()}


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(getattr(value, "shape", ()))


def _read_shapes(file: BinaryIO, size: int) -> dict[str, tuple[int, ...]]:
    """Read names and shapes, and see that the bytes between them are there."""
    if (version := _number(file, "I")) != _VERSION:
        raise ValueError(f"version {version}, not {_VERSION}")
    if (name := _text(file)) != _NAME:
        raise ValueError(f"a model of the kind {name[:40]}")
    if not _REVISION[0] <= (revision := _number(file, "I")) <= _REVISION[1]:
        raise ValueError(f"revision {revision}")
    shapes = {}
    for _ in range(_few(_number(file, "I"))):
        name = _text(file)
        if (rank := _number(file, "B")) > _MOST_RANK:
            raise ValueError(f"a tensor of {rank} axes")
        shape = tuple(_number(file, "I") for _ in range(rank))
        kind, length = _number(file, "B"), _number(file, "I")
        if kind >= len(_ITEM_BYTES) or math.prod(shape) * _ITEM_BYTES[kind] != length:
            raise ValueError(f"{length:,} bytes for a tensor of the shape {shape}")
        if file.tell() + length > size:
            raise ValueError("an end within a tensor")
        file.seek(length, 1)
        shapes[name] = shape
    for _ in range(_few(_number(file, "I"))):
        name, other = _text(file), _text(file)
        if other not in shapes:
            raise ValueError(f"another name for {other[:80]}, which is not there")
        shapes[name] = shapes[other]
        if (scale := shapes.get(f"{other}{_SCALE}")) is not None:
            shapes.setdefault(f"{name}{_SCALE}", scale)
    if file.tell() != size:
        raise ValueError(f"{size - file.tell():,} bytes behind its end")
    return shapes


def _few(count: int) -> int:
    if count > _MOST_VARIABLES:
        raise ValueError(f"{count:,} variables")
    return count


def _number(file: BinaryIO, kind: str) -> int:
    (value,) = struct.unpack(f"<{kind}", file.read(struct.calcsize(kind)))
    return int(value)


def _text(file: BinaryIO) -> str:
    length = _number(file, "H")
    content = file.read(length)
    if len(content) < length:
        raise ValueError("an end within a name")
    return content.rstrip(b"\0").decode()
