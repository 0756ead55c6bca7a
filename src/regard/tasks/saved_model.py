"""The folder of a trained model: its parameters, what to build for them, and the texts beside. Nothing is pickled."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from safetensors.torch import save_file
from torch import nn

from regard.config.read import read_settings
from regard.config.show import to_table
from regard.errors import ArgumentError, DataError
from regard.files import write_text, write_whole
from regard.models.folder import CONFIG, PARAMETERS
from regard.tasks.model_kinds import KINDS, Task, check_kind
from regard.training.checkpoint import read_tensors

Saved = TypeVar("Saved")


def write_saved(folder: Path, model: nn.Module, config: Any, texts: Mapping[str, str]) -> None:
    """Write model.safetensors, `texts`, such as tokenizer.json, by the names of their files, and config.json, last."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: one.detach().cpu().contiguous() for name, one in model.state_dict().items()}
    write_whole(folder / PARAMETERS, lambda path: save_file(tensors, path, metadata={"format": "pt"}))
    for name, text in texts.items():
        write_text(folder / name, text)
    write_text(folder / CONFIG, json.dumps(to_table(config), indent=2) + "\n")


def read_saved(folder: Path, task: Task, kind: type[Saved]) -> Saved:
    """Read what config.json says of a model for `task`; another one is an error."""
    check_kind(folder, task)
    try:
        return read_settings(kind, json.loads((folder / CONFIG).read_text(encoding="utf-8")))
    except ArgumentError as error:
        raise DataError(f"{folder / CONFIG}: {error}") from error


def fill_saved(folder: Path, model: nn.Module) -> None:
    """Give a model the parameters that a folder holds."""
    model.load_state_dict(read_tensors(folder / PARAMETERS))


@contextmanager
def whole_folder(folder: Path, task: Task) -> Iterator[None]:
    """Say that a folder is not whole, where what is read from it is missing or broken."""
    try:
        yield
    except DataError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0]
        raise DataError(f"{folder} must be a whole folder of {KINDS[task].name}; received: {first}") from error


def list_text(entries: tuple[str, ...]) -> str:
    """Write labels or answers as JSON.

    >>> list_text(("yes", "no"))
    '["yes", "no"]\\n'
    """
    return json.dumps(entries, ensure_ascii=False) + "\n"
