"""The models that a studio has open: each loaded once, used by one visitor at a time."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import torch
from starlette.requests import Request

from regard.errors import ArgumentError, ArgumentTypeError, DataError, RegardError, nearest, with_article
from regard.inspection.hugging_face.folder import is_hugging_face
from regard.models.folder import CONFIG
from regard.studio.examples import examples_for
from regard.studio.picture_models import PatchClassifier, open_patch_classifier, sees_pictures
from regard.studio.preparing import SYSTEM, Preparation, cache_folder
from regard.studio.schema.overview import Example, Kind, ModelInfo, Overview
from regard.studio.text_models import TextModel, open_hugging_face
from regard.studio.turns import Answer, Turns
from regard.tasks.alignment.model import WordAligner
from regard.tasks.captions.model import Captioner
from regard.tasks.classification.model import Classifier
from regard.tasks.images.model import ImageClassifier
from regard.tasks.language.model import LanguageModel
from regard.tasks.load import load
from regard.tasks.model_folder import saved_task
from regard.tasks.questions.model import QuestionAnswerer
from regard.tasks.task import TASKS
from regard.tasks.translation.model import Translator
from regard.training.run_folder import RunFolder

Thing = TypeVar("Thing")
QUIET = 180.0
"""Seconds without a line after which a run counts as stopped."""


class Opened(NamedTuple):
    """A model under the name the page knows it by."""

    name: str
    kind: Kind
    thing: Any
    about: ModelInfo
    """What the page shows of it."""
    folder: Path
    """Where it came from, as named at the start."""
    turns: Turns
    """Who uses the model, one at a time: recording and intervening act on the model itself."""
    step: int | None = None
    """Of which step it is, where it is the best so far of a run that has not made all its steps."""

    async def ask(self, request: Request, question: Callable[[Any], Answer]) -> Answer:
        """Ask the model something for a visitor, when it is the visitor's turn."""
        model = getattr(self.thing, "model", None)
        return await self.turns.ask(request, partial(question, self.thing), model=model)


class Models:
    """Loads each folder once, when the studio starts or when training has made it.

    A run that has no model yet is kept in mind: its curves are shown, and its model is opened once it is there. Of a
    run that goes on, or was stopped, the best model so far is open, and a better one replaces it when it is written.
    `preparation`: the training of a first model, where none was named. `load` opens folders of ours; those of Hugging
    Face are opened on `device`.
    """

    def __init__(
        self,
        paths: Sequence[Path | str] = (),
        *,
        preparation: Preparation | None = None,
        load: Callable[[Path], Any] = load,
        device: torch.device | str = "cpu",
    ) -> None:
        self._load, self._opened, self._lock = load, dict[str, Opened](), threading.Lock()
        self._opening, self._device = threading.Lock(), device
        self.preparation = preparation
        self.folders: dict[str, Path] = {}
        """Where each model came from, by its name; and runs that have none yet."""
        for path in map(Path, paths):
            if is_under_way(path):
                self.folders[self._name(path)] = path
            else:
                self.open(path)

    @classmethod
    def of(cls, *opened: Opened) -> "Models":
        """Hold models that lie in no folder."""
        result = cls()
        result._opened = {item.name: item for item in opened}
        return result

    def open(self, path: Path, *, again: str = "") -> Opened:
        """Load the model of a folder under a name: the folder's, numbered where it is taken, or `again`, its own."""
        check_folder(path)
        step = unfinished_step(path)
        thing = self._load(path) if not is_foreign(path) else open_foreign(path, device=self._device)
        with self._lock:
            name = again or self._name(path)
            self.folders[name] = path
            about = describe(name, thing, step=step)
            self._opened[name] = Opened(name, kind_of(thing), thing, about, path, Turns(name), step)
        return self._opened[name]

    def _name(self, path: Path) -> str:
        """Give a name that no other folder has; a run has the same before and after its model is there."""
        stem = path.resolve().parent.name if path.resolve().name == "model" else path.resolve().name
        name, number = stem, 2
        while name in self._opened or self.folders.get(name, path) != path:
            name, number = f"{stem}-{number}", number + 1
        return name

    def refresh(self) -> None:
        """Open what training has made, once it is there. Who comes while another does so need not wait for it."""
        if not self._opening.acquire(blocking=False):  # one at a time, lest a model be opened twice
            return
        try:
            self._open_prepared()
            waiting = [path for name, path in list(self.folders.items()) if name not in self._opened]
            for path in waiting:
                if not is_under_way(path):
                    with suppress(DataError, OSError):  # it is still being written: the next time
                        self.open(path)
            for item in self.all():
                if item.step is not None and unfinished_step(item.folder) != item.step:
                    with suppress(DataError, OSError):
                        self.open(item.folder, again=item.name)
        finally:
            self._opening.release()

    def _open_prepared(self) -> None:
        """Open the first model once it is trained, and only then forget that it was being made."""
        made = self.preparation.result() if self.preparation else None
        if self.preparation is None or made is None:
            return
        try:
            self.open(made)
        except (RegardError, OSError) as error:
            self.preparation.fail(f"The model that was trained cannot be opened: {error}")
        else:
            self.preparation = None

    def train_one(self) -> bool:
        """Begin to train a small translator, unless one is there already or on its way; give whether it is there."""
        with self._lock:
            if SYSTEM in self.folders or self.preparation is not None:
                return SYSTEM in self.folders
            self.preparation = Preparation(cache_folder()).start()
        self.refresh()
        return self.preparation is None

    def all(self, kind: str | None = None) -> list[Opened]:
        """Give those of one kind, or all, in the order they were named."""
        return [item for item in list(self._opened.values()) if kind in (None, item.kind)]

    @contextmanager
    def borrow(self, name: str, wanted: type[Thing]) -> Iterator[Thing]:
        """Give the model of that name, or the first of its kind for "", and let nobody else at it meanwhile."""
        result = self.find(name, wanted)
        with result.turns.taken():
            yield result.thing

    def find(self, name: str, wanted: type[Thing]) -> Opened:
        """Give the model of that name and type, or the first of its type for ""; anything else is an error."""
        fitting = {item.name: item for item in self.all() if isinstance(item.thing, wanted)}
        if not fitting:
            raise ArgumentError(
                f"`model` must be {with_article(wanted.__name__)}; received none: no such model is open. "
                "Start the studio with one: regard studio FOLDER."
            )
        if not name:
            return next(iter(fitting.values()))
        if name not in fitting:
            raise ArgumentError(f'`model` must be one that is open; received "{name[:80]}". {nearest(name, fitting)}')
        return fitting[name]

    def overview(self) -> Overview:
        """List for the page what is open and what is being made."""
        from regard import __version__

        self.refresh()
        return Overview(
            version=__version__,
            models=[item.about for item in self.all()],
            waiting=[name for name in list(self.folders) if name not in self._opened],
            preparing=self.preparation.progress() if self.preparation else None,
            training=any(item.step is not None and goes_on(item.folder) for item in self.all()),
        )


