import os
import random
import subprocess
import sys

import numpy as np
import pytest
from tokenizers import models

from regard.data.text.bpe_dropout import BpeDropout
from regard.data.text.special import SPECIAL_TOKENS
from regard.data.text.tokenizer import Tokenizer, make_backend
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizer
from regard.errors import ArgumentError


def make_texts(count=300, seed=3):
    draw = random.Random(seed)
    words = ["".join(draw.choices("abcdefgü", k=draw.randint(1, 9))) for _ in range(200)]
    return [" ".join(draw.choices(words, k=draw.randint(1, 12))) + draw.choice([".", "!", ""]) for _ in range(count)]


TEXTS = make_texts()
SHARES = [0.0, 0.1, 0.5, 0.9, 1.0]


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(TEXTS, TokenizerConfig(vocabulary_size=600))


@pytest.fixture(scope="module")
def dropout(tokenizer):
    return BpeDropout.of(tokenizer)


def lists(ragged):
    return [ragged[number].tolist() for number in range(len(ragged))]


def test_without_dropout_it_is_the_tokenizer_itself(tokenizer, dropout):
    texts = [*TEXTS, "", "a", "a b", "unseen: Ж 😀 </s>", "aaaaaaaaaaaaaaaa abababab"]
    found = lists(dropout.encode_batch(texts, probability=0.0, seed=1, epoch=0))
    assert found == [tokenizer.encode(text).ids for text in texts]


def test_with_full_dropout_only_characters_are_left(tokenizer, dropout):
    (ids,) = lists(dropout.encode_batch(["abc abc"], probability=1.0, seed=1, epoch=0))
    assert tokenizer.pieces(ids) == ["▁", "a", "b", "c", "▁", "a", "b", "c"]


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_the_text_stays_the_same(tokenizer, dropout, probability):
    found = lists(dropout.encode_batch(TEXTS, probability=probability, seed=1, epoch=0))
    assert [tokenizer.decode(ids) for ids in found] == TEXTS


def test_more_dropout_gives_more_tokens(dropout):
    counts = [len(dropout.encode_batch(TEXTS, probability=p, seed=1, epoch=0).values) for p in SHARES]
    assert counts == sorted(set(counts))


def test_a_sentence_depends_on_seed_epoch_and_number_alone(dropout):
    choices = {"probability": 0.3, "seed": 5, "epoch": 2}
    whole = lists(dropout.encode_batch(TEXTS, **choices))
    order = random.Random(1).sample(range(len(TEXTS)), 50)
    some = lists(dropout.encode_batch([TEXTS[number] for number in order], indices=order, **choices))
    assert some == [whole[number] for number in order]


def test_large_batches_are_divided_without_a_trace(dropout):
    texts = TEXTS * 16
    whole = lists(dropout.encode_batch(texts, probability=0.3, seed=5, epoch=2))
    assert len(texts) > 4096
    numbers = range(len(texts) - 10, len(texts))
    last = dropout.encode_batch(texts[-10:], probability=0.3, seed=5, epoch=2, indices=numbers)
    assert whole[-10:] == lists(last)


@pytest.mark.parametrize("change", [{"seed": 6}, {"epoch": 3}, {"indices": range(1, len(TEXTS) + 1)}])
def test_another_seed_epoch_or_number_divides_differently(dropout, change):
    choices = {"probability": 0.3, "seed": 5, "epoch": 2}
    first = lists(dropout.encode_batch(TEXTS, **choices))
    second = lists(dropout.encode_batch(TEXTS, **{**choices, **change}))
    assert sum(one != other for one, other in zip(first, second, strict=True)) > len(TEXTS) / 2


def test_every_process_divides_alike():
    program = (
        "from regard.data.text.bpe_dropout import BpeDropout\n"
        "from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizer\n"
        "texts = ['low lower lowest slow'] * 9\n"
        "dropout = BpeDropout.of(train_tokenizer(texts, TokenizerConfig(vocabulary_size=280)))\n"
        "print(dropout.encode_batch(texts, probability=0.5, seed=1, epoch=1).values.tolist())\n"
    )
    runs = [
        subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True)
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout != b"", runs[0].stderr


def test_merges_are_dropped_as_often_as_asked():
    tokenizer = train_tokenizer(["ab ab ab"], TokenizerConfig(vocabulary_size=8, byte_fallback=False))
    assert tokenizer.size == 8, "four special tokens, ▁, a, b and one merge"
    found = BpeDropout.of(tokenizer).encode_batch(["ab"] * 20_000, probability=0.3, seed=1, epoch=0)
    assert np.mean(found.lengths == 3) == pytest.approx(0.3, abs=0.015)


def test_a_dropped_merge_is_tried_again_at_the_next_step():
    """Algorithm 1 draws for every merge at every step: a + b, dropped while c + d is merged, has a second chance."""
    tokens = [*SPECIAL_TOKENS, "▁", "a", "b", "c", "d", "ab", "cd"]
    model = models.BPE({token: number for number, token in enumerate(tokens)}, [("a", "b"), ("c", "d")])
    tokenizer = Tokenizer(make_backend(model, kind="bpe", lowercase=False))
    found = BpeDropout.of(tokenizer).encode_batch(["abcd"] * 20_000, probability=0.5, seed=1, epoch=0)
    count = np.bincount(found.values, minlength=len(tokens)) / 20_000
    # 1/4 both kept, 1/4 only a + b; 1/4 only c + d, then a + b with 1/2.
    assert count[tokens.index("ab")] == pytest.approx(0.625, abs=0.015)
    # 1/4 only c + d; after a + b, 1/2, once more with 1/2.
    assert count[tokens.index("cd")] == pytest.approx(0.5, abs=0.015)


def test_neighbors_play_no_part_whatever_their_length(dropout):
    texts = [" ".join(text.split()[:2]) for text in TEXTS]
    choices = {"probability": 0.5, "seed": 5, "epoch": 2}
    together = lists(dropout.encode_batch(texts, **choices))
    alone = [lists(dropout.encode_batch([text], indices=[n], **choices))[0] for n, text in enumerate(texts)]
    assert together == alone


def test_what_cannot_be_dropped_is_refused(tokenizer, dropout):
    with pytest.raises(ArgumentError, match="must be of kind 'bpe'; received 'byte'"):
        BpeDropout.of(train_tokenizer(TEXTS, TokenizerConfig(kind="byte")))
    with pytest.raises(ArgumentError, match=r"`probability` must be from 0 to 1; received 1\.5"):
        dropout.encode_batch(TEXTS, probability=1.5, seed=1, epoch=0)
    with pytest.raises(ArgumentError, match="`indices` must number the 300 texts; received 2"):
        dropout.encode_batch(TEXTS, probability=0.5, seed=1, epoch=0, indices=[1, 2])
