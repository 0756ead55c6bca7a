"""The task `translate`: sentence pairs in, a translator out."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.config.show import to_table
from regard.errors import with_article
from regard.tasks.task import Count, Gathered, Table, Task, side_name, time_spent
from regard.tasks.translation.settings import FEW_PAIRS, Config, DataSize, compose, suited_preset

if TYPE_CHECKING:
    from regard.tasks.translation.data import Corpus
    from regard.tasks.translation.model import Translator
    from regard.training.run import Run, Trained

PRESETS = {
    "fixed": "one vector for the whole source, at every step (Cho et al. 2014): without attention",
    "dot": "plain dot products, output from context and state",
    "bahdanau": "additive attention from the previous state (Bahdanau et al. 2015)",
    "luong-dot": "stacked LSTMs with input feeding, dot score (Luong et al. 2015)",
    "luong-scaled-dot": "the same, dot score divided by the root of its size",
    "luong-general": "the same, bilinear score",
    "luong-concat": "the same, score of a layer over both states",
    "luong-location": "the same, score of the target state alone",
    "luong-local-m": "the same, in a window that moves along the source",
    "luong-local-p": "the same, in a window whose center is predicted",
    "gaussian": "kernel regression: near memories have the weight",
    "transformer-tiny": "4 + 4 layers of width 128; the default of small corpora",
    "transformer-small": "6 + 6 layers of width 256; the default of some hundred thousand pairs",
    "transformer-base": "6 + 6 layers of width 512 (Vaswani et al. 2017); the default of millions of pairs",
    "statistical": "no network: word translations and n-grams, counted",
}


def _compose(chosen: Table, size: DataSize, preset: str) -> Config:
    return compose(chosen, size, name=preset)


def _suit(chosen: Table, size: DataSize) -> tuple[str, str]:
    from regard.training.group import pick_device

    gpu = pick_device(str(chosen.get("train", {}).get("device", "auto"))).type == "cuda"
    name = suited_preset(chosen, size.pairs, gpu=gpu)
    why = f"no GPU and fewer than {FEW_PAIRS:,} pairs: the model is bahdanau; --preset chooses another"
    return name, why if name == "bahdanau" else ""


def _gather(config: Config, chosen: Table, count: Count) -> "Gathered[Corpus, DataSize]":
    from regard.tasks.translation.data import gather_pairs

    del config  # the shares to hold out follow from the size unless they were chosen
    corpus = gather_pairs(chosen.get("data", {}), count=partial(count, "reading the data"))
    return Gathered(
        corpus=corpus,
        size=corpus.size,
        fingerprint=corpus.fingerprint,
        reports=corpus.reports,
        data=to_table(corpus.data),
    )


def _describe(config: Config, corpus: "Corpus") -> str:
    kind, steps = config.model.kind, config.train.steps
    counts = kind == "statistical"
    model = "a statistical model, which counts" if counts else f"{steps:,} steps of {with_article(kind)} model"
    return (
        f"{len(corpus.train):,} pairs to train on, {len(corpus.valid):,} to validate on, {len(corpus.test):,} to test "
        f"with; {model}"
    )


def _train(config: Config, corpus: "Corpus", run: "Run", count: Count) -> "Trained":
    from regard.tasks.translation import train

    return train.train_translator(config, corpus, run, count=count)


def _conclude(trained: "Trained", side: str) -> str:
    bleu, chrf = (trained.figures[f"{side}_{name}"] for name in ("bleu", "chrf"))
    how = f"; {trained.scored}" if trained.scored else ""
    return f"BLEU {bleu:.2f}, chrF {chrf:.2f} ({side_name(side)}{how}); {time_spent(trained.figures)}"


def _load(path: str | Path, *, device: Any = "cpu") -> "Translator":
    from regard.tasks.translation.model import load

    return load(path, device=device)


TASK = Task(
    name="translate",
    model="a translator",
    command="regard translate",
    summary="sentence pairs in, a translator out",
    settings=Config,
    presets=PRESETS,
    typical=DataSize(pairs=100_000, words=1_000_000),
    compose=_compose,
    gather=_gather,
    describe=_describe,
    train=_train,
    conclude=_conclude,
    load=_load,
    needs_data=lambda config: bool(config.data.corpus or config.data.source),
    suit=_suit,
    pairs=True,
    several=True,
    starts=True,
)
