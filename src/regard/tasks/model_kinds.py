"""The kinds of models that a folder may hold, and which command serves each: named wherever one of another is given."""

from collections.abc import Sequence
from pathlib import Path

from regard.errors import DataError
from regard.models.folder import CONFIG, read_table
from regard.tasks.task import TASKS


def saved_task(folder: Path) -> str | None:
    """Say what the model in a folder is for; nothing where config.json does not say.

    That of a translator names its vocabularies and no task; a Marian model of transformers is one too.
    """
    try:
        return _task_of(read_table(folder))
    except DataError:
        return None


def check_kind(folder: Path, *wanted: str) -> None:
    """Raise unless a folder holds a model for one of these tasks: what is needed, what is there, and what serves it."""
    table = read_table(folder)
    task = _task_of(table)
    if task in wanted:
        return
    needed = _either([TASKS[name].model for name in wanted])
    train = _either([f"`{TASKS[name].training_command}`" for name in wanted])
    raise DataError(
        f"`path` must be the folder of {needed}; {folder} holds {_found(table, task)} What is needed here is trained "
        f"with {train}."
    )


def _either(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _found(table: dict[str, object], task: str | None) -> str:
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
