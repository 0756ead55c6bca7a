"""Train an image classifier: from labeled images and settings to a model folder, a card and a report."""

import time

from regard import __version__
from regard.config.image_run import ImagesConfig
from regard.config.show import show_settings
from regard.data.images.pixels import color_statistics
from regard.errors import with_article
from regard.evaluation.classification import ClassificationScores
from regard.files import write_text
from regard.models.build import count_parameters
from regard.models.vision.build import build_image_encoder
from regard.tasks.card import Card, Use, write_card
from regard.tasks.classification import label_figures
from regard.tasks.classify_page import told
from regard.tasks.image_classifier import ImageClassifier
from regard.tasks.image_job import ImageJob
from regard.tasks.image_page import images_report
from regard.tasks.labeled_images import ImageCorpus
from regard.tasks.run import Run, Trained
from regard.training.failure import needing_room
from regard.training.streams import seed_streams
from regard.training.watch import read_metrics

CLASSIFY = Use("image-classification", "classify", 'classify(["picture.png"])')
SHOWN = 4
"""Images in the report."""


def train_image_classifier(config: ImagesConfig, corpus: ImageCorpus, run: Run) -> Trained:
    """Train, or go on, and write the model folder, its card and the report. A finished run gives its figures again."""
    signature = describe_images(config)
    if (found := run.figures_again()) is not None:
        return Trained(run.folder, found, signature)
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
    begun = time.perf_counter()
    state = run.train(model, job, config.train, shorter="smaller images (data.image_size)")
    if not run.group.leads:
        return Trained(run.folder, {}, signature)
    scores = {"valid": job.score(model, corpus.valid)}
    if len(corpus.test):
        scores["test"] = job.score(model, corpus.test)
    figures = label_figures(scores) | {
        "parameters": count_parameters(model),
        "labels": len(corpus.labels),
        "steps": state.step,
        "step_seconds": state.seconds / max(1, state.step),
        "seconds": time.perf_counter() - begun,
    }
    classifier = ImageClassifier(
        model, corpus.labels, config.model, image_size=(size.height, size.width), channels=size.channels
    )
    with needing_room(run.folder.path):
        _write(config, corpus, run, classifier, scores, figures)
    return Trained(run.folder, figures, signature)


def describe_images(config: ImagesConfig) -> str:
    """Give the signature that results carry.

    >>> describe_images(ImagesConfig())
    'task:images|data:|model:residual-none|seed:1|version:0.1.0'
    """
    spec = config.model
    kind = f"{spec.kind}-{spec.attention}" if spec.kind == "residual" else spec.kind
    return f"task:images|data:{config.data.corpus}|model:{kind}|seed:{config.train.seed}|version:{__version__}"


def _write(
    config: ImagesConfig,
    corpus: ImageCorpus,
    run: Run,
    classifier: ImageClassifier,
    scores: dict[str, ClassificationScores],
    figures: dict[str, float],
) -> None:
    """Write the report, then the model folder."""
    size, labels = corpus.size, ", ".join(corpus.labels[:20])
    data = (
        f"{config.data.corpus}: {len(corpus.train):,} images of {size.width} × {size.height} pixels to train on, "
        f"{len(corpus.valid):,} to validate on, {len(corpus.test):,} to test with; labels {labels}"
        f"{', …' if len(corpus.labels) > 20 else ''}."
    )
    title, signature = f"Image classifier trained on {config.data.corpus}", describe_images(config)
    held_out = corpus.test if len(corpus.test) else corpus.valid
    side = held_out.select(range(min(SHOWN, len(held_out))))
    found = list(classifier.inspect_pixels(side.pixels))
    gold = [side.names[label] for label in side.labels]
    page = images_report(
        title=title,
        data=data,
        figures=figures,
        labels=corpus.labels,
        scores=scores,
        inspections=[(side.place(index), found[index], gold[index]) for index in range(len(side))],
        metrics=read_metrics(run.folder.metrics),
        command=run.command,
        signature=signature,
        config=show_settings(config, help=False),
    )
    write_text(run.folder.report, page)
    card = Card(
        title=title,
        summary=f"{with_article(config.model.kind).capitalize()} network of {figures['parameters']:,.0f} parameters "
        f"for images of {size.width} × {size.height} pixels, trained with regard {__version__} for "
        f"{figures['steps']:,.0f} steps.",
        data=data,
        license=config.data.license,
        figures=told(figures),
        command=run.command,
        signature=signature,
        folder=str(run.folder.model),
        use=CLASSIFY,
    )
    run.put_model(classifier.save, card=write_card(card), figures=figures)
