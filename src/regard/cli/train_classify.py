"""`regard train --task classify`: labeled texts in, a classifier out."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.training_run import carry_out, is_quiet, named, print_composed, report_run, tell_time, told_how_it_ended
from regard.errors import with_article

if TYPE_CHECKING:
    from regard.config.classify_run import ClassifyConfig, LabeledSize


def print_classify_config(chosen: dict[str, Any], preset: str) -> None:
    """Show the settings of a run on this data, or on 10,000 texts of 20 words where none is named."""
    from regard.tasks.classification.data import gather_texts

    print_composed(lambda size: _compose(chosen, preset, size), None, gather_texts)


def train_classify(chosen: dict[str, Any], preset: str, out: Path, *, as_json: bool = False) -> None:
    """Train a classifier with the settings `chosen` laid over those of `preset`, into the run folder `out`."""
    config = _compose(chosen, preset)  # mistakes first
    from regard.cli.label_progress import LabelProgress
    from regard.tasks.classification.data import gather_texts
    from regard.tasks.classification.train import train_classifier

    progress = LabelProgress(quiet=is_quiet())
    progress.say("reading the data")
    corpus = gather_texts(config.data)
    for report in corpus.reports:
        if report.dropped:
            progress.say(str(report))
    config = _compose(chosen, preset, corpus.size)
    progress.say(
        f"{len(corpus.train):,} texts to train on, {len(corpus.valid):,} to validate on, {len(corpus.test):,} to test "
        f"with; {len(corpus.labels)} labels; {with_article(config.model.kind)} model"
    )
    with told_how_it_ended(out, progress):
        trained = carry_out(train_classifier, config, corpus, out, fingerprint=corpus.fingerprint(), watcher=progress)
        report_run(trained, tell_labels, as_json=as_json)


def _compose(chosen: dict[str, Any], preset: str, size: "LabeledSize | None" = None) -> "ClassifyConfig":
    from regard.config.classify_run import LabeledSize, compose_classifier

    return compose_classifier(chosen, size or LabeledSize(texts=10_000, words=200_000), name=preset)


def tell_labels(figures: Mapping[str, float], side: str) -> str:
    """Tell how well labels were learned, of texts or images."""
    return (
        f"accuracy {100 * figures[f'{side}_accuracy']:.2f} %, macro-F1 {100 * figures[f'{side}_macro_f1']:.2f}, "
        f"calibration error {figures[f'{side}_calibration_error']:.4f} ({named(side)}); {tell_time(figures)}"
    )
