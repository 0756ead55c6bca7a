import os
import random
import subprocess
import sys

import pytest

from regard.data.corpora.pair import Pair
from regard.data.text.special import UNKNOWN
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizer, train_tokenizers
from regard.errors import ArgumentError, DataError

TEXTS = ["low lower lowest slow slower slowest", "new newer newest", "a wide and wider sea"] * 5


def pieces_of(tokenizer):
    return tokenizer.pieces(range(tokenizer.size))


@pytest.mark.parametrize("kind", ["word", "character", "bpe", "unigram"])
@pytest.mark.parametrize("room", [5, 20, 30])
def test_the_vocabulary_keeps_its_limit(kind, room):
    fixed = 4 if kind == "word" else 260
    tokenizer = train_tokenizer(TEXTS, TokenizerConfig(kind=kind, vocabulary_size=fixed + room))
    assert tokenizer.size <= fixed + room
    assert tokenizer.size > fixed


def test_the_limit_holds_for_a_script_of_many_characters():
    draw = random.Random(0)
    texts = ["".join(chr(0x4E00 + draw.randrange(3000)) for _ in range(20)) for _ in range(1000)]
    for kind in ("character", "bpe", "unigram"):
        tokenizer = train_tokenizer(texts, TokenizerConfig(kind=kind, vocabulary_size=1000))
        assert tokenizer.size <= 1000
        assert tokenizer.decode(tokenizer.encode(texts[0]).ids) == texts[0]


def test_words_are_ranked_by_frequency_then_by_text():
    tokenizer = train_tokenizer(["b b a a c c c d"], TokenizerConfig(kind="word", min_frequency=1))
    assert pieces_of(tokenizer)[4:] == ["c", "a", "b", "d"]


def test_rare_words_and_characters_are_left_out():
    config = TokenizerConfig(kind="word", min_frequency=2)
    assert pieces_of(train_tokenizer(["a a b"], config))[4:] == ["a"]
    config = TokenizerConfig(kind="character", min_frequency=2)
    assert pieces_of(train_tokenizer(["aab"], config))[260:] == ["a"], "nor the one space"


def test_merges_need_their_frequency():
    config = TokenizerConfig(kind="bpe", min_frequency=3)
    assert "ab" not in "".join(pieces_of(train_tokenizer(["xaby xaby"], config)))
    assert "▁xaby" in pieces_of(train_tokenizer(["xaby xaby xaby"], config))


def test_without_bytes_unseen_characters_are_unknown():
    config = TokenizerConfig(kind="bpe", byte_fallback=False, vocabulary_size=60)
    tokenizer = train_tokenizer(TEXTS, config)
    assert tokenizer.size <= 60
    ids = tokenizer.encode("low ß").ids
    assert UNKNOWN in ids
    assert tokenizer.decode(ids) == "low <unk>"
    assert tokenizer.decode(tokenizer.encode(TEXTS[0]).ids) == TEXTS[0]


def test_lower_case_is_kept_in_what_comes_back():
    tokenizer = train_tokenizer(["Ein HUND"] * 3, TokenizerConfig(lowercase=True))
    assert tokenizer.decode(tokenizer.encode("EIN Hund").ids) == "ein hund"


def test_joint_and_separate_vocabularies():
    pairs = [Pair(source="Hund Hund", target="dog dog")]
    joint = train_tokenizers(pairs, TokenizerConfig(kind="word"))
    assert joint.joint
    assert pieces_of(joint.source)[4:] == ["Hund", "dog"]
    separate = train_tokenizers(pairs, TokenizerConfig(kind="word", joint=False))
    assert not separate.joint
    assert pieces_of(separate.source)[4:] == ["Hund"]
    assert pieces_of(separate.target)[4:] == ["dog"]


def test_texts_are_taken_from_an_iterator_once():
    tokenizer = train_tokenizer(iter(TEXTS), TokenizerConfig())
    assert tokenizer.to_json() == train_tokenizer(TEXTS, TokenizerConfig()).to_json()


@pytest.mark.parametrize("kind", ["word", "character", "bpe", "unigram"])
def test_the_order_of_the_texts_plays_no_part(kind):
    config = TokenizerConfig(kind=kind, vocabulary_size=285)
    shuffled = random.Random(1).sample(TEXTS, len(TEXTS))
    assert train_tokenizer(shuffled, config).to_json() == train_tokenizer(TEXTS, config).to_json()


PROGRAM = """
import hashlib, random
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizer
draw = random.Random(3)
words = ["".join(draw.choices("abcdefgh", k=draw.randint(2, 7))) for _ in range(800)]
texts = [" ".join(draw.choices(words, k=8)) for _ in range(400)]
for kind in ("word", "character", "bpe", "unigram"):
    text = train_tokenizer(texts, TokenizerConfig(kind=kind, vocabulary_size=600)).to_json()
    print(kind, hashlib.sha256(text.encode()).hexdigest())
"""


def test_training_is_the_same_in_every_process():
    """Many ties: 800 words of eight letters. The hash tables of `tokenizers` are seeded anew in each process."""
    runs = []
    for hash_seed, threads in (("1", "1"), ("2", "2"), ("3", "4")):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "RAYON_NUM_THREADS": threads}
        run = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        runs.append(run.stdout.split("\n"))
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (
            {"vocabulary_size": 200},
            r"must be at least 260 for kind 'bpe'; received 200\. Give a larger one, or",
        ),
        (
            {"kind": "byte", "vocabulary_size": 5},
            r"must be at least 260 for kind 'byte'; received 5\. Give a larger",
        ),
        ({"kind": "word", "vocabulary_size": 4}, r"must be at least 5 for kind 'word'; received 4\."),
        ({"min_frequency": 0}, r"`min_frequency` must be at least 1; received 0\."),
    ],
)
def test_impossible_choices_are_refused(choices, message):
    with pytest.raises(ArgumentError, match=message):
        TokenizerConfig(**choices)


@pytest.mark.parametrize("kind", ["word", "character", "byte", "bpe", "unigram"])
def test_no_text_is_refused(kind):
    with pytest.raises(DataError, match="at least one word to learn from; received none"):
        train_tokenizer(["", "  "], TokenizerConfig(kind=kind))
