"""The task `align`: sentence pairs in, an aligner of words out."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.config.show import to_table
from regard.errors import with_article
from regard.tasks.alignment.settings import AlignConfig, compose_aligner
from regard.tasks.task import Count, Figures, Gathered, Table, Task, side_name, time_spent
from regard.tasks.translation.settings import DataSize

if TYPE_CHECKING:
    from regard.tasks.alignment.model import WordAligner
    from regard.tasks.translation.data import Corpus
    from regard.training.run import Run, Trained

PRESETS = {
    "mask-align-tiny": "2 + 2 layers of width 128; the default of small corpora",
    "mask-align-small": "6 + 6 layers of width 256; the default of some hundred thousand pairs",
    "mask-align": "6 + 6 layers of width 512 (Chen, Sun and Liu 2021); the default of millions of pairs",
}


def _compose(chosen: Table, size: DataSize, preset: str) -> AlignConfig:
    return compose_aligner(chosen, size, name=preset)


def _gather(config: AlignConfig, chosen: Table, count: Count) -> "Gathered[Corpus, DataSize]":
    from regard.tasks.alignment.data import gather_aligned

    del config  # the shares to hold out follow from the size unless they were chosen
    corpus = gather_aligned(chosen.get("data", {}), count=partial(count, "reading the data"))
    return Gathered(
        corpus=corpus,
        size=corpus.size,
        fingerprint=corpus.fingerprint,
        reports=corpus.reports,
        data=to_table(corpus.data),
    )


def _describe(config: AlignConfig, corpus: "Corpus") -> str:
    return (
        f"{len(corpus.train):,} pairs to train on, {len(corpus.valid):,} to validate on, {len(corpus.test):,} to test "
        f"with; {config.train.steps:,} steps of {with_article(config.model.kind)} model, both directions together"
    )


def _train(config: AlignConfig, corpus: "Corpus", run: "Run", count: Count) -> "Trained":
    from regard.tasks.alignment import train

    return train.train_aligner(config, corpus, run, count=count)


def _conclude(trained: "Trained", side: str) -> str:
    figures = trained.figures
    error = f"alignment error {100 * figures[f'{side}_error']:.1f} %, " if f"{side}_error" in figures else ""
    agreement = f"agreement of both directions {100 * figures[f'{side}_agreement']:.1f} %"
    return f"{error}{agreement} ({side_name(side)}); {time_spent(figures)}"


def _validation(figures: Figures) -> str:
    names = {"error": "alignment error", "agreement": "agreement"}
    return "  ".join(f"{called} {100 * figures[name]:.1f} %" for name, called in names.items() if name in figures)


def _load(path: str | Path, *, device: Any = "cpu") -> "WordAligner":
    from regard.tasks.alignment.model import load_aligner

    return load_aligner(path, device=device)


TASK = Task(
    name="align",
    model="an aligner",
    command="regard align",
    summary="sentence pairs in, an aligner of their words out",
    settings=AlignConfig,
    presets=PRESETS,
    typical=DataSize(pairs=100_000, words=1_000_000),
    compose=_compose,
    gather=_gather,
    describe=_describe,
    train=_train,
    conclude=_conclude,
    load=_load,
    needs_data=lambda config: bool(config.data.corpus or config.data.source),
    validation=_validation,
    pairs=True,
    several=True,
)
