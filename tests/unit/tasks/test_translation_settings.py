"""Settings laid over one another."""

import subprocess
import sys
import tomllib

import pytest

from regard.config.model import RecurrentSpec, TransformerSpec
from regard.config.read import parse_assignments, read_settings
from regard.config.show import show_settings
from regard.errors import ArgumentError
from regard.tasks.translation.presets import PRESETS
from regard.tasks.translation.settings import Config, DataSize, compose, defaults_for, hold_out_for, suited_preset

SMALL = DataSize(pairs=10_000, words=90_000, vocabulary=600, builtin=True)
LARGE = DataSize(pairs=4_000_000, words=100_000_000)


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_every_preset_is_shown_and_read_back(name, size):
    config = compose({}, size, name=name)
    assert read_settings(Config, tomllib.loads(show_settings(config))) == config


def test_the_command_line_wins_over_the_preset_and_that_over_what_suits():
    chosen = parse_assignments(["train.steps=200", "model.hidden_size=64", "train.schedule.kind=cosine"])
    config = compose(chosen, SMALL, name="bahdanau")
    assert (config.train.steps, config.model.hidden_size, config.train.schedule.kind) == (200, 64, "cosine")
    assert config.train.schedule.warm_up == 20
    assert config.model.embedding_size == 128
    assert config.tokenizer.kind == "word"


def test_without_a_preset_the_model_grows_with_the_data():
    assert compose({}, SMALL).model == TransformerSpec(size=128, feed_forward_size=256, dropout=0.1)
    assert compose({}, LARGE).model.size == 512
    assert compose({}, LARGE).tokenizer.vocabulary_size == 32_000
    assert isinstance(compose({"model": {"kind": "recurrent"}}, SMALL).model, RecurrentSpec)


@pytest.mark.parametrize(
    ("chosen", "pairs", "gpu", "name"),
    [
        ([], 199_999, False, "bahdanau"),
        ([], 199_999, True, "transformer-tiny"),
        ([], 200_000, False, "transformer-small"),
        (["model.kind=transformer"], 1000, False, "transformer-tiny"),
        (["model.size=64"], 1000, False, "transformer-tiny"),  # which only a Transformer has
        (["model.kind=recurrent"], 1000, False, ""),
    ],
)
def test_without_a_gpu_few_pairs_get_a_recurrent_model_unless_one_is_chosen(chosen, pairs, gpu, name):
    assert suited_preset(parse_assignments(chosen), pairs, gpu=gpu) == name


def test_more_data_gives_larger_batches_and_fewer_epochs():
    sizes = [DataSize(pairs=pairs, words=12 * pairs) for pairs in (100, 10_000, 100_000, 10_000_000)]
    settings = [defaults_for(size, {})["train"] for size in sizes]
    assert [one["batch_tokens"] for one in settings] == sorted(one["batch_tokens"] for one in settings)
    epochs = [one["steps"] * one["batch_tokens"] / size.tokens for one, size in zip(settings, sizes, strict=True)]
    assert epochs[1] > epochs[2] > epochs[3]
    for one in settings:
        assert 1 <= one["log_every"] <= one["validate_every"] <= one["steps"]


def test_a_small_corpus_holds_out_more():
    assert hold_out_for(10_000)["valid"] == 0.02
    assert hold_out_for(2_500)["valid"] == 0.08
    assert hold_out_for(0)["valid"] == 0.1


def test_mistakes_are_found_before_anything_is_chosen():
    with pytest.raises(ArgumentError, match=r"train.stpes: unknown key. Did you mean steps\?"):
        compose(parse_assignments(["train.stpes=3"]), SMALL)
    with pytest.raises(ArgumentError, match=r"`preset` must be the name of a model; received \"bahdano\""):
        compose({}, SMALL, name="bahdano")
    with pytest.raises(ArgumentError, match=r'train.bpe_dropout: must be 0 for tokenizer.kind = "word"'):
        compose(parse_assignments(["train.bpe_dropout=0.1"]), SMALL)


def test_composing_needs_no_torch():
    code = "import sys; from regard.tasks.translation.settings import DataSize, compose"
    code += "; compose({}, DataSize(pairs=9, words=99)); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
