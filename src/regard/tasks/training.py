"""The recipe of a run, for every task: compose, gather, compose for the data, begin or go on, train, figures.

`regard.train` is here; `regard train` of the command line takes the same way, and shows it.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch

from regard.config.read import check_tables, merge
from regard.config.show import to_table
from regard.errors import ArgumentError, ArgumentTypeError, RegardError
from regard.tasks.load import load
from regard.tasks.progress import Display, Progress, ProgressLine, Reporting
from regard.tasks.recipe import read_recipe
from regard.tasks.start import start_settings
from regard.tasks.task import Gathered, Table, Task, all_settings, data_settings, find_task
from regard.training.group import check_shared, joined_group
from regard.training.interruption import Interruption, listening
from regard.training.run import Run, Trained
from regard.training.run_folder import RunFolder
from regard.training.streams import capture_streams, restore_streams

_OF_NEW_RUNS = ("data", "source", "target", "preset", "start")
"""Arguments of `train` that a run which goes on by its folder alone does not take."""


def train(
    task: str = "",
    *,
    out: str | Path,
    recipe: str | Path = "",
    data: str | Path | Sequence[str | Path] = "",
    source: str | Path = "",
    target: str | Path = "",
    preset: str = "",
    start: str | Path = "",
    steps: int | None = None,
    settings: Mapping[str, Any] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Any:
    """Train a model of a task, or go on with a run that was stopped, and load it: what `regard.load(out)` gives.

    - `task`: translate, language, classify, images, questions, captions or align; nothing for the run that `out`
      holds, with its own settings.
    - `recipe`: a TOML file that holds all of a run, such as recipes/multi30k-en-de.toml; all else goes over it.
    - `out`: the run folder. A run that is finished there is loaded; one that was stopped goes on.
    - `data`: a corpus: file, folder, pattern, hf:NAME or builtin:NAME, or several files. A translator may take two
      plain files instead, `source` and `target`.
    - `preset`: a named model of the task, such as bahdanau; without one, what suits the data.
    - `start`: a model or run folder whose parameters and tokenizers the run starts from: fine-tuning on new data. The
      architecture is that of this model.
    - `steps`: updates, at most; without them, what suits the data.
    - `settings`: any others under their dotted keys, such as {"train.seed": 2, "train.device": "cuda"}, or as tables,
      as a TOML file gives them. `regard train --task TASK --print-config` lists them.
    - `on_progress`: called with a `Progress`, which has step, steps, loss, seconds and valid, the figures of a
      validation, some dozens of times. What it raises ends the run. Without it, one line shows how far the run is on a
      terminal and in a notebook; in scripts whose output goes elsewhere nothing is written.

    Ctrl-C stops after the step, saves a checkpoint and raises `regard.errors.Interrupted`; the same call goes on. A
    second Ctrl-C stops at once, and what was learned since the last checkpoint is lost.

    In a script that torchrun runs, the model is given to the first process alone, and None to the others.
    """
    if on_progress is not None and not callable(on_progress):
        raise ArgumentTypeError(f"`on_progress` must be a function of a report; received {on_progress!r}.")
    files = [data] if isinstance(data, str | Path) else data or ()
    named = data_settings([str(file) for file in files if str(file)], str(source or ""), str(target or ""))
    chosen = _join_settings({"data": named} if named else {}, {} if steps is None else {"train": {"steps": steps}})
    chosen = _join_settings(chosen, read_keys(settings or {}))
    call: dict[str, Any] = {
        "recipe": recipe,
        "data": data,
        "source": source,
        "target": target,
        "out": out,
        "preset": preset,
    }
    call |= {"start": start, "steps": steps}
    if recipe:
        read = read_recipe(recipe, task=task)
        task, preset, chosen = read.task, preset or read.preset, read.prepare(chosen)
    elif not task:
        task, before = _continued_run(Path(out), [name for name in _OF_NEW_RUNS if call[name]])
        chosen = merge(before, chosen)
    chosen = start_run_from(start, task, chosen, preset)
    with _restoring(), ExitStack() as ending:
        if on_progress is None:
            display: Display = ending.enter_context(_closing(ProgressLine()))
        else:
            display = Reporting(on_progress)
        command = _spell_call(task, {**call, "settings": dict(settings or {})})
        trained = train_task(find_task(task), chosen, Path(out), preset=preset, display=display, command=command)
    return load(out) if trained.figures else None


def settings_of_run(out: Path) -> tuple[str, dict[str, Any]]:
    """Give the task and the settings of the run in a folder, with files named from here; none where it holds no run."""
    run = RunFolder(out)
    task = run.task(all_settings())
    return (task, to_table(run.read_settings(find_task(task).settings))) if task else ("", {})


def _continued_run(out: Path, named: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Give the task and the settings of the run that goes on; raise where arguments of a new run are `named` too."""
    task, settings = settings_of_run(out)
    if not task:
        raise ArgumentError(f"`task` must be named for a new run, such as translate; {out} holds no run to go on with.")
    if named:
        raise ArgumentError(
            f"`task` must be named together with `{named[0]}`; received nothing. The run in {out}, of the task {task}, "
            "goes on by `out` alone."
        )
    return task, settings


