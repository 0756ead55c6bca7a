"""Train a classifier: from labeled texts and settings to a model folder, a card and a report."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from regard import __version__
from regard.config.classify import ClassifierSpec, LastStateSpec, RecurrentAttentionSpec, StructuredSpec, TfIdfSpec
from regard.config.show import show_settings
from regard.data.batches.ragged import Ragged
from regard.data.corpora.catalogue import languages_of, license_of
from regard.data.text.special import UNKNOWN
from regard.data.text.tokenizer import Tokenizer
from regard.data.text.tokenizer_training import train_tokenizer
from regard.errors import with_article
from regard.evaluation.classification import ClassificationScores
from regard.files import read_json
from regard.models.classification import TfIdfClassifier, build_classifier, fit_tf_idf
from regard.tasks.card import CLASSIFY, Card, write_card
from regard.tasks.classification.data import LabeledCorpus
from regard.tasks.classification.job import AnyClassifier, ClassificationJob
from regard.tasks.classification.model import LABELS, Classifier, cut_texts
from regard.tasks.classification.page import CAVEAT, MEANING, describe_figures, training_page
from regard.tasks.classification.settings import ClassifyConfig
from regard.tasks.page import Report
from regard.tasks.start import fill_from, find_start, varying_tensors
from regard.training.run import Run, Trained
from regard.training.streams import seed_streams

INVERSE_PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0)


def train_classifier(config: ClassifyConfig, corpus: LabeledCorpus, run: Run) -> Trained:
    """Train, or go on, and write the model folder, its card and the report.

    A run that is finished gives its figures again.
    """
    signature = describe_classifier(config)
    if (outcome := run.figures_again()) is not None:
        return Trained(run.folder, outcome, signature)
    start = find_start(config, "classify", run)
    tokenizer = Tokenizer.load(start) if start else train_tokenizer(corpus.train.texts, config.tokenizer)
    train, valid, test = (
        (cut_texts(tokenizer.encode_batch(side.texts), config.data.max_length), side.labels)
        for side in (corpus.train, corpus.valid, corpus.test)
    )
    job = ClassificationJob(train, valid, config.train, group=run.group)
    model, spent = _train(config, corpus, run, job, train, tokenizer, start)
    if not run.group.leads:
        return Trained(run.folder, {}, signature)
    model.eval()
    classifier = Classifier(model, tokenizer, corpus.labels, config.model, max_length=config.data.max_length)
    run.put_model(classifier.save)
    result = run.finish(
        lambda: _measure(classifier, job, {"valid": valid} | ({"test": test} if corpus.test.texts else {}), spent),
        figures=lambda result: result.figures,
        page=lambda result: _page(config, corpus, run, classifier, result),
        card=lambda result: _card(config, corpus, run, result),
        job=job,
    )
    return Trained(run.folder, result.figures, signature)


class _Measured(NamedTuple):
    scores: dict[str, ClassificationScores]
    figures: dict[str, float]


def _train(
    config: ClassifyConfig,
    corpus: LabeledCorpus,
    run: Run,
    job: ClassificationJob,
    train: tuple[Ragged, list[int]],
    tokenizer: Tokenizer,
    start: Path | None,
) -> tuple[AnyClassifier, dict[str, float]]:
    """Train by gradients, or fit; give the model, and the steps and seconds that were spent on it.

    Training begins with the parameters of the model in `start`, where there is one.
    """
    if isinstance(config.model, TfIdfSpec):
        begun = time.perf_counter()
        fitted = _fit(config.model, job, train, len(corpus.labels), tokenizer).to(run.group.device)
        return fitted, {"steps": 0, "seconds": time.perf_counter() - begun}
    seed_streams(config.train.seed)
    model = build_classifier(config.model, vocabulary_size=tokenizer.size, num_labels=len(corpus.labels))
    if start is not None:
        fill_from(model, start, leaving=_new_output(config.model, corpus, run, tokenizer, start))
    save = Classifier(model, tokenizer, corpus.labels, config.model, max_length=config.data.max_length).save
    state = run.train(model, job, config.train, shorter="shorter texts (data.max_length)", save=save)
    return model, {"steps": state.step, "seconds": state.seconds}


def _new_output(
    spec: ClassifierSpec, corpus: LabeledCorpus, run: Run, tokenizer: Tokenizer, start: Path
) -> frozenset[str]:
    """Name the parameters that are not those of the model in `start`: its output layer, where its labels are others."""
    before = tuple(read_json(start / LABELS).texts())
    if before == corpus.labels:
        return frozenset()
    run.watcher.noted(
        f"The labels are others than those of the model it starts from ({_some(before)}; here {_some(corpus.labels)}): "
        "the output layer starts anew."
    )
    with torch.random.fork_rng(), torch.device("meta"):
        models = [build_classifier(spec, vocabulary_size=tokenizer.size, num_labels=count) for count in (2, 3)]
    return varying_tensors(*models)


def _some(labels: Sequence[str]) -> str:
    return f"{', '.join(labels[:5])}{', …' if len(labels) > 5 else ''}"


def _measure(
    classifier: Classifier,
    job: ClassificationJob,
    sides: Mapping[str, tuple[Ragged, list[int]]],
    spent: dict[str, float],
) -> _Measured:
    scores = {name: job.score(classifier.model, *side) for name, side in sides.items()}
    counts = {
        "parameters": sum(item.numel() for item in classifier.model.state_dict().values()),
        "labels": len(classifier.labels),
    }
    return _Measured(scores, label_figures(scores) | counts | spent)


def describe_classifier(config: ClassifyConfig) -> str:
    """Give the signature that results carry; a recurrent model's names its cell, and how it reads.

    >>> describe_classifier(ClassifyConfig())
    'task:classify|data:|model:recurrent-attention|cell:lstm|direction:both|seed:1|version:0.1.0'
    """
    spec = config.model
    parts = {"task": "classify", "data": config.data.name, "model": spec.kind}
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
            inverse_penalty=penalty,
            iterations=spec.iterations,
            ignored=(UNKNOWN,),
        ).to(job.group.device)
        for penalty in ([spec.inverse_penalty] if spec.inverse_penalty else INVERSE_PENALTIES)
    ]
    return min(fitted, key=lambda model: job.validate(model).loss)


def label_figures(scores: Mapping[str, ClassificationScores]) -> dict[str, float]:
    """Name the figures of each side, such as test_accuracy."""
    return {
        f"{side}_{name}": value
        for side, item in scores.items()
        for name, value in (
            ("accuracy", item.accuracy),
            ("macro_f1", item.macro_f1),
            ("calibration_error", item.calibration_error),
            ("cross_entropy", item.cross_entropy),
        )
    }


def _about(config: ClassifyConfig, corpus: LabeledCorpus, run: Run, figures: dict[str, float]) -> dict[str, Any]:
    """Give what both the report and the card say."""
    data = (
        f"{config.data.name}: {len(corpus.train):,} texts to train on, {len(corpus.valid):,} to validate on, "
        f"{len(corpus.test):,} to test with; labels {', '.join(corpus.labels[:20])}"
        f"{', …' if len(corpus.labels) > 20 else ''}."
    )
    return {
        "title": f"Classifier trained on {config.data.name}",
        "data": data,
        "figures": describe_figures(figures),
        "command": run.command,
        "signature": describe_classifier(config),
    }


def _page(config: ClassifyConfig, corpus: LabeledCorpus, run: Run, classifier: Classifier, result: _Measured) -> str:
    side = corpus.test if corpus.test.texts else corpus.valid
    with torch.no_grad():
        shown = classifier.classify(side.texts[:20])
    return training_page(
        Report(**_about(config, corpus, run, result.figures), config=show_settings(config, help=False)),
        kind=config.model.kind,
        labels=corpus.labels,
        scores=result.scores,
        decisions=list(zip(shown, [corpus.labels[item] for item in side.labels[:20]], strict=True)),
    )


def _card(config: ClassifyConfig, corpus: LabeledCorpus, run: Run, result: _Measured) -> str:
    card = Card(
        **_about(config, corpus, run, result.figures),
        summary=f"{with_article(config.model.kind).capitalize()} classifier, trained with regard {__version__}.",
        license=license_of(config.data.corpus, config.data.license),
        folder=str(run.folder.model),
        use=CLASSIFY,
        checksum=run.folder.fingerprint(),
        languages=languages_of(config.data.languages, config.data.corpus),
        note=f"The share of a word is {MEANING[config.model.kind]}. {CAVEAT}",
    )
    return write_card(card)
