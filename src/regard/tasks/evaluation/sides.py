"""Evaluate a classifier, a question answerer, a captioner or an aligner on what its run held out, as training does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

from regard import __version__
from regard.config.show import to_table
from regard.data.corpora.catalogue import is_builtin
from regard.errors import ArgumentError, DataError, brief, near_miss, plural
from regard.evaluation.classification import ClassificationScores
from regard.tasks.alignment.data import gather_aligned
from regard.tasks.alignment.job import AlignmentJob
from regard.tasks.alignment.model import load_aligner
from regard.tasks.alignment.settings import AlignConfig
from regard.tasks.alignment.train import aligner_figures, describe_aligner
from regard.tasks.captions.data import gather_captions
from regard.tasks.captions.job import CaptionJob, EncodedCaptions
from regard.tasks.captions.model import load_captioner
from regard.tasks.captions.settings import CaptionConfig
from regard.tasks.captions.train import caption_figures, describe_captions
from regard.tasks.classification.data import gather_texts, read_measured_texts
from regard.tasks.classification.job import ClassificationJob
from regard.tasks.classification.model import Classifier, cut_texts, load_classifier
from regard.tasks.classification.settings import ClassifyConfig, LabeledData
from regard.tasks.classification.train import describe_classifier, label_figures
from regard.tasks.evaluation.comparison import system_names
from regard.tasks.evaluation.evaluate import Watch, watch_nothing
from regard.tasks.evaluation.held_out import check_trusted, named_data, run_of
from regard.tasks.evaluation.labels import describe_scores, score_against
from regard.tasks.images.data import gather_images, read_measured
from regard.tasks.images.job import ImageJob
from regard.tasks.images.model import ImageClassifier, load_image_classifier
from regard.tasks.images.settings import ImagesConfig
from regard.tasks.images.train import describe_images
from regard.tasks.model_folder import check_kind, find_model
from regard.tasks.questions.data import gather_questions
from regard.tasks.questions.job import EncodedQuestions, QuestionJob
from regard.tasks.questions.model import load_question_answerer
from regard.tasks.questions.settings import QuestionConfig
from regard.tasks.questions.train import answer_figures, describe_questions
from regard.tasks.task import side_name
from regard.training.group import Group, pick_device
from regard.training.run_folder import RunFolder

_SIDES = ("test", "valid")
_INSTEAD = "A classifier can be measured on other data, `data`; an aligner on `source` and `target` too."
UNITS = {"classify": "text", "images": "image", "questions": "question", "captions": "caption", "align": "pair"}
"""The tasks whose models are measured here, and what they read."""


_ALIGNED = {
    "error": "alignment error",
    "precision": "precision",
    "recall": "recall",
    "agreement": "agreement of both directions",
}
"""The figures of an aligner, and what they are called."""


@dataclass(frozen=True, kw_only=True)
class MeasuringSide:
    """How to measure."""

    device: str = "auto"
    """Where the model runs: cpu, cuda, or auto."""
    text: str = ""
    """Column or key of the text in data of your own; nothing for that of the run."""
    label: str = ""
    """Column or key of the true label in data of your own; nothing for that of the run."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SideEvaluation:
    """Figures of a classifier, a question answerer or a captioner: on a side of its run's data, or on other data."""

    name: str
    task: str
    side: str
    """test or valid."""
    data: str
    """What it was measured on, in words."""
    items: int
    """Texts, images, questions or captions."""
    figures: dict[str, float]
    """Named as training names them, such as test_accuracy."""
    signature: str
    labels: tuple[str, ...] = ()
    scores: ClassificationScores | None = None
    """All scores of a classifier."""
    notes: tuple[str, ...] = ()
    """What a reader of the figures should know."""

    def table(self) -> dict[str, Any]:
        """Give all of it as plain values."""
        head = {"name": self.name, "task": self.task, "side": self.side, "data": self.data, "items": self.items}
        tail = {"notes": list(self.notes), "signature": self.signature}
        if self.scores is None:
            return {**head, **self.figures, **tail}
        scores = {**self.scores._asdict(), "bins": [item._asdict() for item in self.scores.bins]}
        return {**head, **self.figures, "labels": self.labels, "scores": scores, **tail}

    @property
    def title(self) -> str:
        """What was measured, on what, and how much of it."""
        return f"{self.name} on {self.data}: {plural(self.items, UNITS[self.task])}"

    def summary(self) -> str:
        """Give the figures in a line."""
        side, figures = self.side, self.figures
        if self.scores is not None:
            return describe_scores(self.scores, count=self.items, unit=UNITS[self.task])
        if self.task == "questions":
            return f"accuracy {100 * figures[f'{side}_accuracy']:.2f} % ({side_name(side)})"
        if self.task == "align":
            shown = [
                f"{called} {100 * figures[f'{side}_{name}']:.2f} %"
                for name, called in _ALIGNED.items()
                if f"{side}_{name}" in figures
            ]
            return f"{', '.join(shown)} ({side_name(side)})"
        return (
            f"right word for word {100 * figures[f'{side}_exact']:.2f} %, BLEU {figures[f'{side}_bleu']:.2f}; always "
            f"the commonest caption {100 * figures[f'{side}_majority']:.2f} % ({side_name(side)})"
        )

    def __str__(self) -> str:
        return "\n".join([self.title, self.summary(), *(f"note: {note}" for note in self.notes), self.signature])


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
    watch: Watch


