"""What a task is: one value that the command line, `regard.train`, run folders and model folders all read.

Each folder `tasks/NAME/` holds such a value in its task.py, under the name `TASK`; `TASKS` lists the folders. Nothing
of a task is imported before it is asked for, so that `import regard` and `regard --help` need no torch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar, runtime_checkable

from regard.errors import ArgumentError, near_miss, nearest, plural

if TYPE_CHECKING:
    from regard.data.corpora.report import Report
    from regard.training.run import Run, Trained

Settings = TypeVar("Settings")
Corpus = TypeVar("Corpus")
Size = TypeVar("Size")
Preset = TypeVar("Preset")
Table: TypeAlias = Mapping[str, Any]
"""Settings as nested tables, such as {"train": {"steps": 500}}."""
Figures: TypeAlias = Mapping[str, float]


@runtime_checkable
class Count(Protocol):
    """Receives how far the work before training is."""

    def __call__(self, doing: str, done: int, *, total: int | None = None) -> None:
        """Take note that `done`, of `total` where that is known, are done."""


@dataclass(frozen=True, kw_only=True)
class Gathered(Generic[Corpus, Size]):
    """The data of a run, and what the recipe must know of it."""

    corpus: Corpus
    size: Size
    """How much there is to train on; settings that were not chosen follow from it."""
    fingerprint: Callable[[], str]
    """Gives the checksum by which a run that goes on knows its data."""
    reports: "Sequence[Report]" = ()
    """What was left out on reading."""
    data: Table | None = None
    """The settings of `data` where reading has decided some of them, such as the shares held out."""


@dataclass(frozen=True, kw_only=True)
class Task(Generic[Settings, Corpus, Size]):
    """A task: its settings, its data, how it is trained, and what is shown of it."""

    name: str
    """As in `--task`, and in the config.json of its models."""
    model: str
    """What its models are called, with an article."""
    command: str
    """The command that uses such a model."""
    summary: str
    """What it reads and what it trains, in a line."""
    settings: type[Settings]
    """What config.toml of a run holds."""
    presets: Mapping[str, str]
    """The named models, with a line on each."""
    typical: Size
    """The size of data that settings are shown for where none is named."""
    compose: Callable[[Table, Size, str], Settings]
    """Lays the chosen settings over those of a preset, and over those that suit the size of the data."""
    gather: Callable[[Settings, Table, Count], Gathered[Corpus, Size]]
    """Reads the data that settings name; given too are the settings as they were chosen."""
    describe: Callable[[Settings, Corpus], str]
    """Describes data and model in a sentence, before training."""
    train: "Callable[[Settings, Corpus, Run, Count], Trained]"
    """Trains, or goes on, and writes model folder, card and report."""
    conclude: "Callable[[Trained, str], str]"
    """Gives the figures of a side, test or valid, in a sentence."""
    load: Callable[..., Any]
    """Loads a model folder; takes the path, and `device`."""
    needs_data: Callable[[Settings], bool]
    """Whether settings name data on whose size others depend."""
    opening: Callable[[Settings], str] = lambda settings: "reading the data"
    """What is done first, in a few words."""
    counted: str = "pairs"
    """What `gather` counts."""
    rated: str = "tokens"
    """What is counted a second in training."""
    validation: Callable[[Figures], str] | None = None
    """Gives the figures of a validation in a line; None for each by its name."""
    table: Callable[[Figures, str], tuple[Sequence[str], Sequence[Sequence[str]]]] | None = None
    """Gives the head and the rows of a table of figures of a side, where a sentence is not enough."""
    suit: Callable[[Table, Size], tuple[str, str]] = lambda chosen, size: ("", "")
    """Names the preset that suits data and machine where none is chosen, and why, where a user should know."""
    pairs: bool = False
    """Whether the data may be two files, source and target."""
    several: bool = False
    """Whether several files, or a folder or pattern of them, are one corpus."""
    starts: bool = False
    """Whether a run may start from the parameters of another run's model."""

    @property
    def training_command(self) -> str:
        """The command that trains such a model."""
        return "regard train" if self.name == DEFAULT else f"regard train --task {self.name}"


DEFAULT = "translate"
"""The task of `regard train` where none is named."""


