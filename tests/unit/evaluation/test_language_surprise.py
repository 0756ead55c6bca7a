"""How surprised a language model is: lanes, windows and strides."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from regard.errors import ArgumentError, DataError
from regard.evaluation import language
from regard.evaluation.language import Surprise, total_surprise
from regard.models.language.bag import BagModel
from regard.models.language.build import build_network
from regard.models.language.ngram import NGramModel
from unit.models.language.networks import SPECS

TOKENS = np.random.default_rng(0).integers(4, 11, 60)


def by_steps(model, tokens):
    """One token after the other, all in sight."""
    state, total = model.start(1), 0.0
    for now, after in pairwise(tokens):
        step = model.step(torch.tensor([[int(now)]]), state)
        state, total = step.state, total - float(step.log_probabilities[0, 0, after])
    return total


@pytest.mark.parametrize("length", [1, 7, 59, 100])
def test_a_carried_state_makes_length_irrelevant(length):
    model = build_network(SPECS["gru-attention"], vocabulary_size=11)
    with torch.no_grad():
        wanted = by_steps(model.eval(), TOKENS)
    assert total_surprise(model.train(), TOKENS, length=length) == pytest.approx(wanted, rel=1e-5)
    assert model.training


def test_lanes_begin_from_nothing():
    model = build_network(SPECS["lstm"], vocabulary_size=11).eval()
    with torch.no_grad():
        wanted = by_steps(model, TOKENS[:31]) + by_steps(model, TOKENS[30:])
    assert total_surprise(model, TOKENS, length=10, lanes=2) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("stride", [0, 1, 3, 8])
def test_windows_count_every_token_once(stride):
    model = build_network(SPECS["transformer"], vocabulary_size=11).eval()
    step, total, counted = stride or 8, 0.0, 0
    start = 0
    with torch.no_grad():
        while counted < 59:
            window = torch.from_numpy(TOKENS[start : start + 9])[None]
            said = model.output(model(window[:, :-1]).features).log_softmax(-1)[0]
            new = range(0 if not start else 8 - step, window.size(1) - 1)
            total -= sum(float(said[place, window[0, place + 1]]) for place in new)
            counted, start = counted + len(new), start + step
    assert counted == 59
    assert total_surprise(model, TOKENS, length=8, stride=stride) == pytest.approx(total, rel=1e-5)


def test_counting_models_need_no_windows():
    model = BagModel.fit(TOKENS, vocabulary_size=11, smoothing=1.0)
    assert total_surprise(model, TOKENS) == pytest.approx(-model.log_probabilities(TOKENS)[1:].sum())


def test_counts_are_read_in_portions(monkeypatch):
    model = NGramModel.fit(TOKENS, vocabulary_size=11, order=3)
    whole, told = total_surprise(model, TOKENS), []
    monkeypatch.setattr(language, "_PORTION", 7)
    assert total_surprise(model, TOKENS, count=told.append) == pytest.approx(whole, rel=1e-12)
    assert told == [7, 14, 21, 28, 35, 42, 49, 56, 59]


@pytest.mark.parametrize("name", ["lstm", "transformer"])
def test_progress_ends_at_the_last_token(name):
    told = []
    total_surprise(build_network(SPECS[name], vocabulary_size=11), TOKENS, length=8, count=told.append)
    assert told == sorted(told)
    assert told[-1] == 59


def test_several_texts_together():
    one = Surprise(nats=2.0, tokens=4, characters=8, bytes=16, unknown=1, tokenization="byte of 260")
    both = Surprise.total([one, replace(one, nats=4.0)])
    assert (both.nats, both.tokens, both.characters, both.bytes, both.unknown) == (6.0, 8, 16, 32, 2)
    other = replace(one, tokenization="bpe of 9")
    with pytest.raises(ArgumentError, match="`several` must be measured in the same tokens; received bpe of 9, byte"):
        Surprise.total([one, other])


def test_units():
    found = Surprise(nats=8 * math.log(2), tokens=4, characters=8, bytes=16, unknown=1, tokenization="byte of 260")
    assert found.perplexity == pytest.approx(4)
    assert (round(found.bits_per_character, 9), round(found.bits_per_byte, 9)) == (1, 0.5)
    assert found.figures()["unknown"] == 1


def test_errors():
    model = build_network(SPECS["lstm"], vocabulary_size=11)
    with pytest.raises(DataError, match=r"The text must have at least two tokens, .* received 1"):
        total_surprise(model, TOKENS[:1])
    with pytest.raises(ArgumentError, match="`stride` must be from 0 to `length`, 8; received 9"):
        total_surprise(model, TOKENS, length=8, stride=9)
