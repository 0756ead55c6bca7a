"""The folder of a trained model: its parameters, what to build for them, and the texts beside. Nothing is pickled."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from safetensors.torch import save_file
from torch import nn

from regard.config.read import read_any_version
from regard.config.show import to_table
from regard.data.text.tokenizer import FILE, Tokenizer, TokenizerPair
from regard.errors import ArgumentError, DataError
from regard.files import read_json, write_text, write_whole
from regard.models.folder import CONFIG, PARAMETERS, Built, build_filled, saved_tensors
from regard.tasks.model_folder import read_config
from regard.tasks.task import TASKS

Saved = TypeVar("Saved")


def write_saved(folder: Path, model: nn.Module, config: Any, texts: Mapping[str, str]) -> None:
    """Write model.safetensors, `texts`, such as tokenizer.json, by the names of their files, and config.json, last."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: item.detach().cpu().contiguous() for name, item in saved_tensors(model).items()}
    write_whole(folder / PARAMETERS, lambda path: save_file(tensors, path, metadata={"format": "pt"}))
    for name, text in texts.items():
        write_text(folder / name, text)
    write_text(folder / CONFIG, json.dumps(to_table(config), indent=2) + "\n")


def read_saved(folder: Path, task: str, kind: type[Saved]) -> Saved:
    """Read what config.json says of a model for `task`; another one is an error."""
    table = read_config(folder, task)[1]
    try:
        return read_any_version(kind, table)
    except ArgumentError as error:
        raise DataError(f"{folder / CONFIG}: {error}") from error


def build_saved(build: Callable[[], Built], folder: Path) -> Built:
    """Build what config.json describes, with the parameters that the folder holds, in single precision."""
    return build_filled(build, folder).float()


def read_names(path: Path, count: int) -> list[str]:
    """Read the labels or answers of a model: so many texts, all different."""
    return read_json(path).texts(count=count)


def check_vocabulary(folder: Path, size: int, tokenizer: Tokenizer) -> None:
    """Raise where a folder's tokenizer has other tokens than its model."""
    if tokenizer.size != size:
        raise DataError(
            f"{folder / FILE} must have the {size:,} tokens of the model beside it; received {tokenizer.size:,}. Is it "
            "of another model?"
        )


@contextmanager
def whole_folder(folder: Path, task: str) -> Iterator[None]:
    """Report that a folder is not whole, where what is read from it is missing or broken."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{folder} must be a whole folder of {TASKS[task].model}; received: {error}") from error


def list_text(entries: tuple[str, ...]) -> str:
    """Write labels or answers as JSON.

    >>> list_text(("yes", "no"))
    '["yes", "no"]\\n'
    """
    return json.dumps(entries, ensure_ascii=False) + "\n"


def shared_tokenizers(folders: Sequence[Path], pairs: Sequence[TokenizerPair]) -> TokenizerPair:
    """Give the tokenizers of models that translate together, `pairs`, which must all be the same."""
    first, *others = pairs
    for folder, other in zip(folders[1:], others, strict=True):
        if other.to_json() != first.to_json():
            raise DataError(
                f"Models that translate together must share their tokenizer.json; {folder} has another than "
                f"{folders[0]}. Train the second with data.tokenizer = {folders[0]}/tokenizer.json."
            )
    return first