def evaluate_side(
    path: str | Path, settings: MeasuringSide, *, split: str = "", trust: bool = False, watch: Watch = watch_nothing
) -> SideEvaluation:
    """Measure the model of a run on its test data, or where there is none, or `split` says so, on its validation data.

    `trust` opens what config.toml names, although the run was not made here.
    """
    model = Path(path)
    task = check_kind(find_model(model), *UNITS)
    if split and split not in _SIDES:
        raise ArgumentError(
            f"`split` must be {' or '.join(_SIDES)} for this model; received {split}.{near_miss(split, _SIDES)}"
        )
    folder = run_of(model)
    if folder is None:
        raise ArgumentError(
            f"`path` must be a run folder, whose data is measured on; {path} has no config.toml beside it. {_INSTEAD}"
        )
    device = pick_device(settings.device, argument="device")
    return _EVALUATE[task](_Request(folder, model, split, Group(device=device), trust, watch))


def evaluate_labels(
    model: Classifier | ImageClassifier,
    data: str | Path,
    settings: MeasuringSide,
    *,
    name: str = "model",
    run: RunFolder | None = None,
    watch: Watch = watch_nothing,
) -> SideEvaluation:
    """Measure a classifier on labeled texts or images that its run did not hold out.

    The columns of a table of texts are those that `run` was trained on, unless `settings` names others.
    """
    watch("reading the data", 0, 1)
    if isinstance(model, Classifier):
        columns = run.read_settings(ClassifyConfig).data if run is not None else LabeledData()
        text, label = settings.text or columns.text, settings.label or columns.label
        records = read_measured_texts(str(data), text=text, label=label)
        gold, kind = [item.label for item in records], f"classify|model:{model.spec.kind}"
        watch("measuring", 0, len(gold))
        probabilities = model.probabilities([item.text for item in records])
    else:
        images = read_measured(Path(data), model)
        gold, kind = [model.labels[label] for label in images.labels], f"images|model:{model.spec.kind}"
        watch("measuring", 0, len(gold))
        probabilities = model.probabilities(images.pixels)
    watch("measuring", len(gold), len(gold))
    labels, scores, unknown = score_against(probabilities, gold, model.labels)
    notes = [
        f'{len(unknown):,} have a label that the model does not have, such as "{brief(item)}", count as wrong, '
        "and are left out of the cross-entropy."
        for item in unknown[:1]
    ]
    return SideEvaluation(
        name=name,
        task=kind.partition("|")[0],
        side="test",
        data=str(data),
        items=len(gold),
        figures=label_figures({"test": scores}),
        signature=f"task:{kind}|test:{data}|version:{__version__}",
        labels=labels,
        scores=scores,
        notes=tuple(notes),
    )


def _gather(
    request: _Request, data: Any, gather: Callable[[Any], Corpus], *, names: Sequence[str] | None = None
) -> Corpus:
    """Read the data of a run again, which must be what it was; `names` are the files that it opens."""
    if names is None:
        named = [getattr(data, name, "") for name in ("corpus", "valid", "test")]
        names = [name for name in named if name and not is_builtin(name)]
    check_trusted(request.folder, names, trust=request.trust, instead=_INSTEAD)
    path = request.folder.path
    request.watch("reading the data", 0, 1)
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
            'validated on: `split="valid"`.'
        )
    request.watch("measuring", 0, len(getattr(corpus, side)))
    return side, getattr(corpus, side)


def _result(
    request: _Request, task: str, side: str, items: int, figures: Mapping[str, float], signature: str
) -> SideEvaluation:
    request.watch("measuring", items, items)
    return SideEvaluation(
        name=system_names([request.model])[0],
        task=task,
        side=side,
        data=f"its {side_name(side)} data",
        items=items,
        figures=dict(figures),
        signature=signature,
    )


def _evaluate_texts(request: _Request) -> SideEvaluation:
    config = request.folder.read_settings(ClassifyConfig)
    corpus = _gather(request, config.data, gather_texts)
    side, texts = _choose(request, corpus)
    classifier = load_classifier(request.model, device=request.group.device)
    labeled = cut_texts(classifier.tokenizer.encode_batch(texts.texts), config.data.max_length), texts.labels
    scores = ClassificationJob(labeled, labeled, config.train, group=request.group).score(classifier.model, *labeled)
    figures = label_figures({side: scores})
    result = _result(request, "classify", side, len(texts), figures, describe_classifier(config))
    return replace(result, labels=corpus.labels, scores=scores)


def _evaluate_images(request: _Request) -> SideEvaluation:
    config = request.folder.read_settings(ImagesConfig)
    corpus = _gather(request, config.data, gather_images)
    side, images = _choose(request, corpus)
    classifier = load_image_classifier(request.model, device=request.group.device)
    scores = ImageJob(images, images, config, group=request.group).score(classifier.model, images)
    result = _result(request, "images", side, len(images), label_figures({side: scores}), describe_images(config))
    return replace(result, labels=tuple(corpus.labels), scores=scores)


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


def _evaluate_aligner(request: _Request) -> SideEvaluation:
    config = request.folder.read_settings(AlignConfig)
    corpus = _gather(request, config.data, lambda data: gather_aligned(to_table(data)), names=named_data(config.data))
    side, pairs = _choose(request, corpus)
    aligner = load_aligner(request.model, device=request.group.device)
    job = AlignmentJob([], [], aligner.tokenizers, config.train, group=request.group)
    figures = aligner_figures(side, job.score(aligner.model, pairs))
    return _result(request, "align", side, len(pairs), figures, describe_aligner(config))


_Evaluate: TypeAlias = Callable[[_Request], SideEvaluation]
_EVALUATE: dict[str, _Evaluate] = {
    "classify": _evaluate_texts,
    "images": _evaluate_images,
    "questions": _evaluate_questions,
    "captions": _evaluate_captions,
    "align": _evaluate_aligner,
}
