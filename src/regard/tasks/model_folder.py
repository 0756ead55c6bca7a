"""Find the model folder that a path means and the task of its model, or say what is there instead."""

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.data.untrained import FILE
from regard.decoding.shortlist import FILE as SHORTLIST
from regard.errors import DataError, nearest
from regard.models.folder import CONFIG, PARAMETERS, read_table
from regard.pretrained.hub import fetch, is_hub_name
from regard.pretrained.marian_tokenizers import TOKENIZER_FILES
from regard.pretrained.shipped import shipped_folder, shipped_names
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

    A name of a hub, `hf:owner/name@revision`, gives the folder in the hub's cache, fetched where it is not there. The
    name of a model that comes with the package gives that one, unless there is a folder of that name.
    """
    folder = fetch(str(path)) if is_hub_name(path) else Path(path)
    if not folder.exists():
        folder = shipped_folder(path) or folder
    if (folder / CONFIG).is_file():
        return folder
    run = RunFolder(folder)
    for model in (run.best, run.model):  # a run that is given more steps has both
        if (model / CONFIG).is_file():
            return model
    raise DataError(f"`path` must be a model folder or a run folder; received {path}, {_instead(run)}")


def usable_now(path: Path) -> str:
    """Describe what can be done with a run that was stopped; nothing where it has no model yet."""
    run = RunFolder(path)
    task = saved_task(run.best)
    if task is None or (step := run.best_step()) is None:
        return ""
    return f" Until then `{TASKS[task].command} {path}` uses the model of step {step:,}."


def saved_task(folder: Path) -> str | None:
    """Give the task of the model in a folder; nothing where config.json names none.

    That of a translator names its vocabularies and no task; a Marian model of transformers is one too.
    """
    try:
        return _task_of(read_table(folder))
    except DataError:
        return None


def read_config(folder: Path, *tasks: str) -> tuple[str, dict[str, Any]]:
    """Give the task of the model in a folder, and what its config.json holds; raise unless it is one of `tasks`.

    The error names what is needed, what is there, and which command uses that.
    """
    table = read_table(folder)
    task = _task_of(table)
    if task is not None and task in tasks:
        return task, table
    needed = _either([TASKS[name].model for name in tasks])
    train = _either([f"`{TASKS[name].training_command}`" for name in tasks])
    raise DataError(
        f"`path` must be the folder of {needed}; {folder} holds {_describe(table, task)} What is needed here is "
        f"trained with {train}."
    )


def check_kind(folder: Path, *tasks: str) -> str:
    """Give the task of the model in a folder; raise unless it is one of `tasks`."""
    return read_config(folder, *tasks)[0]


def digest_model(folder: Path) -> str:
    """Give a number for all that decides what a model outputs."""
    digest = hashlib.sha256()
    # model.bin is that of an export.
    named = (PARAMETERS, "model.bin", "tokenizer.json", FILE, SHORTLIST, *TOKENIZER_FILES)
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
        beside = [*(shipped_names() if path.name == str(path) else []), *beside[:50]]
        close = nearest(path.name, beside) if beside else ""
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


def _either(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _describe(table: dict[str, object], task: str | None) -> str:
    if task is not None:
        return f"{TASKS[task].model}. Use `{TASKS[task].command}` with it."
    if "model_type" in table:
        return "a Hugging Face model. Use `regard inspect` with it."
    return f"a {CONFIG} that does not say what it is for."


def _task_of(table: dict[str, object]) -> str | None:
    if "task" not in table:
        marian = table.get("model_type") == "marian"  # of transformers, read by `regard.pretrained`
        return "translate" if "source_vocabulary" in table or marian else None
    return next((name for name in TASKS if name == table["task"]), None)
