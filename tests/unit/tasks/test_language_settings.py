"""The settings of language models."""

import pytest

from regard.config.language import BagSpec, NGramSpec, RecurrentLanguageSpec, TransformerLanguageSpec
from regard.config.read import read_settings
from regard.config.show import to_table
from regard.errors import ArgumentError
from regard.tasks.language.settings import LANGUAGE_PRESETS, LanguageConfig, TextData, compose_language


@pytest.mark.parametrize("name", LANGUAGE_PRESETS)
def test_a_preset_is_read_back(name):
    config = compose_language({}, name=name)
    assert config.model == LANGUAGE_PRESETS[name]()
    assert config.train.metric == "loss"
    assert read_settings(LanguageConfig, to_table(config)) == config


def test_what_is_chosen_lies_over_the_preset():
    config = compose_language({"model": {"num_layers": 3}, "train": {"steps": 5}}, name="gru-attention")
    assert (config.model.num_layers, config.model.attention_span, config.train.steps) == (3, 64, 5)
    assert compose_language({"model": {"kind": "bag"}}, name="lstm").model == BagSpec()


def test_the_vocabulary_suits_the_kind_of_token():
    sizes = {
        kind: compose_language({"tokenizer": {"kind": kind}}).tokenizer.vocabulary_size for kind in ("bpe", "word")
    }
    assert sizes == {"bpe": 2000, "word": 20_000}
    assert (compose_language({}).data.length, compose_language({}, name="transformer").data.length) == (32, 64)
    assert compose_language({"tokenizer": {"vocabulary_size": 300}}).tokenizer.vocabulary_size == 300


def test_a_tied_last_layer_is_as_wide_as_the_embedding():
    assert RecurrentLanguageSpec(embedding_size=4, hidden_size=6, num_layers=3).sizes == (4, 6, 6, 4)
    assert RecurrentLanguageSpec(embedding_size=4, hidden_size=6, num_layers=1, tie=False).sizes == (4, 6)


CASES = [
    (lambda: BagSpec(smoothing=0.0), "`smoothing` must be above 0; received 0"),
    (lambda: NGramSpec(order=0), "`order` must be at least 1; received 0"),
    (
        lambda: RecurrentLanguageSpec(attention_span=3, num_heads=3),
        "`num_heads` must divide the width of the last layer, 128; received 3",
    ),
    (lambda: TransformerLanguageSpec(num_heads=3), "`num_heads` must divide `size`, 128; received 3"),
    (lambda: TextData(hold_out=1.0), "`hold_out` must be from 0 to below 1; received 1"),
    (
        lambda: compose_language({}, name="x"),
        '`preset` must be the name of a language model; received "x". Choose one',
    ),
    (
        lambda: compose_language({"train": {"metric": "bleu"}}),
        'train.metric: must be one of loss; received "bleu".',
    ),
    (lambda: compose_language({"train": {"r_drop": 1.0}}), "train.r_drop: unknown key."),
    (
        lambda: LanguageConfig(model=TransformerLanguageSpec(context=16)),
        "data.length: must be at most model.context, 16; received 32",
    ),
    (
        lambda: LanguageConfig(data=TextData(stride=16)),
        "data.stride: must be 0 for a model that reads a text from beginning to end; received 16. It is for Transfor",
    ),
]


@pytest.mark.parametrize(("make", "message"), CASES)
def test_errors(make, message):
    with pytest.raises(ArgumentError) as caught:
        make()
    assert message in str(caught.value)


def test_waves_come_in_pairs():
    with pytest.raises(ArgumentError, match='`size` must be even for position "sinusoidal"; received 33'):
        TransformerLanguageSpec(size=33, num_heads=3, position="sinusoidal")


def test_a_plain_recurrent_model_may_attend():
    spec = LANGUAGE_PRESETS["rnn-attention"]()
    assert (spec.cell, spec.attention_span) == ("rnn", 64)
    assert LANGUAGE_PRESETS["gru"]().cell == "gru"
