"""`regard train --task questions` and `--task captions`: pictures in, a model that answers or describes out."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from regard.cli.training_run import carry_out, is_quiet, named, print_composed, report_run, tell_time, told_how_it_ended
from regard.errors import with_article


def print_picture_config(task: str, chosen: dict[str, Any], preset: str) -> None:
    """Show the settings of a run on this data, or on 10,000 pictures where none is named."""
    print_composed(partial(_compose, task, chosen, preset), None, partial(_gather, task))


def train_on_pictures(task: str, chosen: dict[str, Any], preset: str, out: Path, *, as_json: bool = False) -> None:
    """Train with the settings `chosen` laid over those of `preset`, into the run folder `out`."""
    config = _compose(task, chosen, preset)  # mistakes first
    from regard.cli.picture_progress import PictureProgress
    from regard.data.corpora.catalogue import is_builtin
    from regard.tasks.questions.data import scene_counts

    unit = "questions" if task == "questions" else "words"
    progress = PictureProgress(unit=unit, quiet=is_quiet())
    builtin = is_builtin(config.data.corpus)
    doing = "drawing pictures" if builtin else "reading the data"
    total = sum(scene_counts(config.data).values()) if builtin else None
    progress.say(doing)
    corpus = _gather(task, config.data, count=partial(progress.count, doing, unit="pictures", total=total))
    config = _compose(task, chosen, preset, corpus.size)
    sides = (corpus.train, corpus.valid, corpus.test)
    trained, valid, test = (f"{len(side):,}" for side in sides)
    said = "questions" if task == "questions" else "captions"
    progress.say(
        f"{trained} {said} of {len(corpus.train.pictures):,} pictures to train on, {valid} to validate on, {test} to "
        f"test with; {config.train.steps:,} steps; pictures are read by "
        f"{with_article(config.model.image.kind)} network"
    )
    with told_how_it_ended(out, progress):
        fingerprint = corpus.fingerprint()
        trained = carry_out(_trainer(task), config, corpus, out, fingerprint=fingerprint, watcher=progress)
        if task == "questions":
            report_run(trained, _tell_questions, show=_print_kinds, as_json=as_json)
        else:
            report_run(trained, _tell_captions, as_json=as_json)


def _compose(task: str, chosen: dict[str, Any], preset: str, size: Any = None) -> Any:
    from regard.config.captions import compose_captions
    from regard.config.picture_data import PictureSize
    from regard.config.questions import compose_questions

    size = size or PictureSize(pictures=10_000, words=400_000)
    return (compose_questions if task == "questions" else compose_captions)(chosen, size, name=preset)


def _gather(task: str, data: Any, count: Any = None) -> Any:
    from regard.tasks.captions.data import gather_captions
    from regard.tasks.questions.data import gather_questions

    return (gather_questions if task == "questions" else gather_captions)(data, count=count)


def _trainer(task: str) -> Any:
    from regard.tasks.captions.train import train_captions
    from regard.tasks.questions.train import train_questions

    return train_questions if task == "questions" else train_captions


def _tell_questions(figures: Mapping[str, float], side: str) -> str:
    return _tell(f"accuracy {100 * figures[f'{side}_accuracy']:.2f} %", figures, side)


def _tell_captions(figures: Mapping[str, float], side: str) -> str:
    exact = f"right word for word {100 * figures[f'{side}_exact']:.2f} %"
    return _tell(f"{exact}, BLEU {figures[f'{side}_bleu']:.2f}", figures, side)


def _tell(first: str, figures: Mapping[str, float], side: str) -> str:
    return f"{first} ({named(side)}); {tell_time(figures)}"


def _print_kinds(figures: Mapping[str, float], side: str) -> None:
    from regard.cli.tables import print_table
    from regard.tasks.questions.page import kind_rows

    start = f"{side}_accuracy_"
    kinds = [name.removeprefix(start) for name in figures if name.startswith(start)]
    print_table(["right, percent", "model", "majority", "question alone"], kind_rows(figures, kinds, side))
