"""`regard train --task images`: labeled images in, an image classifier out."""

from functools import partial
from pathlib import Path
from typing import Any

from regard.cli.train_classify import tell_labels
from regard.cli.training_run import carry_out, is_quiet, print_composed, report_run, told_how_it_ended
from regard.errors import with_article


def print_images_config(chosen: dict[str, Any], preset: str) -> None:
    """Show the settings of a run on this data, or on 5,000 small pictures where none is named."""
    from regard.config.image_run import TYPICAL, compose_images
    from regard.tasks.images.data import gather_images

    print_composed(lambda size: compose_images(chosen, size, name=preset), TYPICAL, gather_images)


def train_images(chosen: dict[str, Any], preset: str, out: Path, *, as_json: bool = False) -> None:
    """Train an image classifier with the settings `chosen` laid over those of `preset`, into the run folder `out`."""
    from regard.config.image_run import TYPICAL, compose_images

    config = compose_images(chosen, TYPICAL, name=preset)  # mistakes first
    from regard.cli.label_progress import LabelProgress
    from regard.tasks.images.data import gather_images
    from regard.tasks.images.train import train_image_classifier

    progress = LabelProgress(quiet=is_quiet(), unit="images")
    progress.say("reading the data")
    corpus = gather_images(config.data, count=partial(progress.count, "reading the data", unit="images"))
    for report in corpus.reports:
        if report.dropped:
            progress.say(str(report))
    size = corpus.size
    config = compose_images(chosen, size, name=preset)
    progress.say(
        f"{len(corpus.train):,} images of {size.width} × {size.height} pixels to train on, {len(corpus.valid):,} to "
        f"validate on, {len(corpus.test):,} to test with; {len(corpus.labels)} labels; "
        f"{with_article(config.model.kind)} network"
    )
    with told_how_it_ended(out, progress):
        trained = carry_out(
            train_image_classifier, config, corpus, out, fingerprint=corpus.fingerprint(), watcher=progress
        )
        report_run(trained, tell_labels, as_json=as_json)