class _Tasks(Mapping[str, Task[Any, Any, Any]]):
    """The tasks by name; each is imported when it is asked for."""

    def __init__(self, folders: Mapping[str, str]) -> None:
        self._folders = folders

    def __getitem__(self, name: str) -> Task[Any, Any, Any]:
        task: Task[Any, Any, Any] = import_module(f"regard.tasks.{self._folders[name]}.task").TASK
        return task

    def __contains__(self, name: object) -> bool:
        return name in self._folders

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __len__(self) -> int:
        return len(self._folders)


TASKS: Mapping[str, Task[Any, Any, Any]] = _Tasks(
    {
        "translate": "translation",
        "language": "language",
        "classify": "classification",
        "images": "images",
        "questions": "questions",
        "captions": "captions",
        "align": "alignment",
    }
)
"""Every task, by its name: the folder that it lies in."""


def all_settings() -> dict[str, type]:
    """Give the settings class of every task, by its name."""
    return {name: task.settings for name, task in TASKS.items()}


def data_settings(data: Sequence[str], source: str = "", target: str = "") -> dict[str, Any]:
    """Give the settings of `data` that name these corpora, in a fixed order, or these two files.

    >>> data_settings(["b.tsv", "a.tsv"])
    {'corpus': 'a.tsv', 'more': ['b.tsv']}
    """
    first, *more = sorted(set(data)) or [""]
    named = (("corpus", first), ("more", more), ("source", source), ("target", target))
    return {name: value for name, value in named if value}


def find_task(name: str) -> Task[Any, Any, Any]:
    """Give the task of that name.

    >>> find_task("clasify")
    Traceback (most recent call last):
    regard.errors.ArgumentError: `task` must be translate, language, ... received clasify. Did you mean classify?
    """
    if name not in TASKS:
        *most, last = TASKS
        raise ArgumentError(f"`task` must be {', '.join(most)} or {last}; received {name}.{near_miss(name, TASKS)}")
    return TASKS[name]


def find_preset(name: str, presets: Mapping[str, Preset], *, of: str) -> Preset:
    """Give a named model of a task; `of` says what such a model is.

    >>> find_preset("lstn", {"lstm": 1, "gru": 2}, of="a classifier")
    Traceback (most recent call last):
    regard.errors.ArgumentError: `preset` must be the name of a classifier; received "lstn". Did you mean lstm?
    """
    if name not in presets:
        raise ArgumentError(f'`preset` must be the name of {of}; received "{name}". {nearest(name, presets)}')
    return presets[name]


def side_name(side: str) -> str:
    """Give the word for a side of the data, test or valid."""
    return "validation" if side == "valid" else side


def time_spent(figures: Figures) -> str:
    """Give the time that a run took; a model that is counted takes no steps.

    >>> time_spent({"steps": 0, "seconds": 3.2}), time_spent({"steps": 1200, "seconds": 90.0})
    ('counted in 3 s', '1,200 steps in 90 s')
    """
    steps = int(figures.get("steps", 0))
    return f"{plural(steps, 'step') + ' ' if steps else 'counted '}in {figures['seconds']:,.0f} s"


def label_sentence(trained: "Trained", side: str) -> str:
    """Give the figures of a classifier, of texts or images, in a sentence."""
    figures = trained.figures
    return (
        f"accuracy {100 * figures[f'{side}_accuracy']:.2f} %, macro-F1 {100 * figures[f'{side}_macro_f1']:.2f}, "
        f"calibration error {figures[f'{side}_calibration_error']:.4f} ({side_name(side)}); {time_spent(figures)}"
    )


def label_validation(figures: Figures) -> str:
    """Give the figures of a validation of labels in a line."""
    return f"accuracy {100 * figures['accuracy']:.2f} %  macro-F1 {100 * figures['macro_f1']:.2f}"


def picture_validation(figures: Figures) -> str:
    """Give the shares that are right, of each kind where there are several, and BLEU where it was measured."""
    shares = "  ".join(f"{name} {100 * value:.1f} %" for name, value in figures.items() if name != "bleu")
    return f"{shares}  BLEU {figures['bleu']:.2f}" if "bleu" in figures else shares
