"""Train a classifier: from labeled texts and settings to a model folder, a card and a report."""

import time
from collections.abc import Mapping
from typing import Any

import torch

from regard import __version__
from regard.config.classify import LastStateSpec, RecurrentAttentionSpec, StructuredSpec, TfIdfSpec
from regard.config.classify_run import ClassifyConfig
from regard.config.show import show_settings
from regard.data.ragged import Ragged
from regard.data.special import UNKNOWN
from regard.data.tokenizer import Tokenizer
from regard.data.tokenizer_training import train_tokenizer
from regard.evaluation.classification import ClassificationScores
from regard.files import write_text
from regard.models.classify import TfIdfClassifier, build_classifier, fit_tf_idf
from regard.tasks.classification_job import AnyClassifier, ClassificationJob
from regard.tasks.classifier import Classifier, cut_texts
from regard.tasks.classify_page import classifier_card, training_page
from regard.tasks.labeled_texts import LabeledCorpus
from regard.tasks.run import Run, Trained
from regard.training.failure import needing_room
from regard.training.streams import seed_streams

INVERSE_PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0)


def train_classifier(config: ClassifyConfig, corpus: LabeledCorpus, run: Run) -> Trained:
    """Train, or go on, and write the model folder, its card and the report.

    A run that is finished gives its figures again.
    """
    signature = describe_classifier(config)
    if (found := run.figures_again()) is not None:
        return Trained(run.folder, found, signature)
    tokenizer = train_tokenizer(corpus.train.texts, config.tokenizer)
    train, valid, test = (
        (cut_texts(tokenizer.encode_batch(side.texts), config.data.max_length), side.labels)
        for side in (corpus.train, corpus.valid, corpus.test)
    )
    job = ClassificationJob(train, valid, config.train, group=run.group)
    begun = time.perf_counter()
    steps = 0
    if isinstance(config.model, TfIdfSpec):
        model: AnyClassifier = _fit(config.model, job, train, len(corpus.labels), tokenizer).to(run.group.device)
    else:
        seed_streams(config.train.seed)
        model = build_classifier(config.model, vocabulary_size=tokenizer.size, num_labels=len(corpus.labels))
        steps = run.train(model, job, config.train, shorter="shorter texts (data.max_length)").step
    if not run.group.leads:
        return Trained(run.folder, {}, signature)
    model.eval()
    scores = {"valid": job.score(model, *valid)} | ({"test": job.score(model, *test)} if corpus.test.texts else {})
    figures = label_figures(scores) | {
        "parameters": sum(one.numel() for one in model.state_dict().values()),
        "labels": len(corpus.labels),
        "steps": steps,
        "seconds": time.perf_counter() - begun,
    }
    classifier = Classifier(model, tokenizer, corpus.labels, config.model, max_length=config.data.max_length)
    with needing_room(run.folder.path):
        _write(config, corpus, run, classifier, scores, figures)
    return Trained(run.folder, figures, signature)


def describe_classifier(config: ClassifyConfig) -> str:
    """Give the signature that results carry; a recurrent model's names its cell, and how it reads.

    >>> describe_classifier(ClassifyConfig())
    'task:classify|data:|model:recurrent-attention|cell:lstm|direction:both|seed:1|version:0.1.0'
    """
    spec = config.model
    parts = {"task": "classify", "data": config.data.corpus, "model": spec.kind}
    if isinstance(spec, LastStateSpec | RecurrentAttentionSpec | StructuredSpec):
        parts["cell"] = spec.cell
    if isinstance(spec, LastStateSpec | RecurrentAttentionSpec):
        parts["direction"] = spec.direction
    return "|".join(
        f"{name}:{value}" for name, value in (parts | {"seed": config.train.seed, "version": __version__}).items()
    )


def _fit(
    spec: TfIdfSpec, job: ClassificationJob, train: tuple[Ragged, list[int]], num_labels: int, tokenizer: Tokenizer
) -> TfIdfClassifier:
    """Fit with the penalty that is set, or with each of some, and keep the lowest validation loss."""
    texts = [train[0][index].tolist() for index in range(len(train[0]))]
    fitted = [
        fit_tf_idf(
            texts,
            train[1],
            vocabulary_size=tokenizer.size,
            num_labels=num_labels,
            inverse_penalty=one,
            iterations=spec.iterations,
            unheard=(UNKNOWN,),
        ).to(job.group.device)
        for one in ([spec.inverse_penalty] if spec.inverse_penalty else INVERSE_PENALTIES)
    ]
    return min(fitted, key=lambda model: job.validate(model).loss)


def label_figures(scores: Mapping[str, ClassificationScores]) -> dict[str, float]:
    """Name the figures of each side, such as test_accuracy."""
    return {
        f"{side}_{name}": value
        for side, one in scores.items()
        for name, value in (
            ("accuracy", one.accuracy),
            ("macro_f1", one.macro_f1),
            ("calibration_error", one.calibration_error),
            ("cross_entropy", one.cross_entropy),
        )
    }


def _write(
    config: ClassifyConfig,
    corpus: LabeledCorpus,
    run: Run,
    classifier: Classifier,
    scores: dict[str, ClassificationScores],
    figures: dict[str, float],
) -> None:
    """Write the report, then the model folder."""
    data = (
        f"{config.data.corpus}: {len(corpus.train):,} texts to train on, {len(corpus.valid):,} to validate on, "
        f"{len(corpus.test):,} to test with; labels {', '.join(corpus.labels[:20])}"
        f"{', …' if len(corpus.labels) > 20 else ''}."
    )
    told: dict[str, Any] = {
        "title": f"Classifier trained on {config.data.corpus}",
        "kind": config.model.kind,
        "data": data,
        "figures": figures,
        "command": run.command,
        "signature": describe_classifier(config),
    }
    side = corpus.test if corpus.test.texts else corpus.valid
    with torch.no_grad():
        shown = classifier.classify(side.texts[:20])
    page = training_page(
        **told,
        labels=corpus.labels,
        scores=scores,
        decisions=list(zip(shown, [corpus.labels[one] for one in side.labels[:20]], strict=True)),
        config=show_settings(config, help=False),
    )
    write_text(run.folder.report, page)
    card = classifier_card(**told, license=config.data.license, folder=str(run.folder.model))
    run.put_model(classifier.save, card=card, figures=figures)
