"""A model folder: parameters in model.safetensors, and what to build for them in config.json. Nothing is pickled."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Shaped
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors import numpy as arrays_file
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from regard import __version__
from regard.config.model import ModelSpec, SavedModel, StatisticalSpec
from regard.config.read import read_any_version
from regard.config.show import to_table
from regard.errors import ArgumentError, DataError, NotFiniteError, nearest
from regard.files import SMALL, parse_json, read_bytes, write_text, write_whole
from regard.models.precision import quantize_rows
from regard.models.sequence.build import Model, TranslationModel, build_model
from regard.models.statistical.translator import StatisticalModel

PARAMETERS, CONFIG = "model.safetensors", "config.json"
Built = TypeVar("Built", bound=nn.Module)
Counted = TypeVar("Counted")


class LoadedModel(NamedTuple):
    """A model from a folder, in evaluation mode."""

    model: TranslationModel
    config: SavedModel


def save_model(
    model: nn.Module,
    spec: ModelSpec,
    folder: str | Path,
    *,
    source_vocabulary: int,
    target_vocabulary: int,
    guided_head: int | None = None,
    int8: bool = False,
) -> None:
    """Write a model and the spec it was built from into a folder, which is made where there is none.

    Each file is complete or is not there: it is written under another name first. Shared parameters are written once.
    With `int8` each matrix is written as `quantize_rows` gives it, in about a quarter of the bytes.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = SavedModel(
        version=__version__,
        model=spec,
        source_vocabulary=source_vocabulary,
        target_vocabulary=target_vocabulary,
        guided_head=guided_head,
    )
    if isinstance(model, StatisticalModel):
        write_arrays(folder, model.arrays())
    else:
        tensors = {name: item.detach().contiguous().cpu() for name, item in saved_tensors(model).items()}
        tensors = _in_int8(tensors) if int8 else tensors
        write_whole(folder / PARAMETERS, lambda path: save_file(tensors, path, metadata={"format": "pt"}))
    text = json.dumps(to_table(config), indent=2) + "\n"
    write_text(folder / CONFIG, text)


def load_model(folder: str | Path, *, device: torch.device | str = "cpu") -> LoadedModel:
    """Build the model that a folder describes, with the parameters it holds, in the precision they were saved in.

    Torch's random numbers are left as they were.
    """
    config = read_config(folder)
    spec = config.model
    if isinstance(spec, StatisticalSpec):
        counted = load_counted(StatisticalModel.from_arrays, Path(folder))
        sizes = {"source": config.source_vocabulary, "target": config.target_vocabulary}
        if counted.vocabularies != sizes:
            raise DataError(
                f"{Path(folder) / PARAMETERS} must be of the {sizes['source']:,} source and {sizes['target']:,} target "
                f"tokens of {CONFIG}; received {counted.vocabularies['source']:,} and "
                f"{counted.vocabularies['target']:,}."
            )
        return LoadedModel(counted.to(device).eval(), config)

    def build() -> Model:
        return build_model(spec, source_vocabulary=config.source_vocabulary, target_vocabulary=config.target_vocabulary)

    return LoadedModel(build_filled(build, Path(folder)).to(device).eval(), config)


