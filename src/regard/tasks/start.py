"""Start a run from another model: its parameters and tokenizers, on new data (`start`, `--from`, or `train.start`)."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from regard.config.read import check_tables, current_names, merge, read_any_version
from regard.config.show import differences, to_table
from regard.errors import ArgumentError
from regard.files import flush, remove
from regard.models.folder import CONFIG, PARAMETERS, check_finite, read_table, read_tensors, saved_tensors
from regard.tasks.model_folder import check_kind, find_model
from regard.tasks.task import TASKS
from regard.training.parameters import load_tensors
from regard.training.run import Run

Settings = TypeVar("Settings")
_COUNTED = ("statistical", "ngram", "bag", "tf-idf")
_NOT_COPIED = ("README.md", "figures.json", "step.json")


def start_settings(path: Path, task: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Give the settings of a run that starts from the model in `path`: its architecture, under those `chosen`."""
    folder = find_model(path)
    if not TASKS[task].starts:
        *names, last = [name for name in TASKS if TASKS[name].starts]
        raise ArgumentError(f"`start` must be left out for the task {task}; {', '.join(names)} and {last} take it.")
    check_kind(folder, task)
    check_tables(TASKS[task].settings, chosen)
    for part, name in (("tokenizer", ""), ("data", "tokenizer")):
        if chosen.get(part, {}) and (not name or chosen[part].get(name)):
            raise ArgumentError(
                f"`{'.'.join(filter(None, (part, name)))}` must be left out with `start`, whose model brings its own "
                "tokenizer."
            )
    below = current_names(TASKS[task].settings, {"model": read_table(folder)["model"]})
    return merge({**below, "train": {"start": str(path)}}, chosen)


def find_start(config: Any, task: str, run: Run) -> Path | None:
    """Give the model folder that a run starts from, which is copied into the run; None where it starts anew.

    So the run goes on whatever becomes of the other. One that is finished and given more steps has its own model.
    """
    path = config.train.start
    if not path:
        return None
    copied = run.folder.data / "start"
    there = [folder for folder in (copied, run.folder.best, run.folder.model) if (folder / CONFIG).is_file()]
    if not there and run.group.leads:
        _copy(find_model(path), copied)
    run.group.share_text("copied")  # the others wait for it here
    folder = there[0] if there else copied
    check_kind(folder, task)
    _check_architecture(config, folder)
    return folder


def fill_from(model: nn.Module, folder: Path, *, leaving: frozenset[str] = frozenset()) -> None:
    """Put the parameters of a model folder in place of the model's own, but for those of the names `leaving`."""
    current = saved_tensors(model)
    tensors = {
        name: item.to(current[name].dtype) if name in current else item
        for name, item in read_tensors(folder / PARAMETERS).items()
        if name not in leaving
    }
    check_finite(tensors, folder / PARAMETERS)
    load_tensors(model, tensors | {name: current[name].detach() for name in leaving})


def varying_tensors(first: nn.Module, second: nn.Module) -> frozenset[str]:
    """Name the tensors whose shapes differ between two models, such as the output layers for 2 and for 3 labels."""
    shapes = {name: item.shape for name, item in saved_tensors(second).items()}
    return frozenset(name for name, item in saved_tensors(first).items() if shapes[name] != item.shape)


def _copy(model: Path, target: Path) -> None:
    aside = target.with_name(".start-writing")
    remove(aside)
    aside.mkdir(parents=True)
    for path in model.iterdir():
        if path.is_file() and path.name not in _NOT_COPIED:
            shutil.copyfile(path, aside / path.name)
            flush(aside / path.name)
    aside.rename(target)


def _check_architecture(config: Settings, folder: Path) -> None:
    """Raise where the model that is set is not that of `folder`; dropout may differ."""
    table = to_table(config)
    saved = read_any_version(type(config), {**table, "model": read_table(folder)["model"]})
    kind = saved.model.kind  # type: ignore[attr-defined]
    start = table["train"]["start"]
    if kind in _COUNTED:
        raise ArgumentError(f"`start` must be a model that is trained step by step; {start} holds one of kind {kind}.")
    changed = [
        change.replace(" was ", " is ", 1).replace(", now ", " there, here ", 1)
        for change in differences(saved, config)
        if change.startswith("model.") and "dropout" not in change.partition(" ")[0]
    ]
    if changed:
        rest = f"; and {len(changed) - 5} more" if len(changed) > 5 else ""
        raise ArgumentError(
            f"`start` must be a model of the architecture that is set; {start} differs: {'; '.join(changed[:5])}"
            f"{rest}. Leave these settings out: the run takes those of the model it starts from."
        )
