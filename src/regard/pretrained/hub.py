"""Model folders on a hub of Hugging Face: `hf:owner/name` or `hf:owner/name@revision`.

Only files that a model folder consists of are fetched, into the cache of `huggingface_hub`, where they serve without
the network too. What is fetched is as untrusted as any folder: no file of another kind, no pickle, nothing in folders,
and no file larger than what reads it would accept.
"""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from regard.errors import ArgumentError, DataError, MissingExtraError, RegardError, brief, join_names
from regard.files import LARGE, SMALL

PREFIX = "hf:"
TENSORS = "model.safetensors"
MOST_BYTES = 1 << 36
"""Of model.safetensors."""
FILES = {
    "config.json": SMALL,
    TENSORS: MOST_BYTES,
    "tokenizer.json": LARGE,
    "untrained.json": LARGE,
    "labels.json": SMALL,
    "answers.json": SMALL,
    "figures.json": SMALL,
    "source.spm": LARGE,
    "target.spm": LARGE,
    "vocab.json": LARGE,
    "target_vocab.json": LARGE,
}
"""The files of model folders, and how many bytes each may have."""
_NAME = re.compile(r"hf:(?P<repository>[\w.-]{1,96}/[\w.-]{1,96})(?:@(?P<revision>[\w./-]{1,200}))?", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")


class HubName(NamedTuple):
    """A repository of models, and the revision: a branch, a tag or a commit."""

    repository: str
    revision: str | None

    def __str__(self) -> str:
        return f"{PREFIX}{self.repository}" + (f"@{self.revision}" if self.revision else "")


def is_hub_name(path: object) -> bool:
    """Say whether a model is named by a hub."""
    return isinstance(path, str | Path) and str(path).startswith(PREFIX)


def parse_hub_name(text: str) -> HubName:
    """Read `hf:owner/name@revision`.

    >>> parse_hub_name("hf:Helsinki-NLP/opus-mt-es-en@main")
    HubName(repository='Helsinki-NLP/opus-mt-es-en', revision='main')
    """
    matched = _NAME.fullmatch(text)
    if matched is None or ".." in text or "//" in text or "@/" in text:
        raise ArgumentError(
            f"`path` must be hf:owner/name or hf:owner/name@revision; received {brief(text)}. Owner and name are of "
            "letters, digits, '-', '_' and '.'."
        )
    return HubName(matched["repository"], matched["revision"])


def fetch(text: str, *, endpoint: str | None = None, cache: Path | None = None) -> Path:
    """Give the folder of a repository in the cache, fetched where it is not there.

    Without a revision it is that of the branch main, and a warning says which commit that is: the next visit may bring
    another one. A commit that is in the cache is used without asking the hub; so is the last one known, where the hub
    cannot be reached.

    - `endpoint`: the address of the hub; by default that of `huggingface_hub`.
    - `cache`: where to keep files; likewise.
    """
    name = parse_hub_name(text)
    hub = require_hub()
    settings = {"repo_id": name.repository, "endpoint": endpoint, "cache_dir": cache, "library_name": "regard"}
    with hub_errors(name):
        if name.revision and _COMMIT.fullmatch(name.revision):
            try:
                return _whole(Path(_snapshot(hub, settings, name.revision, local=True)))
            except (hub.errors.LocalEntryNotFoundError, DataError):
                pass
        try:
            commit, files = _list(hub.HfApi(endpoint=endpoint, library_name="regard"), name)
        except (hub.errors.OfflineModeIsEnabled, *_unreachable()) as error:
            return _known(hub, settings, name, error)
        _check(name, files)
        folder = Path(_snapshot(hub, settings, commit, local=False))
        _remember(hub, settings, name, commit)
    if name.revision != commit:
        logging.getLogger("regard").warning(
            "%s is commit %s. To load the same again: %s.", name, commit, _pinned(name, commit)
        )
    return folder


def require_hub() -> Any:
    """Import huggingface_hub, or say how to install it."""
    try:
        import huggingface_hub
    except ImportError as error:
        raise MissingExtraError(
            "Models on a hub need the package huggingface_hub, which is not installed. Install it: "
            "pip install 'regard[hub]'."
        ) from error
    return huggingface_hub


@contextmanager
def hub_errors(name: HubName) -> Iterator[None]:
    """Say in one error what a hub answers."""
    hub = require_hub()
    try:
        yield
    except RegardError:
        raise
    except (hub.errors.RepositoryNotFoundError, hub.errors.GatedRepoError) as error:
        raise DataError(
            f"{name} must be a repository that you may read; the hub has none of that name, or not for you. Check the "
            "name, or log in: hf auth login."
        ) from error
    except hub.errors.RevisionNotFoundError as error:
        raise DataError(f"{name} must name a branch, tag or commit of the repository; the hub has none.") from error
    except hub.errors.HfHubHTTPError as error:
        raise DataError(f"{name} must be a repository that the hub gives; it answers: {_first_line(error)}") from error
    except (hub.errors.HFValidationError, hub.errors.LocalEntryNotFoundError, *_unreachable()) as error:
        raise DataError(f"{name} must be in the cache or on a hub that can be reached: {_first_line(error)}") from error
    except (LookupError, ValueError, TypeError, AttributeError) as error:  # of answers that are none
        raise DataError(f"{name} must be on a hub that speaks its protocol; it answers something else.") from error


def _snapshot(hub: Any, settings: dict[str, Any], revision: str, *, local: bool) -> str:
    bars = hub.utils.are_progress_bars_disabled()
    hub.utils.disable_progress_bars()
    try:
        folder: str = hub.snapshot_download(
            **settings, revision=revision, allow_patterns=list(FILES), local_files_only=local, max_workers=2
        )
    finally:
        if not bars:
            hub.utils.enable_progress_bars()
    return folder


def _list(api: Any, name: HubName) -> tuple[str, dict[str, int]]:
    """Ask the hub for the commit of a revision, and for its files with their sizes."""
    known = api.model_info(name.repository, revision=name.revision or "main", files_metadata=True)
    if not isinstance(known.sha, str) or not _COMMIT.fullmatch(known.sha):
        raise DataError(f"{name} must have a commit of 40 hexadecimal digits; the hub answers {brief(known.sha)}.")
    sizes = {
        item.rfilename: item.size if isinstance(item.size, int) else MOST_BYTES + 1 for item in known.siblings or ()
    }
    return known.sha, {file: size for file, size in sizes.items() if file in FILES}


def _check(name: HubName, files: dict[str, int]) -> None:
    """Raise where the repository is no model folder, or has files of no sane size."""
    if missing := [file for file in ("config.json", TENSORS) if file not in files]:
        raise DataError(
            f"{name} must hold config.json and {TENSORS}, the only format of tensors that is read; it lacks "
            f"{join_names(missing)}. Another revision may have it: {PREFIX}{name.repository}@refs/pr/1."
        )
    for file, size in files.items():
        if size > FILES[file]:
            raise DataError(f"{name}: {file} must have at most {FILES[file]:,} bytes; the hub names {size:,}.")


def _known(hub: Any, settings: dict[str, Any], name: HubName, error: Exception) -> Path:
    """Give what the cache has of a revision while the hub cannot be reached."""
    try:
        folder = _whole(Path(_snapshot(hub, settings, name.revision or "main", local=True)))
    except (hub.errors.LocalEntryNotFoundError, DataError):
        raise DataError(
            f"{name} must be in the cache while the hub cannot be reached; it is not there ({_first_line(error)}). "
            "Load it once with the network."
        ) from error
    logging.getLogger("regard").warning("%s: the hub cannot be reached; using %s from the cache.", name, folder.name)
    return folder


def _remember(hub: Any, settings: dict[str, Any], name: HubName, commit: str) -> None:
    """Note in the cache which commit a branch was at, as `huggingface_hub` does where it is asked for the branch."""
    from huggingface_hub.file_download import repo_folder_name

    cache = Path(settings["cache_dir"] or hub.constants.HF_HUB_CACHE)
    note = cache / repo_folder_name(repo_id=name.repository, repo_type="model") / "refs" / (name.revision or "main")
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(commit, encoding="utf-8")


def _whole(folder: Path) -> Path:
    if not (folder / "config.json").is_file() or not (folder / TENSORS).is_file():
        raise DataError(f"{folder} must hold config.json and {TENSORS}; received a part of them.")
    return folder


def _pinned(name: HubName, commit: str) -> str:
    return str(HubName(name.repository, commit))


def _unreachable() -> tuple[type[Exception], ...]:
    """List what stands for a hub that cannot be reached, in whatever way the package speaks to it."""
    kinds: list[type[Exception]] = [ConnectionError, TimeoutError]
    for package in ("httpx", "httpx2", "requests"):
        try:
            module = __import__(package)
        except ImportError:
            continue
        kinds.append(getattr(module, "TransportError", None) or module.RequestException)
    return tuple(kinds)


def _first_line(error: Exception) -> str:
    return brief(next(iter(str(error).strip().splitlines()), type(error).__name__), letters=200)