def _in_int8(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Write each matrix as int8 and, under a name of their own, the scales of its rows; the rest in float32."""
    result: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.ndim == 2 and tensor.is_floating_point():
            result[name], result[name + _SCALE] = quantize_rows(tensor.float())
        else:
            result[name] = tensor.float() if tensor.is_floating_point() else tensor
    return result


class _WithoutDraws(TorchFunctionMode):
    """Leave out the random numbers of new parameters, which on the meta device would import the compiler (2 s)."""

    _DRAWS = frozenset({Tensor.normal_, Tensor.uniform_})

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Give the tensor back as it is where it would be filled."""
        named = kwargs or {}
        if func in self._DRAWS or getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else named["tensor"]
        return func(*args, **named)


def build_filled(build: Callable[[], Built], folder: Path) -> Built:
    """Build what config.json describes, and put the tensors of the folder's file in place of its own.

    What does not fit the file is refused before memory is taken for it: a model without numbers is built first.
    """
    path = folder / PARAMETERS
    try:
        with torch.random.fork_rng(), torch.device("meta"), _WithoutDraws():
            planned = saved_tensors(build())
    except (RuntimeError, ValueError, TypeError, ArithmeticError) as error:
        first = str(error).strip().split("\n")[0]
        raise DataError(f"{folder / CONFIG} must describe a model that can be built; received: {first}") from error
    with open_tensors(path) as file:
        _check_fits(planned, file, path)
    with torch.random.fork_rng():
        model = build()
    fill(model, path)
    return model


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write what a model has counted."""
    whole = {name: np.ascontiguousarray(item) for name, item in arrays.items()}
    write_whole(folder / PARAMETERS, lambda path: arrays_file.save_file(whole, path))


def load_counted(read: Callable[[Mapping[str, NDArray[Any]]], Counted], folder: Path) -> Counted:
    """Read a model that counts."""
    path = folder / PARAMETERS
    with open_tensors(path):
        pass  # it is one
    try:
        return read(arrays_file.load_file(path))
    except (KeyError, IndexError, ValueError, TypeError, OverflowError) as error:
        raise DataError(
            f"{path} must hold the counts of {CONFIG}; received: {type(error).__name__}: {error}"
        ) from error


def read_table(folder: str | Path) -> dict[str, Any]:
    """Read the table in a folder's config.json, whatever kind of model it tells of."""
    path = Path(folder) / CONFIG
    try:
        content = read_bytes(path, most=SMALL)
    except OSError as error:
        raise DataError(f"`folder` must hold {CONFIG}; {path} cannot be read ({error.strerror}).") from error
    return parse_json(content, path).table()


def read_config(folder: str | Path) -> SavedModel:
    """Read what a folder's config.json says, without building anything."""
    path, table = Path(folder) / CONFIG, read_table(folder)
    try:
        return read_any_version(SavedModel, table)
    except ArgumentError as error:
        written = table.get("version")
        hint = "" if written == __version__ else f" It was written by regard {written}; this is {__version__}."
        raise DataError(f"{path}: {error}{hint}") from error


def saved_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Give every parameter and saved buffer once, under the first of its names."""
    saved = model.state_dict(keep_vars=True)
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: item for name, item in named if name in saved}


@torch.no_grad()
def fill(model: nn.Module, path: Path) -> None:
    """Put the tensors of a file in place of the model's own, which must be the same in name and shape."""
    own = saved_tensors(model)
    with open_tensors(path) as file:
        _check_fits(own, file, path)
        for name, tensor in own.items():
            # A copy, since the file's memory is aligned otherwise, for which products may round otherwise.
            tensor.data = _read(file, name)
    check_finite(own, path)


def read_tensors(path: Path) -> dict[str, Shaped[Tensor, "..."]]:
    """Read all tensors of a file; matrices of int8 are written out in float32."""
    with open_tensors(path) as file:
        names = list(file.keys())
        scales = {name + _SCALE for name in names if file.get_slice(name).get_dtype() == "I8"}
        return {name: _read(file, name) for name in names if name not in scales}


def _read(file: Any, name: str) -> Tensor:
    """Read a tensor; one of int8 is written out in float32."""
    tensor: Tensor = file.get_tensor(name).clone()
    if tensor.dtype != torch.int8:
        return tensor
    scale: Tensor = file.get_tensor(name + _SCALE)
    return tensor.float() * scale.unsqueeze(1)


def check_finite(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Raise where a tensor holds NaN: every output of the model would be NaN."""
    broken = [name for name, tensor in tensors.items() if tensor.is_floating_point() and bool(tensor.isnan().any())]
    if broken:
        raise NotFiniteError(
            f"{path} must hold numbers; received NaN in {list_some(broken)}. The model is damaged: take another "
            "checkpoint, or train it again."
        )


@contextmanager
def open_tensors(path: Path) -> Iterator[Any]:
    """Open a file of tensors; whatever is none is an error that says so."""
    try:
        if path.exists() and not path.is_file():  # lest anything wait for a pipe
            raise DataError(f"{path} must be a plain file; received something else.")
        path.open("rb").close()  # for the reason why it cannot be read, which safetensors does not give
        with safe_open(path, framework="pt") as file:
            yield file
    except (OSError, SafetensorError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise DataError(f"{path} must be a safetensors file; received: {reason}.") from error


def _check_fits(own: Mapping[str, Tensor], file: Any, path: Path) -> None:
    """Raise unless the file has a tensor for each of the model's own, of its shape and of a kind to compute with."""
    names = set(file.keys())
    scales = {name + _SCALE for name in own.keys() & names if file.get_slice(name).get_dtype() == "I8"}
    missing, unknown = sorted((own.keys() | scales) - names), sorted(names - own.keys() - scales)
    if missing or unknown:
        raise DataError(f"{path} must hold the {len(own)} tensors of the model; {_odd(missing, unknown)}")
    kinds: dict[str, str] = {}
    for name, tensor in own.items():
        stored = file.get_slice(name)
        if list(tensor.shape) != (shape := stored.get_shape()):
            raise DataError(
                f"{path}: {name} must have the shape {tuple(tensor.shape)} that {CONFIG} asks for; received "
                f"{tuple(shape)}."
            )
        kind, expected = stored.get_dtype(), _FLOATS if tensor.is_floating_point() else ("I64",)
        if kind == "I8" and tensor.is_floating_point() and tensor.ndim == 2:
            _check_scales(file.get_slice(name + _SCALE), tensor.size(0), f"{path}: {name + _SCALE}")
            continue
        if kind not in expected:
            raise DataError(f"{path}: {name} must be of {' or '.join(expected)}; received {kind}.")
        if tensor.is_floating_point():
            kinds.setdefault(kind, name)
    if len(kinds) > 1:
        (first, name), (second, other) = list(kinds.items())[:2]
        raise DataError(f"{path} must hold numbers of one precision; received {first} ({name}) and {second} ({other}).")


_FLOATS = ("F32", "F16", "BF16", "F64")
#: Added to the name of a matrix of int8: the scale of each row.
_SCALE = ".scale"


def _check_scales(stored: Any, rows: int, name: str) -> None:
    if stored.get_shape() != [rows] or stored.get_dtype() != "F32":
        raise DataError(
            f"{name} must be {rows} numbers of F32, one for each row; received {tuple(stored.get_shape())} of "
            f"{stored.get_dtype()}."
        )


def _odd(missing: list[str], unknown: list[str]) -> str:
    parts = []
    if missing:
        parts.append(f"missing: {list_some(missing)}")
    if unknown:
        parts.append(f"unknown: {list_some(unknown)}")
    hint = f" {nearest(unknown[0], missing)}" if unknown and missing and len(missing) < 6 else ""
    return f"received {'; '.join(parts)}.{hint}"


def list_some(names: list[str]) -> str:
    """Name a few of many."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
