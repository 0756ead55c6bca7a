"""Settings of classifiers: what suits the data, and what a classifier has no use for."""

import pytest

from regard.errors import ArgumentError
from regard.tasks.classification.settings import CLASSIFIERS, ClassifyConfig, LabeledSize, compose_classifier
from regard.tasks.translation.settings import DataSize, compose

SIZE = LabeledSize(texts=5_000, words=50_000)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_preset_is_the_model(name):
    assert compose_classifier({}, SIZE, name=name).model == CLASSIFIERS[name]


def test_what_is_chosen_stands_over_the_preset():
    chosen = {"model": {"size": 32}, "train": {"metric": "accuracy", "steps": 70}}
    config = compose_classifier(chosen, SIZE, name="lstm")
    assert (config.model.kind, config.model.size) == ("last-state", 32)
    assert (config.train.metric, config.train.steps) == ("accuracy", 70)
    assert config.train.validate_every <= 70


def test_long_texts_come_in_larger_batches():
    short, long = compose_classifier({}, SIZE), compose_classifier({}, LabeledSize(texts=5_000, words=1_000_000))
    assert (short.train.batch_tokens, long.train.batch_tokens) == (1024, 8192)


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ({"metric": "bleu"}, 'train.metric: must be one of loss, accuracy, macro_f1; received "bleu".'),
        ({"r_drop": 5.0}, "train.r_drop: unknown key. Choose one of steps, minutes, "),
        ({"bpe_dropout": 0.1}, "train.bpe_dropout: unknown key."),
        ({"guided_alignment": 0.5}, "train.guided_alignment: unknown key."),
        ({"samples": 2}, "train.samples: unknown key."),
    ],
)
def test_what_a_classifier_has_no_use_for_is_refused(train, message):
    with pytest.raises(ArgumentError, match=message):
        compose_classifier({"train": train}, SIZE)


def test_settings_without_data_are_whole():
    assert ClassifyConfig().train.metric == "loss"


def test_a_translator_is_not_measured_by_accuracy():
    message = 'train.metric: must be one of bleu, chrf, loss; received "accuracy".'
    with pytest.raises(ArgumentError, match=message):
        compose({"train": {"metric": "accuracy"}}, DataSize(pairs=1000, words=9000))
