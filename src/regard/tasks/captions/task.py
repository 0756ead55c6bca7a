"""The task `captions`: pictures with captions in, a captioner out."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import with_article
from regard.tasks.captions.settings import CaptionConfig, compose_captions
from regard.tasks.questions.settings import PictureSize
from regard.tasks.questions.task import TYPICAL, count_pictures, opening
from regard.tasks.task import Count, Gathered, Table, Task, picture_validation, side_name, time_spent

if TYPE_CHECKING:
    from regard.tasks.captions.data import CaptionCorpus
    from regard.tasks.captions.model import Captioner
    from regard.training.run import Run, Trained

PRESETS = {
    "cnn": "a decoder that attends to the positions of a convolutional network; the default",
    "vit": "a decoder that attends to the patches of a Transformer",
    "small": "a narrow one; the default of builtin:simple-shapes",
}


def _compose(chosen: Table, size: PictureSize, preset: str) -> CaptionConfig:
    return compose_captions(chosen, size, name=preset)


def _gather(config: CaptionConfig, chosen: Table, count: Count) -> "Gathered[CaptionCorpus, PictureSize]":
    from regard.tasks.captions.data import gather_captions

    del chosen
    corpus = gather_captions(config.data, count=count_pictures(config.data, count))
    return Gathered(corpus=corpus, size=corpus.size, fingerprint=corpus.fingerprint)


def _describe(config: CaptionConfig, corpus: "CaptionCorpus") -> str:
    return (
        f"{len(corpus.train):,} captions of {len(corpus.train.pictures):,} pictures to train on, "
        f"{len(corpus.valid):,} to validate on, {len(corpus.test):,} to test with; {config.train.steps:,} steps; "
        f"pictures are read by {with_article(config.model.image.kind)} network"
    )


def _train(config: CaptionConfig, corpus: "CaptionCorpus", run: "Run", count: Count) -> "Trained":
    from regard.tasks.captions import train

    del count
    return train.train_captions(config, corpus, run)


def _conclude(trained: "Trained", side: str) -> str:
    exact, bleu = (trained.figures[f"{side}_{name}"] for name in ("exact", "bleu"))
    return (
        f"right word for word {100 * exact:.2f} %, BLEU {bleu:.2f} ({side_name(side)}); {time_spent(trained.figures)}"
    )


def _load(path: str | Path, *, device: Any = "cpu") -> "Captioner":
    from regard.tasks.captions.model import load_captioner

    return load_captioner(path, device=device)


TASK = Task(
    name="captions",
    model="a captioner",
    command="regard caption",
    summary="pictures with captions in, a captioner out",
    settings=CaptionConfig,
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
    rated="words",
    validation=picture_validation,
)
