"""`regard train --task classify`: labeled texts in, a classifier out."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.training_run import command_line, joined_run, told_how_it_ended

if TYPE_CHECKING:
    from regard.config.classify_run import ClassifyConfig
    from regard.tasks.classification import TrainedClassifier
    from regard.tasks.labeled_texts import LabeledCorpus


def print_classify_config(chosen: dict[str, Any], preset: str) -> None:
    """Show the settings of a run on this data, or on 10,000 texts of 20 words where none is named."""
    from regard.config.classify_run import LabeledSize, compose_classifier
    from regard.config.show import show_settings

    size = LabeledSize(texts=10_000, words=200_000)
    config = compose_classifier(chosen, size, name=preset)
    if config.data.corpus:
        from regard.tasks.labeled_texts import gather_texts

        config = compose_classifier(chosen, gather_texts(config.data).size, name=preset)
    print(show_settings(config))


def train_classify(chosen: dict[str, Any], preset: str, out: Path, *, as_json: bool = False) -> None:
    """Train a classifier with the settings `chosen` laid over those of `preset`, into the run folder `out`."""
    from regard.config.classify_run import LabeledSize, compose_classifier

    config = compose_classifier(chosen, LabeledSize(texts=10_000, words=200_000), name=preset)  # mistakes first
    from regard.cli.label_progress import LabelProgress
    from regard.tasks.labeled_texts import gather_texts

    progress = LabelProgress(quiet=os.environ.get("RANK", "0") != "0")
    progress.say("reading the data")
    corpus = gather_texts(config.data)
    for report in corpus.reports:
        if report.dropped:
            progress.say(str(report))
    config = compose_classifier(chosen, corpus.size, name=preset)
    progress.say(
        f"{len(corpus.train):,} texts to train on, {len(corpus.valid):,} to validate on, {len(corpus.test):,} to test "
        f"with; {len(corpus.labels)} labels; a {config.model.kind} model"
    )
    with told_how_it_ended(out, progress):
        report_labels(_train(config, corpus, out, progress), as_json=as_json)


def _train(config: "ClassifyConfig", corpus: "LabeledCorpus", out: Path, progress: Any) -> "TrainedClassifier":
    from regard.tasks.classification import train_classifier
    from regard.tasks.run_folder import RunFolder

    folder = RunFolder(out)
    with joined_run(config, folder, device=config.train.device, fingerprint=corpus.fingerprint()) as joined:
        return train_classifier(
            config,
            corpus,
            folder,
            command=command_line(),
            watcher=progress,
            group=joined.group,
            interruption=joined.interruption,
        )


def report_labels(trained: "TrainedClassifier", *, as_json: bool) -> None:
    """Write the figures of a run that has learned labels, of texts or images."""
    if not trained.figures:
        return  # not the first of several processes
    figures, folder = trained.figures, trained.folder
    if as_json:
        places = {"model": str(folder.model), "report": str(folder.report)}
        print(json.dumps({**figures, **places, "signature": trained.signature}))
        return
    side, name = ("test", "test") if "test_accuracy" in figures else ("valid", "validation")
    print(
        f"accuracy {100 * figures[f'{side}_accuracy']:.2f} %, macro-F1 {100 * figures[f'{side}_macro_f1']:.2f}, "
        f"calibration error {figures[f'{side}_calibration_error']:.4f} ({name}); {figures['steps']:,.0f} steps in "
        f"{figures['seconds']:,.0f} s\nmodel   {folder.model}\nreport  {folder.report}\n{trained.signature}"
    )
