"""The kinds of models that a folder may hold, and which command serves each: said wherever one of another is given."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from regard.errors import DataError
from regard.models.folder import CONFIG, read_table

Task: TypeAlias = Literal["translate", "language", "classify", "images", "questions", "captions"]


class ModelKind(NamedTuple):
    """What the models of a task are called, and the commands that use and train them."""

    name: str
    use: str
    train: str


KINDS: dict[Task, ModelKind] = {
    "translate": ModelKind("a translator", "regard translate", "regard train"),
    "language": ModelKind("a language model", "regard generate", "regard train --task language"),
    "classify": ModelKind("a text classifier", "regard classify", "regard train --task classify"),
    "images": ModelKind("an image classifier", "regard classify", "regard train --task images"),
    "questions": ModelKind("a question answerer", "regard ask", "regard train --task questions"),
    "captions": ModelKind("a captioner", "regard caption", "regard train --task captions"),
}


def saved_task(folder: Path) -> Task | None:
    """Say what the model in a folder is for; nothing where config.json does not say.

    That of a translator names its vocabularies and no task.
    """
    try:
        return _task_of(read_table(folder))
    except DataError:
        return None


def check_kind(folder: Path, *wanted: Task) -> None:
    """Raise unless a folder holds a model for one of these tasks: what is needed, what is there, and what serves it."""
    table = read_table(folder)
    task = _task_of(table)
    if task in wanted:
        return
    needed = _either([KINDS[one].name for one in wanted])
    train = _either([f"`{KINDS[one].train}`" for one in wanted])
    raise DataError(
        f"`path` must be the folder of {needed}; {folder} holds {_found(table, task)} What is needed here is trained "
        f"with {train}."
    )


def _either(names: Sequence[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _found(table: dict[str, object], task: Task | None) -> str:
    if task is not None:
        return f"{KINDS[task].name}. Use `{KINDS[task].use}` with it."
    if "model_type" in table:
        return "a Hugging Face model. Use `regard inspect` with it."
    return f"a {CONFIG} that does not say what it is for."


def _task_of(table: dict[str, object]) -> Task | None:
    if "task" not in table:
        return "translate" if "source_vocabulary" in table else None
    return next((task for task in KINDS if task == table["task"]), None)
