"""The task `questions`: questions about pictures in, a question answerer out."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.data.corpora.catalogue import is_builtin
from regard.errors import with_article
from regard.tasks.questions.settings import PictureData, PictureSize, QuestionConfig, compose_questions
from regard.tasks.task import Count, Figures, Gathered, Table, Task, picture_validation, side_name, time_spent

if TYPE_CHECKING:
    from regard.tasks.questions.data import QuestionCorpus
    from regard.tasks.questions.model import QuestionAnswerer
    from regard.training.run import Run, Trained

TYPICAL = PictureSize(pictures=10_000, words=400_000)
PRESETS = {
    "cnn": "words attend to the positions of a convolutional network; the default",
    "cnn-mean": "the same with the mean of all positions, without attention to them",
    "vit": "words attend to the patches of a Transformer",
    "vit-mean": "the same with the mean of all patches",
    "small": "a narrow convolutional network; the default of builtin:simple-shapes",
}


def opening(data: PictureData) -> str:
    """Give what is done before training on pictures, in a few words."""
    return "drawing pictures" if is_builtin(data.corpus) else "reading the data"


def count_pictures(data: PictureData, count: Count) -> partial[None]:
    """Give what the pictures are counted by: drawn ones with their total."""
    from regard.tasks.questions.data import scene_counts

    total = sum(scene_counts(data).values()) if is_builtin(data.corpus) else None
    return partial(count, opening(data), total=total)


def _compose(chosen: Table, size: PictureSize, preset: str) -> QuestionConfig:
    return compose_questions(chosen, size, name=preset)


def _gather(config: QuestionConfig, chosen: Table, count: Count) -> "Gathered[QuestionCorpus, PictureSize]":
    from regard.tasks.questions.data import gather_questions

    del chosen
    corpus = gather_questions(config.data, count=count_pictures(config.data, count))
    return Gathered(corpus=corpus, size=corpus.size, fingerprint=corpus.fingerprint)


def _describe(config: QuestionConfig, corpus: "QuestionCorpus") -> str:
    return (
        f"{len(corpus.train):,} questions of {len(corpus.train.pictures):,} pictures to train on, "
        f"{len(corpus.valid):,} to validate on, {len(corpus.test):,} to test with; {config.train.steps:,} steps; "
        f"pictures are read by {with_article(config.model.image.kind)} network"
    )


def _train(config: QuestionConfig, corpus: "QuestionCorpus", run: "Run", count: Count) -> "Trained":
    from regard.tasks.questions import train

    del count
    return train.train_questions(config, corpus, run)


def _conclude(trained: "Trained", side: str) -> str:
    figures = trained.figures
    return f"accuracy {100 * figures[f'{side}_accuracy']:.2f} % ({side_name(side)}); {time_spent(figures)}"


def _table(figures: Figures, side: str) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Give accuracy by kind of question, beside the baselines."""
    from regard.tasks.questions.page import kind_rows

    start = f"{side}_accuracy_"
    kinds = [name.removeprefix(start) for name in figures if name.startswith(start)]
    return ["right, percent", "model", "majority", "question alone"], kind_rows(figures, kinds, side)


def _load(path: str | Path, *, device: Any = "cpu") -> "QuestionAnswerer":
    from regard.tasks.questions.model import load_question_answerer

    return load_question_answerer(path, device=device)


TASK = Task(
    name="questions",
    model="a question answerer",
    command="regard ask",
    summary="questions about pictures in, a question answerer out",
    settings=QuestionConfig,
    presets=PRESETS,
    typical=TYPICAL,
    compose=_compose,
    gather=_gather,
    describe=_describe,
    train=_train,
    conclude=_conclude,
    load=_load,
    needs_data=lambda config: bool(config.data.corpus),
    opening=lambda config: opening(config.data),
    counted="pictures",
    rated="questions",
    validation=picture_validation,
    table=_table,
)
