"""The task `images`: labeled images in, an image classifier out."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import with_article
from regard.tasks.images.settings import TYPICAL, ImagesConfig, ImagesSize, compose_images
from regard.tasks.task import Count, Gathered, Table, Task, label_sentence, label_validation

if TYPE_CHECKING:
    from regard.tasks.images.data import ImageCorpus
    from regard.tasks.images.model import ImageClassifier
    from regard.training.run import Run, Trained

PRESETS = {
    "resnet": "a residual network without attention; the default",
    "resnet-channel": "the same, with attention to channels",
    "resnet-spatial": "the same, with attention to positions",
    "resnet-both": "the same, with attention to both",
    "resnet-small": "a narrow one; the default of builtin:simple-shapes",
    "vit": "a Transformer over patches",
}


def _compose(chosen: Table, size: ImagesSize, preset: str) -> ImagesConfig:
    return compose_images(chosen, size, name=preset)


def _gather(config: ImagesConfig, chosen: Table, count: Count) -> "Gathered[ImageCorpus, ImagesSize]":
    from regard.tasks.images.data import gather_images

    del chosen
    corpus = gather_images(config.data, count=partial(count, "reading the data"))
    return Gathered(corpus=corpus, size=corpus.size, fingerprint=corpus.fingerprint, reports=corpus.reports)


def _describe(config: ImagesConfig, corpus: "ImageCorpus") -> str:
    size = corpus.size
    return (
        f"{len(corpus.train):,} images of {size.width} × {size.height} pixels to train on, {len(corpus.valid):,} to "
        f"validate on, {len(corpus.test):,} to test with; {len(corpus.labels)} labels; "
        f"{with_article(config.model.kind)} network"
    )


def _train(config: ImagesConfig, corpus: "ImageCorpus", run: "Run", count: Count) -> "Trained":
    from regard.tasks.images import train

    del count
    return train.train_image_classifier(config, corpus, run)


def _load(path: str | Path, *, device: Any = "cpu") -> "ImageClassifier":
    from regard.tasks.images.model import load_image_classifier

    return load_image_classifier(path, device=device)


TASK = Task(
    name="images",
    model="an image classifier",
    command="regard classify",
    summary="labeled images in, an image classifier out",
    settings=ImagesConfig,
    presets=PRESETS,
    typical=TYPICAL,
    compose=_compose,
    gather=_gather,
    describe=_describe,
    train=_train,
    conclude=label_sentence,
    load=_load,
    needs_data=lambda config: bool(config.data.corpus),
    counted="images",
    rated="images",
    validation=label_validation,
)
