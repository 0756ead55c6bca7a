"""The task `classify`: labeled texts in, a classifier out."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import with_article
from regard.tasks.classification.settings import ClassifyConfig, LabeledSize, compose_classifier
from regard.tasks.task import Count, Gathered, Table, Task, label_sentence, label_validation

if TYPE_CHECKING:
    from regard.tasks.classification.data import LabeledCorpus
    from regard.tasks.classification.model import Classifier
    from regard.training.run import Run, Trained

PRESETS = {
    "tf-idf": "words weighted by how rare they are, logistic regression; needs regard[sklearn]",
    "average": "the mean of the word vectors",
    "token-weights": "a mean weighted by one learned number for each word",
    "feed-forward": "the mean, through a hidden layer",
    "rnn": "the state after the last word",
    "lstm": "the same, of an LSTM",
    "gru": "the same, of a GRU",
    "attentive-pooling": "a mean weighted by attention to the word vectors",
    "rnn-attention": "a mean of states weighted by attention, read both ways",
    "lstm-attention": "the same, of an LSTM; the default",
    "structured": "four attention heads, kept apart (Lin et al. 2017)",
    "transformer": "two Transformer blocks, and a learned query to their states",
}


def _compose(chosen: Table, size: LabeledSize, preset: str) -> ClassifyConfig:
    return compose_classifier(chosen, size, name=preset)


def _gather(config: ClassifyConfig, chosen: Table, count: Count) -> "Gathered[LabeledCorpus, LabeledSize]":
    from regard.tasks.classification.data import gather_texts

    del chosen, count  # a file of texts is read at once
    corpus = gather_texts(config.data)
    return Gathered(corpus=corpus, size=corpus.size, fingerprint=corpus.fingerprint, reports=corpus.reports)


def _describe(config: ClassifyConfig, corpus: "LabeledCorpus") -> str:
    return (
        f"{len(corpus.train):,} texts to train on, {len(corpus.valid):,} to validate on, {len(corpus.test):,} to test "
        f"with; {len(corpus.labels)} labels; {with_article(config.model.kind)} model"
    )


def _train(config: ClassifyConfig, corpus: "LabeledCorpus", run: "Run", count: Count) -> "Trained":
    from regard.tasks.classification import train

    del count
    return train.train_classifier(config, corpus, run)


def _load(path: str | Path, *, device: Any = "cpu") -> "Classifier":
    from regard.tasks.classification.model import load_classifier

    return load_classifier(path, device=device)


TASK = Task(
    name="classify",
    model="a text classifier",
    command="regard classify",
    summary="labeled texts in, a text classifier out",
    settings=ClassifyConfig,
    presets=PRESETS,
    typical=LabeledSize(texts=10_000, words=200_000),
    compose=_compose,
    gather=_gather,
    describe=_describe,
    train=_train,
    conclude=label_sentence,
    load=_load,
    needs_data=lambda config: bool(config.data.corpus),
    counted="texts",
    rated="texts",
    validation=label_validation,
    several=True,
    starts=True,
)