def start_run_from(start: str | Path, task: str, chosen: Table, preset: str) -> dict[str, Any]:
    """Give the settings of a run that starts from the model in a folder; those `chosen` where none is named."""
    if not start:
        return dict(chosen)
    if preset:
        raise ArgumentError(
            f"`preset` must be left out with `start`, whose model is trained further; received {preset}."
        )
    return start_settings(Path(start), task, chosen)


def train_task(
    task: Task[Any, Any, Any],
    chosen: Table,
    out: Path,
    *,
    preset: str = "",
    display: Display,
    command: str = "",
) -> Trained:
    """Train with the settings `chosen` laid over those of `preset`, into the run folder `out`; the recipe itself.

    `command` is what the model card tells to repeat it.
    """
    check_files(task, chosen)
    config = task.compose(chosen, task.typical, preset)  # mistakes before any work
    display.noted(task.opening(config))
    count = partial(display.count, unit=task.counted)
    gathered = task.gather(config, chosen, count)
    for report in gathered.reports:
        if report.dropped:
            display.noted(str(report))
    suited, why = ("", "") if preset else task.suit(chosen, gathered.size)
    if why:
        display.noted(why)
    config = RunFolder(out).with_limits(_compose_for(task, chosen, preset or suited, gathered))
    display.noted(task.describe(config, gathered.corpus))
    display.limit(config.train.minutes)
    with _begun(config, gathered, out, display) as (folder, group), _interruptible() as interruption:
        run = Run(folder=folder, command=command, watcher=display, group=group, interruption=interruption)
        return task.train(config, gathered.corpus, run, count)


def find_settings(task: Task[Any, Any, Any], chosen: Table, preset: str) -> Any:
    """Give the settings of a run on the data that is named, or on data of the task's typical size."""
    check_files(task, chosen)
    config = task.compose(chosen, task.typical, preset or task.suit(chosen, task.typical)[0])
    if not task.needs_data(config):
        return config
    gathered = task.gather(config, chosen, _count_nothing)
    return _compose_for(task, chosen, preset or task.suit(chosen, gathered.size)[0], gathered)


def check_files(task: Task[Any, Any, Any], chosen: Table) -> None:
    """Raise where two files, or several, are named for a task that takes one corpus."""
    check_tables(task.settings, chosen)
    if not task.several and (more := chosen.get("data", {}).get("more")):
        received = f"{chosen['data'].get('corpus', '')} and {', '.join(more)}"
        raise ArgumentError(f"`data` must be named once for {task.model}; received {received}.")
    for name in ("source", "target"):
        if not task.pairs and name in chosen.get("data", {}):
            raise ArgumentError(
                f"`{name}` must be left out for {task.model}, which takes one corpus, `data`; received "
                f"{chosen['data'][name]}."
            )