def open_one(thing: object, name: str = "model") -> Opened:
    """Give a model that lies in no folder as the studio has those that do."""
    return Opened(name, kind_of(thing), thing, describe(name, thing), Path(name), Turns(name))


def check_folder(path: Path) -> None:
    """Raise where a folder holds a model that nobody can open; of any other, loading says what is wrong."""
    result = next((item for item in (path, *_models_of(path)) if (item / CONFIG).is_file()), None)
    if result is None or saved_task(result) is not None or is_hugging_face(result):
        return
    names = [task.model for task in TASKS.values()]
    raise DataError(
        f"The studio opens folders that regard wrote, of {', '.join(names[:-1])} or {names[-1]}, and those of Hugging "
        f"Face; {path} holds a {CONFIG} that does not say what it is for. Train one: regard train."
    )


def is_foreign(path: Path) -> bool:
    """Return whether a folder holds a model of Hugging Face that is not read into one of ours, as Marian's are."""
    return (path / CONFIG).is_file() and saved_task(path) is None and is_hugging_face(path)


def open_foreign(path: Path, *, device: torch.device | str = "cpu") -> Any:
    """Open a folder of Hugging Face: a model of text, or one that labels pictures."""
    return open_patch_classifier(path, device=device) if sees_pictures(path) else open_hugging_face(path, device=device)


def is_under_way(path: Path) -> bool:
    """Return whether a folder is that of a run that has no model yet."""
    return RunFolder(path).config.is_file() and not any((model / CONFIG).is_file() for model in _models_of(path))


def unfinished_step(path: Path) -> int | None:
    """Give the step of the best model so far, where that is what a run's folder holds; `open_model` loads it, too."""
    run = RunFolder(path)
    return run.best_step() if not (path / CONFIG).is_file() and (run.best / CONFIG).is_file() else None


def goes_on(path: Path) -> bool:
    """Return whether a run has written figures within the last minutes."""
    try:
        return time.time() - RunFolder(path).metrics.stat().st_mtime < QUIET
    except OSError:
        return False


def _models_of(path: Path) -> tuple[Path, Path]:
    run = RunFolder(path)
    return run.best, run.model


def kind_of(thing: object) -> Kind:
    """Name the kind of model that was loaded."""
    match thing:
        case Translator():
            return "translator"
        case WordAligner():
            return "aligner"
        case LanguageModel() | TextModel():
            return "language"
        case Classifier():
            return "classifier"
        case ImageClassifier() | QuestionAnswerer() | Captioner() | PatchClassifier():
            return "vision"
    name = with_article(type(thing).__name__)
    raise ArgumentTypeError(f"`thing` must be a model that the studio has a view for; received {name}.")


def describe(name: str, thing: object, *, step: int | None = None) -> ModelInfo:
    """Describe a model for the page; `step` is its own where its run has not made all its steps."""
    return ModelInfo(
        name=name,
        kind=kind_of(thing),
        about=str(thing) if step is None else f"{thing}, the best so far of an unfinished run: step {step:,}",
        examples=[Example(**item._asdict()) for item in examples_for(thing)],
    )
