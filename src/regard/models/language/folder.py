"""The folder of a language model: parameters or counts in model.safetensors, what they are in config.json."""

import json
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

import torch
from safetensors.torch import save_file

from regard import __version__
from regard.config.language import BagSpec, LanguageSpec, NGramSpec, SavedLanguageModel
from regard.config.read import read_any_version
from regard.config.show import to_table
from regard.errors import ArgumentError, DataError
from regard.files import write_text, write_whole
from regard.models.folder import (
    CONFIG,
    PARAMETERS,
    build_filled,
    load_counted,
    read_table,
    saved_tensors,
    write_arrays,
)
from regard.models.language.bag import BagModel
from regard.models.language.build import CountingModel, build_network
from regard.models.language.network import LanguageNetwork
from regard.models.language.ngram import NGramModel

Counted = TypeVar("Counted", BagModel, NGramModel)
AnyLanguageModel: TypeAlias = CountingModel | LanguageNetwork


class LoadedLanguageModel(NamedTuple):
    """A language model from a folder, in evaluation mode."""

    model: AnyLanguageModel
    config: SavedLanguageModel


def save_language_model(model: AnyLanguageModel, spec: LanguageSpec, folder: Path, *, length: int) -> None:
    """Write a model and the spec it was made from into a folder; each file is whole or is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    config = SavedLanguageModel(version=__version__, model=spec, vocabulary_size=model.vocabulary_size, length=length)
    if isinstance(model, LanguageNetwork):
        tensors = {name: item.detach().contiguous().cpu() for name, item in saved_tensors(model).items()}
        write_whole(folder / PARAMETERS, lambda path: save_file(tensors, path, metadata={"format": "pt"}))
    else:
        write_arrays(folder, model.arrays())
    text = json.dumps(to_table(config), indent=2) + "\n"
    write_text(folder / CONFIG, text)


def load_language_model(folder: Path, *, device: torch.device | str = "cpu") -> LoadedLanguageModel:
    """Build the model that a folder describes, with what it holds."""
    config = read_language_config(folder)
    match config.model:
        case BagSpec():
            return LoadedLanguageModel(_counted(BagModel, folder, config.vocabulary_size), config)
        case NGramSpec():
            return LoadedLanguageModel(_counted(NGramModel, folder, config.vocabulary_size), config)
        case spec:
            model = build_filled(lambda: build_network(spec, vocabulary_size=config.vocabulary_size), folder)
            return LoadedLanguageModel(model.to(device).eval(), config)


def is_language_model(folder: Path) -> bool:
    """Return whether a model folder holds a language model."""
    try:
        return read_table(folder).get("task") == "language"
    except DataError:
        return False


def read_language_config(folder: Path) -> SavedLanguageModel:
    """Read what a folder's config.json says, without building anything."""
    path = folder / CONFIG
    if not is_language_model(folder):
        raise DataError(f"{path} must describe a language model; received another, or none. See `regard.load`.")
    try:
        return read_any_version(SavedLanguageModel, read_table(folder))
    except ArgumentError as error:
        raise DataError(f"{path}: {error}") from error


def _counted(kind: type[Counted], folder: Path, size: int) -> Counted:
    """Read a model that counts, of so many tokens."""
    model = load_counted(kind.from_arrays, folder)
    if model.vocabulary_size != size:
        path = folder / PARAMETERS
        raise DataError(f"{path} must be of the {size:,} tokens of {CONFIG}; received {model.vocabulary_size:,}.")
    return model