def read_keys(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Turn dotted keys into tables; tables stay as they are.

    >>> read_keys({"train.seed": 2, "train.schedule.rate": 1e-3})
    {'train': {'seed': 2, 'schedule': {'rate': 0.001}}}
    """
    tables: dict[str, Any] = {}
    for key, value in settings.items():
        if not isinstance(key, str):
            raise ArgumentTypeError(f'`settings` must have keys of text, such as "train.seed"; received {key!r}.')
        *outer, last = key.split(".")
        table: dict[str, Any] = {last: read_keys(value) if isinstance(value, Mapping) else value}
        for name in reversed(outer):
            table = {name: table}
        tables = _join_settings(tables, table)
    return tables


def _join_settings(first: Table, second: Table, at: str = "") -> dict[str, Any]:
    """Lay tables over one another; a setting that both have, with other values, is an error."""
    for key, value in second.items():
        before = first.get(key, value)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            _join_settings(before, value, f"{at}{key}.")
        elif before != value:
            raise ArgumentError(f"{at}{key}: must be set once; received {before!r} and {value!r}.")
    return merge(first, second)


def _compose_for(task: Task[Any, Any, Any], chosen: Table, preset: str, gathered: Gathered[Any, Any]) -> Any:
    if gathered.data is not None:
        chosen = {**chosen, "data": gathered.data}
    return task.compose(chosen, gathered.size, preset)


@contextmanager
def _begun(config: Any, gathered: Gathered[Any, Any], out: Path, display: Display) -> Iterator[tuple[RunFolder, Any]]:
    """Join the processes of torchrun, if any, and let the first begin the folder, or all refuse it."""
    folder = RunFolder(out)
    with joined_group(config.train.device) as group, folder.locked() if group.leads else nullcontext():
        problem = note = ""
        if group.leads:
            try:
                note = folder.begin(config, gathered.fingerprint(), tasks=all_settings())
            except RegardError as error:
                problem = str(error)
        problem = group.share_text(problem or "-")
        if problem != "-":
            raise ArgumentError(problem)
        check_shared(folder.config, group)
        if note:
            display.noted(note)
        yield folder, group


@contextmanager
def _interruptible() -> Iterator[Interruption | None]:
    """Listen to Ctrl-C and SIGTERM; in a thread that is not the first, Python lets nobody do so."""
    if threading.current_thread() is not threading.main_thread():
        yield None
        return
    with listening() as interruption:
        yield interruption


@contextmanager
def _restoring() -> Iterator[None]:
    """Leave random streams and the number of threads, which training sets, as they were."""
    device = torch.device("cuda") if torch.cuda.is_initialized() else None
    streams, threads = capture_streams(device), torch.get_num_threads()
    try:
        yield
    finally:
        restore_streams(*streams, device)
        torch.set_num_threads(threads)


@contextmanager
def _closing(line: ProgressLine) -> Iterator[ProgressLine]:
    try:
        yield line
    finally:
        line.close()


def _spell_call(task: str, arguments: Mapping[str, Any]) -> str:
    """Give the call of `train` for the model card, without what was left out."""
    parts = [f"{name}={_plain(value)!r}" for name, value in arguments.items() if value]
    return f"regard.train({', '.join([repr(task), *parts])})"


def _plain(value: Any) -> Any:
    """Give a value as it can be typed: paths as text, sequences as lists."""
    match value:
        case Path():
            return str(value)
        case str():
            return str(value)
        case Mapping():
            return {name: _plain(item) for name, item in value.items()}
        case Sequence():
            return [_plain(item) for item in value]
    return value


def _count_nothing(doing: str, done: int, *, total: int | None = None) -> None:
    """Show nothing."""
