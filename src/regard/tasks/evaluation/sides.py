"""Evaluate a classifier, a question answerer or a captioner on what its run held out, as training measures it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

from regard.data.corpora.catalogue import is_builtin
from regard.errors import ArgumentError, DataError, near_miss
from regard.evaluation.classification import ClassificationScores
from regard.tasks.captions.data import gather_captions
from regard.tasks.captions.job import CaptionJob, EncodedCaptions
from regard.tasks.captions.model import load_captioner
from regard.tasks.captions.settings import CaptionConfig
from regard.tasks.captions.train import caption_figures, describe_captions
from regard.tasks.classification.data import gather_texts
from regard.tasks.classification.job import ClassificationJob
from regard.tasks.classification.model import cut_texts, load_classifier
from regard.tasks.classification.settings import ClassifyConfig
from regard.tasks.classification.train import describe_classifier, label_figures
from regard.tasks.evaluation.comparison import system_names
from regard.tasks.evaluation.held_out import check_trusted, run_of
from regard.tasks.images.data import gather_images
from regard.tasks.images.job import ImageJob
from regard.tasks.images.model import load_image_classifier
from regard.tasks.images.settings import ImagesConfig
from regard.tasks.images.train import describe_images
from regard.tasks.model_folder import find_device, find_model
from regard.tasks.model_kinds import saved_task
from regard.tasks.questions.data import gather_questions
from regard.tasks.questions.job import EncodedQuestions, QuestionJob
from regard.tasks.questions.model import load_question_answerer
from regard.tasks.questions.settings import QuestionConfig
from regard.tasks.questions.train import answer_figures, describe_questions
from regard.training.group import Group
from regard.training.run_folder import RunFolder

_SIDES = ("test", "valid")
_INSTEAD = "A classifier is measured on other data so: regard classify MODEL --input test.csv --label label."


@dataclass(frozen=True, kw_only=True)
class MeasuringSide:
    """How to measure."""

    device: str = "auto"
    """Where the model runs: cpu, cuda, or auto."""


class SideEvaluation(NamedTuple):
    """Figures of a model on one side of its run's data."""

    name: str
    task: str
    side: str
    """test or valid."""
    items: int
    """Texts, images, questions or captions."""
    figures: dict[str, float]
    """Named as training names them, such as test_accuracy."""
    signature: str
    labels: tuple[str, ...] = ()
    scores: ClassificationScores | None = None
    """All scores of a classifier."""

    def table(self) -> dict[str, Any]:
        """Give all of it as plain values."""
        head = {"name": self.name, "task": self.task, "side": self.side, "items": self.items}
        if self.scores is None:
            return {**head, **self.figures, "signature": self.signature}
        scores = {**self.scores._asdict(), "bins": [item._asdict() for item in self.scores.bins]}
        return {**head, **self.figures, "labels": self.labels, "scores": scores, "signature": self.signature}


@runtime_checkable
class _Corpus(Protocol):
    def fingerprint(self) -> str: ...


Corpus = TypeVar("Corpus", bound=_Corpus)


class _Request(NamedTuple):
    folder: RunFolder
    model: Path
    split: str
    group: Group
    trust: bool


def evaluate_side(path: str | Path, settings: MeasuringSide, *, split: str = "", trust: bool = False) -> SideEvaluation:
    """Measure the model of a run on its test data, or where there is none, or `split` says so, on its validation data.

    `trust` opens what config.toml names, although the run was not made here.
    """
    model = Path(path)
    task = saved_task(find_model(model))
    if split and split not in _SIDES:
        raise ArgumentError(
            f"`split` must be {' or '.join(_SIDES)} for this model; received {split}.{near_miss(split, _SIDES)}"
        )
    folder = run_of(model)
    if folder is None:
        raise ArgumentError(
            f"`path` must be a run folder, whose data is measured on; {path} has no config.toml beside it. {_INSTEAD}"
        )
    evaluate = _EVALUATE.get(str(task))
    if evaluate is None:
        raise ArgumentError(f"`path` must be a run of {', '.join(_EVALUATE)}; received {task or 'something else'}.")
    device = find_device(settings.device)
    return evaluate(_Request(folder, model, split, Group(device=device), trust))


