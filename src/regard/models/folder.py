"""A model folder: parameters in model.safetensors, and what to build for them in config.json. Nothing is pickled."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from regard import __version__
from regard.config.model import ModelSpec, SavedModel
from regard.config.read import read_settings
from regard.config.show import to_table
from regard.errors import ArgumentError, DataError, nearest
from regard.files import write_text, write_whole
from regard.models.build import Model, build_model

PARAMETERS, CONFIG = "model.safetensors", "config.json"


class LoadedModel(NamedTuple):
    """A model from a folder, in evaluation mode."""

    model: Model
    config: SavedModel


def save_model(
    model: nn.Module, spec: ModelSpec, folder: str | Path, *, source_vocabulary: int, target_vocabulary: int
) -> None:
    """Write a model and the spec it was built from into a folder, which is made where there is none.

    Each file is complete or is not there: it is written under another name first. Shared parameters are written once.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = SavedModel(
        version=__version__, model=spec, source_vocabulary=source_vocabulary, target_vocabulary=target_vocabulary
    )
    tensors = {name: one.detach().contiguous().cpu() for name, one in saved_tensors(model).items()}
    write_whole(folder / PARAMETERS, lambda path: save_file(tensors, path, metadata={"format": "pt"}))
    text = json.dumps(to_table(config), indent=2) + "\n"
    write_text(folder / CONFIG, text)


def load_model(folder: str | Path, *, device: torch.device | str = "cpu") -> LoadedModel:
    """Build the model that a folder describes, with the parameters it holds, in the precision they were saved in.

    Torch's random numbers are left as they were.
    """
    config = read_config(folder)
    with torch.random.fork_rng():
        model = build_model(
            config.model, source_vocabulary=config.source_vocabulary, target_vocabulary=config.target_vocabulary
        )
    fill(model, Path(folder) / PARAMETERS)
    return LoadedModel(model.to(device).eval(), config)


def read_table(folder: str | Path) -> dict[str, Any]:
    """Read the table in a folder's config.json, whatever kind of model it tells of."""
    path = Path(folder) / CONFIG
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"`folder` must hold {CONFIG}; {path} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise DataError(f"{path} must be JSON; received: {error}.") from error
    if not isinstance(table, dict):
        raise DataError(f"{path} must hold a table of settings; received {type(table).__name__}.")
    return table


def read_config(folder: str | Path) -> SavedModel:
    """Read what a folder's config.json says, without building anything."""
    path, table = Path(folder) / CONFIG, read_table(folder)
    try:
        return read_settings(SavedModel, table)
    except ArgumentError as error:
        written = table.get("version")
        hint = "" if written == __version__ else f" It was written by regard {written}; this is {__version__}."
        raise DataError(f"{path}: {error}{hint}") from error


def saved_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Give every parameter and saved buffer once, under the first of its names."""
    saved = model.state_dict(keep_vars=True)
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: one for name, one in named if name in saved}


@torch.no_grad()
def fill(model: nn.Module, path: Path) -> None:
    """Put the tensors of a file in place of the model's own, which must be the same in name and shape."""
    own = saved_tensors(model)
    try:
        with safe_open(path, framework="pt") as file:
            names = set(file.keys())
            missing, unknown = sorted(own.keys() - names), sorted(names - own.keys())
            if missing or unknown:
                raise DataError(f"{path} must hold the {len(own)} tensors of the model; {_odd(missing, unknown)}")
            for name, tensor in own.items():
                # A copy, since the file's memory is aligned otherwise, for which products may round otherwise.
                tensor.data = _fitting(file.get_tensor(name), tensor, name, path).clone()
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path} must be a safetensors file; received: {error}.") from error


def _fitting(found: Tensor, own: Tensor, name: str, path: Path) -> Tensor:
    if own.shape != found.shape:
        raise DataError(
            f"{path}: {name} must have the shape {tuple(own.shape)} that {CONFIG} asks for; received "
            f"{tuple(found.shape)}."
        )
    return found


def _odd(missing: list[str], unknown: list[str]) -> str:
    parts = []
    if missing:
        parts.append(f"missing: {_some(missing)}")
    if unknown:
        parts.append(f"unknown: {_some(unknown)}")
    hint = f" {nearest(unknown[0], missing)}" if unknown and missing and len(missing) < 6 else ""
    return f"received {'; '.join(parts)}.{hint}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
