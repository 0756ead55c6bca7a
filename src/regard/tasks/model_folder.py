"""Find the model folder that a path means, or say what is there instead."""

import hashlib
import logging
from pathlib import Path

import torch

from regard.data.untrained import FILE
from regard.errors import ArgumentError, DataError, nearest
from regard.models.folder import CONFIG, PARAMETERS
from regard.pretrained.hub import fetch, is_hub_name
from regard.pretrained.marian_tokenizers import TOKENIZER_FILES
from regard.tasks.model_kinds import saved_task
from regard.tasks.task import TASKS
from regard.training.run_folder import RunFolder


def open_model(path: str | Path) -> Path:
    """Give the model folder to load, and log which step it is of where the run has not ended."""
    folder = find_model(path)
    run = RunFolder(Path(path))
    if folder == run.best:
        logging.getLogger("regard").warning(
            "%s has not made all its steps: this is its best model so far, of step %s.", path, f"{run.best_step():,}"
        )
    return folder


def find_model(path: str | Path) -> Path:
    """Give the model folder: `path` itself, or that of the run in `path`: the best so far while it trains.

    A name of a hub, `hf:owner/name@revision`, gives the folder in the hub's cache, fetched where it is not there.
    """
    folder = fetch(str(path)) if is_hub_name(path) else Path(path)
    if (folder / CONFIG).is_file():
        return folder
    run = RunFolder(folder)
    for model in (run.best, run.model):  # a run that is given more steps has both
        if (model / CONFIG).is_file():
            return model
    raise DataError(f"`path` must be a model folder or a run folder; received {path}, {_instead(run)}")


def usable_now(path: Path) -> str:
    """Say what can be done with a run that was stopped; nothing where it has no model yet."""
    run = RunFolder(path)
    task = saved_task(run.best)
    if task is None or (step := run.best_step()) is None:
        return ""
    return f" Until then `{TASKS[task].command} {path}` uses the model of step {step:,}."


def find_device(device: torch.device | str) -> torch.device:
    """Give the device of that name; "auto" is a GPU where torch sees one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        result = torch.device(device)
        torch.empty(0, device=result)
    except (RuntimeError, AssertionError) as error:
        raise ArgumentError(
            f"`device` must be cpu, auto, or cuda where torch sees a GPU; received {device}."
        ) from error
    return result


def digest_model(folder: Path) -> str:
    """Give a number for all that decides what a model says."""
    digest = hashlib.sha256()
    named = (PARAMETERS, "model.bin", "tokenizer.json", FILE, *TOKENIZER_FILES)  # model.bin is that of an export
    for name in (CONFIG, *(name for name in named if (folder / name).is_file())):
        with (folder / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def _instead(run: RunFolder) -> str:
    path = run.path
    if path.is_file():
        return f"a file. Name the folder it is in: {path.parent}."
    if not path.exists():
        beside = [entry.name for entry in path.parent.iterdir() if entry.is_dir()] if path.parent.is_dir() else []
        close = nearest(path.name, beside[:50]) if beside else ""
        return f"which is not there. {close if close.startswith('Did') else 'Check the path.'}"
    if run.config.is_file():
        steps = run.checkpoints.steps()
        reached = f"a run that has come to step {steps[-1]:,}" if steps else "a run that has only begun"
        return (
            f"{reached} and has no model yet: the first validation makes one. The same command goes on: regard train "
            f"--out {path}; validate sooner (train.validate_every) in a run of its own."
        )
    inside = [entry for entry in sorted(path.iterdir()) if (entry / "model" / CONFIG).is_file()]
    if inside:
        return f"a folder of runs. Name one of them: {', '.join(map(str, inside[:5]))}."
    return f"a folder without {CONFIG}. `regard train --out` makes one that has it."