def _gather(request: _Request, data: Any, gather: Callable[[Any], Corpus]) -> Corpus:
    """Read the data of a run again, which must be what it was."""
    names = [getattr(data, name, "") for name in ("corpus", "valid", "test")]
    check_trusted(
        request.folder, [name for name in names if name and not is_builtin(name)], trust=request.trust, instead=_INSTEAD
    )
    path = request.folder.path
    try:
        corpus = gather(data)
    except (DataError, OSError) as error:
        raise DataError(f"The data of {path} must be there again; received: {error} {_INSTEAD}") from error
    fingerprint = corpus.fingerprint()
    if (request.folder.fingerprint() or fingerprint) != fingerprint:
        raise DataError(f"The data of {path} must be what it was trained on; it has changed since. {_INSTEAD}")
    return corpus


def _choose(request: _Request, corpus: Any) -> tuple[str, Any]:
    """Give the side that is wanted, or test, or where there is none, validation."""
    side = request.split or ("test" if len(corpus.test) else "valid")
    if not len(getattr(corpus, side)):
        raise DataError(
            f"The run in {request.folder.path} must have held out data to test with; received none. Take what it "
            "validated on: --split valid."
        )
    return side, getattr(corpus, side)


def _result(
    request: _Request, task: str, side: str, items: int, figures: Mapping[str, float], signature: str
) -> SideEvaluation:
    return SideEvaluation(system_names([request.model])[0], task, side, items, dict(figures), signature)


def _evaluate_texts(request: _Request) -> SideEvaluation:
    config = request.folder.read_settings(ClassifyConfig)
    corpus = _gather(request, config.data, gather_texts)
    side, texts = _choose(request, corpus)
    classifier = load_classifier(request.model, device=request.group.device)
    encoded = cut_texts(classifier.tokenizer.encode_batch(texts.texts), config.data.max_length), texts.labels
    scores = ClassificationJob(encoded, encoded, config.train, group=request.group).score(classifier.model, *encoded)
    figures = label_figures({side: scores})
    result = _result(request, "classify", side, len(texts), figures, describe_classifier(config))
    return result._replace(labels=corpus.labels, scores=scores)


def _evaluate_images(request: _Request) -> SideEvaluation:
    config = request.folder.read_settings(ImagesConfig)
    corpus = _gather(request, config.data, gather_images)
    side, images = _choose(request, corpus)
    classifier = load_image_classifier(request.model, device=request.group.device)
    scores = ImageJob(images, images, config, group=request.group).score(classifier.model, images)
    result = _result(request, "images", side, len(images), label_figures({side: scores}), describe_images(config))
    return result._replace(labels=tuple(corpus.labels), scores=scores)


def _evaluate_questions(request: _Request) -> SideEvaluation:
    config = request.folder.read_settings(QuestionConfig)
    corpus = _gather(request, config.data, gather_questions)
    side, questions = _choose(request, corpus)
    answerer, device = load_question_answerer(request.model, device=request.group.device), request.group.device
    encoded = EncodedQuestions(
        questions, answerer.tokenizer, corpus.answers, max_length=config.data.max_length, device=device
    )
    job = QuestionJob(encoded, encoded, corpus.answers, config.train, group=request.group)
    figures = answer_figures(corpus, {side: job.score(answerer.model, encoded)[0]})
    return _result(request, "questions", side, len(questions), figures, describe_questions(config))


def _evaluate_captions(request: _Request) -> SideEvaluation:
    config = request.folder.read_settings(CaptionConfig)
    corpus = _gather(request, config.data, gather_captions)
    side, captions = _choose(request, corpus)
    captioner, device = load_captioner(request.model, device=request.group.device), request.group.device
    encoded = EncodedCaptions(captions, captioner.tokenizer, max_length=config.data.max_length, device=device)
    job = CaptionJob(encoded, encoded, config.train, group=request.group)
    figures = caption_figures(corpus, {side: job.score(captioner.model, encoded)})
    return _result(request, "captions", side, len(captions), figures, describe_captions(config))


_Evaluate: TypeAlias = Callable[[_Request], SideEvaluation]
_EVALUATE: dict[str, _Evaluate] = {
    "classify": _evaluate_texts,
    "images": _evaluate_images,
    "questions": _evaluate_questions,
    "captions": _evaluate_captions,
}
