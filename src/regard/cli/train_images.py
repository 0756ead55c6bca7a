"""`regard train --task images`: labeled images in, an image classifier out."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.train_classify import report_labels
from regard.cli.training_run import command_line, joined_run, told_how_it_ended

if TYPE_CHECKING:
    from regard.config.image_run import ImagesConfig
    from regard.tasks.classification import TrainedClassifier
    from regard.tasks.labeled_images import ImageCorpus


def print_images_config(chosen: dict[str, Any], preset: str) -> None:
    """Show the settings of a run on this data, or on 5,000 small pictures where none is named."""
    from regard.config.image_run import TYPICAL, compose_images
    from regard.config.show import show_settings

    config = compose_images(chosen, TYPICAL, name=preset)
    if config.data.corpus:
        from regard.tasks.labeled_images import gather_images

        config = compose_images(chosen, gather_images(config.data).size, name=preset)
    print(show_settings(config))


def train_images(chosen: dict[str, Any], preset: str, out: Path, *, as_json: bool = False) -> None:
    """Train an image classifier with the settings `chosen` laid over those of `preset`, into the run folder `out`."""
    from regard.config.image_run import TYPICAL, compose_images

    config = compose_images(chosen, TYPICAL, name=preset)  # mistakes first
    from regard.cli.label_progress import LabelProgress
    from regard.tasks.labeled_images import gather_images

    progress = LabelProgress(quiet=os.environ.get("RANK", "0") != "0", unit="images")
    progress.say("reading the data")
    corpus = gather_images(config.data, count=partial(progress.count, "reading the data", unit="images"))
    for report in corpus.reports:
        if report.dropped:
            progress.say(str(report))
    config = compose_images(chosen, corpus.size, name=preset)
    size = corpus.size
    progress.say(
        f"{len(corpus.train):,} images of {size.width} × {size.height} pixels to train on, {len(corpus.valid):,} to "
        f"validate on, {len(corpus.test):,} to test with; {len(corpus.labels)} labels; a {config.model.kind} network"
    )
    with told_how_it_ended(out, progress):
        report_labels(_train(config, corpus, out, progress), as_json=as_json)


def _train(config: "ImagesConfig", corpus: "ImageCorpus", out: Path, progress: Any) -> "TrainedClassifier":
    from regard.tasks.images import train_image_classifier
    from regard.tasks.run_folder import RunFolder

    folder = RunFolder(out)
    with joined_run(config, folder, device=config.train.device, fingerprint=corpus.fingerprint()) as joined:
        return train_image_classifier(
            config,
            corpus,
            folder,
            command=command_line(),
            watcher=progress,
            group=joined.group,
            interruption=joined.interruption,
        )
