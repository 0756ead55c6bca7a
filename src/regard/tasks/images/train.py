"""Train an image classifier: from labeled images and settings to a model folder, a card and a report."""

from typing import NamedTuple

from regard import __version__
from regard.config.show import show_settings
from regard.data.corpora.catalogue import license_of
from regard.data.images.pixels import color_statistics
from regard.errors import with_article
from regard.evaluation.classification import ClassificationScores
from regard.models.sequence.build import count_parameters
from regard.models.vision.build import build_image_encoder
from regard.tasks.card import Card, Use, write_card
from regard.tasks.classification.page import describe_figures
from regard.tasks.classification.train import label_figures
from regard.tasks.images.data import ImageCorpus
from regard.tasks.images.job import ImageJob
from regard.tasks.images.model import ImageClassifier
from regard.tasks.images.page import images_report
from regard.tasks.images.settings import ImagesConfig
from regard.tasks.page import Report
from regard.training.metrics import read_metrics
from regard.training.run import Run, Trained
from regard.training.state import State
from regard.training.streams import seed_streams

CLASSIFY = Use("image-classification", "classify", 'classify(["picture.png"])')
SHOWN = 4
"""Images in the report."""


def train_image_classifier(config: ImagesConfig, corpus: ImageCorpus, run: Run) -> Trained:
    """Train, or go on, and write the model folder, its card and the report. A finished run gives its figures again."""
    signature = describe_images(config)
    if (outcome := run.figures_again()) is not None:
        return Trained(run.folder, outcome, signature)
    seed_streams(config.train.seed)
    size = corpus.size
    model = build_image_encoder(
        config.model,
        image_size=(size.height, size.width),
        channels=size.channels,
        num_labels=len(corpus.labels),
    )
    mean, spread = color_statistics(corpus.train.pixels)
    model.standardize.fit(mean=mean, spread=spread)
    job = ImageJob(corpus.train, corpus.valid, config, group=run.group)
    classifier = ImageClassifier(
        model, corpus.labels, config.model, image_size=(size.height, size.width), channels=size.channels
    )
    shorter = "smaller images (data.image_size)"
    state = run.train(model, job, config.train, shorter=shorter, save=classifier.save)
    if not run.group.leads:
        return Trained(run.folder, {}, signature)
    run.put_model(classifier.save)
    result = run.finish(
        lambda: _measure(classifier, corpus, job, state),
        figures=lambda result: result.figures,
        page=lambda result: _page(config, corpus, run, classifier, result),
        card=lambda result: _card(config, corpus, run, result),
        job=job,
    )
    return Trained(run.folder, result.figures, signature)


class _Measured(NamedTuple):
    scores: dict[str, ClassificationScores]
    figures: dict[str, float]


def _measure(classifier: ImageClassifier, corpus: ImageCorpus, job: ImageJob, state: State) -> _Measured:
    sides = {"valid": corpus.valid} | ({"test": corpus.test} if len(corpus.test) else {})
    scores = {name: job.score(classifier.model, side) for name, side in sides.items()}
    figures = label_figures(scores) | {
        "parameters": count_parameters(classifier.model),
        "labels": len(corpus.labels),
        "steps": state.step,
        "step_seconds": state.seconds / max(1, state.step),
        "seconds": state.seconds,
    }
    return _Measured(scores, figures)


def describe_images(config: ImagesConfig) -> str:
    """Give the signature that results carry.

    >>> describe_images(ImagesConfig())
    'task:images|data:|model:residual-none|seed:1|version:0.1.0'
    """
    spec = config.model
    kind = f"{spec.kind}-{spec.attention}" if spec.kind == "residual" else spec.kind
    return f"task:images|data:{config.data.corpus}|model:{kind}|seed:{config.train.seed}|version:{__version__}"


def _data(config: ImagesConfig, corpus: ImageCorpus) -> str:
    size, labels = corpus.size, ", ".join(corpus.labels[:20])
    return (
        f"{config.data.corpus}: {len(corpus.train):,} images of {size.width} × {size.height} pixels to train on, "
        f"{len(corpus.valid):,} to validate on, {len(corpus.test):,} to test with; labels {labels}"
        f"{', …' if len(corpus.labels) > 20 else ''}."
    )


def _page(config: ImagesConfig, corpus: ImageCorpus, run: Run, classifier: ImageClassifier, result: _Measured) -> str:
    held_out = corpus.test if len(corpus.test) else corpus.valid
    side = held_out.select(range(min(SHOWN, len(held_out))))
    outcome = list(classifier.inspect_pixels(side.pixels))
    gold = [side.names[label] for label in side.labels]
    return images_report(
        Report(
            title=f"Image classifier trained on {config.data.corpus}",
            signature=describe_images(config),
            figures=describe_figures(result.figures),
            command=run.command,
            config=show_settings(config, help=False),
            data=_data(config, corpus),
        ),
        labels=corpus.labels,
        scores=result.scores,
        inspections=[(side.describe(index), outcome[index], gold[index]) for index in range(len(side))],
        metrics=read_metrics(run.folder.metrics),
    )


def _card(config: ImagesConfig, corpus: ImageCorpus, run: Run, result: _Measured) -> str:
    size, figures = corpus.size, result.figures
    card = Card(
        title=f"Image classifier trained on {config.data.corpus}",
        summary=f"{with_article(config.model.kind).capitalize()} network of {figures['parameters']:,.0f} parameters "
        f"for images of {size.width} × {size.height} pixels, trained with regard {__version__} for "
        f"{figures['steps']:,.0f} steps.",
        data=_data(config, corpus),
        license=license_of(config.data.corpus, config.data.license),
        figures=describe_figures(figures),
        command=run.command,
        signature=describe_images(config),
        folder=str(run.folder.model),
        use=CLASSIFY,
        checksum=run.folder.fingerprint(),
    )
    return write_card(card)
