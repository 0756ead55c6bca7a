"""A model folder into a repository of a hub: the files that make it a model folder, and none else."""

from pathlib import Path
from typing import Any

from regard.errors import ArgumentError, DataError, join_names
from regard.files import read_bytes
from regard.models.folder import open_tensors
from regard.pretrained.hub import FILES, TENSORS, HubName, hub_errors, is_hub_name, parse_hub_name, require_hub
from regard.tasks.model_folder import find_model

CARD = "README.md"
_CARD_BYTES = 1 << 20


def push(
    path: str | Path,
    repository: str,
    *,
    revision: str = "main",
    message: str = "Model of regard",
    private: bool = False,
    endpoint: str | None = None,
) -> HubName:
    """Put the model of a folder into a repository, made where there is none, and give its name with the commit.

    One commit holds all files, so that nobody fetches half a model. Who you are is what `huggingface_hub` knows: its
    login, or its own settings. `endpoint` is the address of the hub; by default that of `huggingface_hub`.
    """
    name = _name(repository, revision)
    if is_hub_name(path):
        raise ArgumentError(f"`path` must be a folder of this machine; received {path}, which is on a hub already.")
    files = list_files(find_model(path))
    hub = require_hub()
    api = hub.HfApi(endpoint=endpoint, library_name="regard")
    with hub_errors(name):
        api.create_repo(name.repository, private=private, exist_ok=True)
        operations = [hub.CommitOperationAdd(path_in_repo=file.name, path_or_fileobj=str(file)) for file in files]
        commit: Any = api.create_commit(name.repository, operations, commit_message=message, revision=revision)
    return HubName(name.repository, str(commit.oid))


def list_files(folder: Path) -> list[Path]:
    """List what of a model folder goes to a hub; what is no model, too large or a link to elsewhere is an error."""
    files = [folder / name for name in FILES if (folder / name).is_file()]
    missing = [name for name in ("config.json", TENSORS) if folder / name not in files]
    if missing:
        raise DataError(
            f"{folder} must be a model folder with config.json and {TENSORS}; it lacks {join_names(missing)}."
        )
    if links := [file.name for file in files if file.is_symlink()]:
        raise DataError(f"{folder} must hold plain files; received links: {join_names(links)}. Copy what they name.")
    with open_tensors(folder / TENSORS):
        pass  # it is a file of tensors
    if (folder / CARD).is_file() and not (folder / CARD).is_symlink():
        read_bytes(folder / CARD, most=_CARD_BYTES)
        files.append(folder / CARD)
    return files


def _name(repository: str, revision: str) -> HubName:
    """Read owner/name, with or without hf: before it."""
    try:
        return parse_hub_name(f"hf:{repository.removeprefix('hf:')}@{revision}")
    except ArgumentError as error:
        raise ArgumentError(
            f"`repository` must be owner/name, of letters, digits, '-', '_' and '.'; received {repository}."
        ) from error
