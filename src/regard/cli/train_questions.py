"""`regard train --task questions` and `--task captions`: pictures in, a model that answers or describes out."""

import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.cli.training_run import command_line, joined_run, told_how_it_ended

if TYPE_CHECKING:
    from regard.cli.picture_progress import PictureProgress
    from regard.tasks.questions import TrainedOnPictures


def print_picture_config(task: str, chosen: dict[str, Any], preset: str) -> None:
    """Show the settings of a run on this data, or on 10,000 pictures where none is named."""
    from regard.config.show import show_settings

    config = _compose(task, chosen, preset)
    if config.data.corpus:
        config = _compose(task, chosen, preset, _gather(task, config.data).size)
    print(show_settings(config))


def train_on_pictures(task: str, chosen: dict[str, Any], preset: str, out: Path, *, as_json: bool = False) -> None:
    """Train with the settings `chosen` laid over those of `preset`, into the run folder `out`."""
    config = _compose(task, chosen, preset)  # mistakes first
    from regard.cli.picture_progress import PictureProgress

    unit = "questions" if task == "questions" else "words"
    progress = PictureProgress(unit=unit, quiet=os.environ.get("RANK", "0") != "0")
    builtin = config.data.corpus.startswith("builtin:")
    doing = "drawing pictures" if builtin else "reading the data"
    total = config.data.scenes + 2 * config.data.held_out_scenes if builtin else None
    progress.say(doing)
    corpus = _gather(task, config.data, count=partial(progress.count, doing, unit="pictures", total=total))
    config = _compose(task, chosen, preset, corpus.size)
    sides = (corpus.train, corpus.valid, corpus.test)
    trained, valid, test = (f"{len(side):,}" for side in sides)
    said = "questions" if task == "questions" else "captions"
    progress.say(
        f"{trained} {said} of {len(corpus.train.pictures):,} pictures to train on, {valid} to validate on, {test} to "
        f"test with; {config.train.steps:,} steps; pictures are read by a {config.model.image.kind} network"
    )
    with told_how_it_ended(out, progress):
        _report(task, _train(task, config, corpus, out, progress), as_json=as_json)


def _compose(task: str, chosen: dict[str, Any], preset: str, size: Any = None) -> Any:
    from regard.config.captions import compose_captions
    from regard.config.picture_data import PictureSize
    from regard.config.questions import compose_questions

    size = size or PictureSize(pictures=10_000, words=400_000)
    return (compose_questions if task == "questions" else compose_captions)(chosen, size, name=preset)


def _gather(task: str, data: Any, count: Any = None) -> Any:
    from regard.tasks.caption_data import gather_captions
    from regard.tasks.question_data import gather_questions

    return (gather_questions if task == "questions" else gather_captions)(data, count=count)


def _train(task: str, config: Any, corpus: Any, out: Path, progress: "PictureProgress") -> "TrainedOnPictures":
    from regard.tasks.captions import train_captions
    from regard.tasks.questions import train_questions
    from regard.tasks.run_folder import RunFolder

    folder = RunFolder(out)
    train: Any = train_questions if task == "questions" else train_captions
    with joined_run(config, folder, device=config.train.device, fingerprint=corpus.fingerprint()) as joined:
        found: TrainedOnPictures = train(
            config,
            corpus,
            folder,
            command=command_line(),
            watcher=progress,
            group=joined.group,
            interruption=joined.interruption,
        )
        return found


def _report(task: str, trained: "TrainedOnPictures", *, as_json: bool) -> None:
    if not trained.figures:
        return  # not the first of several processes
    figures, folder = trained.figures, trained.folder
    if as_json:
        places = {"model": str(folder.model), "report": str(folder.report)}
        print(json.dumps({**figures, **places, "signature": trained.signature}))
        return
    tested = any(name.startswith("test_") for name in figures)
    side, name = ("test", "test") if tested else ("valid", "validation")
    if task == "questions":
        _print_kinds(figures, side)
        first = f"accuracy {100 * figures[f'{side}_accuracy']:.2f} %"
    else:
        first = f"right word for word {100 * figures[f'{side}_exact']:.2f} %, BLEU {figures[f'{side}_bleu']:.2f}"
    print(
        f"{first} ({name}); {figures['steps']:,.0f} steps in {figures['seconds']:,.0f} s\n"
        f"model   {folder.model}\nreport  {folder.report}\n{trained.signature}"
    )


def _print_kinds(figures: dict[str, float], side: str) -> None:
    from regard.cli.tables import print_table
    from regard.tasks.question_page import kind_rows

    start = f"{side}_accuracy_"
    kinds = [name.removeprefix(start) for name in figures if name.startswith(start)]
    print_table(["right, percent", "model", "majority", "question alone"], kind_rows(figures, kinds, side))
