"""The models that a server has loaded: each under a name, with its endpoints and the thread that computes."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException

from regard.decoding.search import Search
from regard.errors import ArgumentTypeError, nearest, with_article
from regard.serving.calls import Classify, Translate
from regard.serving.job import Call, Job
from regard.serving.limits import Limits
from regard.serving.metrics import Metrics
from regard.serving.worker import Worker
from regard.tasks.alignment.model import WordAligner
from regard.tasks.captions.model import Captioner
from regard.tasks.classification.model import Classifier
from regard.tasks.images.model import ImageClassifier
from regard.tasks.language.model import LanguageModel
from regard.tasks.load import load
from regard.tasks.questions.model import QuestionAnswerer
from regard.tasks.translation.model import Translator

ENDPOINTS: Mapping[type, tuple[str, ...]] = {
    Translator: ("translate", "align", "attention"),
    LanguageModel: ("generate", "attention"),
    Classifier: ("classify", "attention"),
    ImageClassifier: ("classify",),
    QuestionAnswerer: ("ask",),
    Captioner: ("ask",),
    WordAligner: ("align",),
}
"""What each kind of model answers."""
FIRST: Mapping[type, Call] = {Translator: Translate(Search(beam=1, max_length=2), False), Classifier: Classify()}
"""What a model computes before the server is ready, so that no client waits for what is loaded on first use."""


class Served(NamedTuple):
    """A model under its name."""

    name: str
    model: Any
    worker: Worker
    endpoints: tuple[str, ...]

    def describe(self) -> dict[str, Any]:
        """Say what it is, for `/v1/models`."""
        return {"name": self.name, "endpoints": list(self.endpoints), "about": str(self.model)}


class Models:
    """Models by name, in the order they were named."""

    def __init__(self, models: Mapping[str, Any], *, limits: Limits, metrics: Metrics) -> None:
        self._served: dict[str, Served] = {}
        self._first: list[Job] = []
        for name, model in models.items():
            if type(model) not in ENDPOINTS:
                kind = with_article(type(model).__name__)
                raise ArgumentTypeError(f"`models` must be models that regard.load gives; received {kind}.")
            worker = Worker(name, model, limits=limits, metrics=metrics)
            self._served[name] = Served(name, model, worker, ENDPOINTS[type(model)])

    def all(self) -> list[Served]:
        """Give all of them."""
        return list(self._served.values())

    def find(self, name: str, endpoint: str) -> Served:
        """Give the model of that name, or the first that answers an endpoint for ""; else it is 404 or 422."""
        if name and name not in self._served:
            raise HTTPException(
                404, f"`model` must be one that is served; received {name[:80]!r}. {nearest(name, self._served)}"
            )
        fitting = [item for item in self.all() if endpoint in item.endpoints and name in ("", item.name)]
        if fitting:
            return fitting[0]
        if name:
            answers = ", ".join(f"/v1/{item}" for item in self._served[name].endpoints)
            raise HTTPException(422, f"`model` must be one that answers /v1/{endpoint}; {name} answers {answers}.")
        raise HTTPException(404, f"/v1/{endpoint} must have a model that answers it; none of those served does.")

    def start(self) -> None:
        """Begin to compute."""
        for item in self.all():
            item.worker.start()
            if type(item.model) in FIRST:
                self._first.append(item.worker.submit(FIRST[type(item.model)], ["a"]))

    def are_ready(self) -> bool:
        """Tell whether every model has computed something, and would take more."""
        return all(job.future.done() for job in self._first) and all(item.worker.is_open() for item in self.all())

    def close(self) -> None:
        """Finish what was taken, and end."""
        for item in self.all():
            item.worker.close()


def load_models(paths: Sequence[Path], *, load: Callable[[Path], Any] = load) -> dict[str, Any]:
    """Load each folder under a name: the folder's, numbered where it is taken."""
    models: dict[str, Any] = {}
    for path in paths:
        whole = path.resolve()
        stem = whole.parent.name if whole.name == "model" else whole.name
        name, number = stem, 2
        while name in models:
            name, number = f"{stem}-{number}", number + 1
        models[name] = load(path)
    return models
