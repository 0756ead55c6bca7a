"""Pairs as token numbers, anew in every epoch where merges are dropped."""

import threading

import pytest
import torch

from regard.data.corpora.pair import Pair
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizers
from regard.tasks.translation.encoding import _Ahead, encode_training
from regard.tasks.translation.settings import TranslationTrain
from regard.training.group import Group

PAIRS = [Pair(source=f"la casa {number} y {number * 7 % 90}", target=f"the house {number}") for number in range(60)]
SETTINGS = TranslationTrain(bpe_dropout=0.3, seed=5)


@pytest.fixture(scope="module")
def tokenizers():
    return train_tokenizers(PAIRS, TokenizerConfig(vocabulary_size=320))


def tokens(examples):
    return [side.values.tolist() for side in (examples.source, examples.target)]


def test_a_gpu_trains_on_the_same_tokens_which_are_encoded_ahead(tokenizers):
    here, ahead = (
        encode_training(PAIRS, tokenizers, SETTINGS, files=None, group=group)
        for group in (Group(), Group(device=torch.device("cuda")))
    )
    assert isinstance(ahead, _Ahead)
    assert not isinstance(here, _Ahead)
    for epoch in (0, 1, 2, 7, 8, 3):  # in order, and after a jump, as when a run goes on
        assert tokens(ahead(epoch)) == tokens(here(epoch))
    assert tokens(here(0)) != tokens(here(1))


def test_the_next_epoch_is_encoded_in_another_thread(tokenizers):
    encode = encode_training(PAIRS, tokenizers, SETTINGS, files=None, group=Group())
    asked = []
    done = threading.Event()

    def observed(epoch):
        asked.append((epoch, threading.current_thread() is threading.main_thread()))
        if epoch == 1:
            done.set()
        return encode(epoch)

    ahead = _Ahead(observed)
    ahead(0)
    assert done.wait(30)
    ahead(1)
    assert asked[:2] == [(0, True), (1, False)]


def test_what_goes_wrong_ahead_is_raised_when_its_epoch_comes(tokenizers):
    encode = encode_training(PAIRS, tokenizers, SETTINGS, files=None, group=Group())

    def failing(epoch):
        if epoch == 1:
            raise ValueError("no epoch 1")
        return encode(epoch)

    ahead = _Ahead(failing)
    ahead(0)
    with pytest.raises(ValueError, match="no epoch 1"):
        ahead(1)
