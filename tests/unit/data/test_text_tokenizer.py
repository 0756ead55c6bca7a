"""Tokens of running text: every kind gives the text back, lines and all."""

import json

import numpy as np
import pytest

from regard.data.corpora.token_stream import TokenStream
from regard.data.text.special import END, PAD, START, UNKNOWN
from regard.data.text.text_tokenizer import TextTokenizer, TextTokenizerConfig, train_text_tokenizer
from regard.errors import ArgumentError, DataError

LINES = ["The cat  sat.", "", " on the <unk> mat", "Ünder é"]


def made(kind, **settings):
    return train_text_tokenizer(LINES * 3, TextTokenizerConfig(kind=kind, vocabulary_size=400, **settings))


@pytest.mark.parametrize("kind", ["character", "byte"])
def test_letters_and_bytes_come_back_exactly(kind):
    tokenizer, text = made(kind), "\n".join(LINES)
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert len(tokenizer.encode(text)) == len(text if kind == "character" else text.encode())


@pytest.mark.parametrize("kind", ["space", "word", "bpe", "unigram"])
def test_other_kinds_come_back_line_by_line(kind):
    tokenizer = made(kind)
    text = "The cat sat.\non the mat"
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("kind", ["space", "character", "byte", "word", "bpe", "unigram"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_what_is_kept_is_what_comes_back(kind, lowercase):
    tokenizer = made(kind, lowercase=lowercase)
    assert [tokenizer.kept(line) for line in LINES] == [tokenizer.decode(tokenizer.encode(line)) for line in LINES]
    assert len(tokenizer.kept("Ẅ")) == 1  # as it was spelled, though it is unknown to some


def test_lines_end_in_a_token():
    tokenizer = made("space")
    lines = tokenizer.encode_lines(LINES)
    assert [len(line) for line in (lines[i] for i in range(4))] == [4, 1, 5, 3]
    assert all(lines[i][-1] == END for i in range(4))
    assert UNKNOWN in lines[2]
    assert "<unk>" not in tokenizer.tokens


def test_what_is_not_known_is_said_so():
    assert made("space").encode("dog") == [UNKNOWN]
    assert made("space", lowercase=True).encode("THE") == made("space", lowercase=True).encode("the")
    assert made("space").decode([UNKNOWN]) == "<unk>"
    assert made("byte").piece(4 + 65) == "<0x41>"


def test_half_a_character_is_shown_as_one():
    tokenizer = made("byte")
    assert tokenizer.decode(tokenizer.encode("é")[:1]) == "�"


@pytest.mark.parametrize("kind", ["space", "character", "byte", "word", "bpe", "unigram"])
def test_a_file_brings_it_back(kind, tmp_path):
    tokenizer = made(kind).with_counts((np.arange(made(kind).size) != 5).astype(np.int64))
    tokenizer.save(tmp_path)
    again = TextTokenizer.load(tmp_path)
    assert (again.kind, again.size, again.unseen) == (kind, tokenizer.size, (5,))
    assert again.never_produced == [PAD, UNKNOWN, START, 5]
    assert (~again.producible).nonzero()[0].tolist() == [PAD, UNKNOWN, START, 5]
    assert again.producible is again.producible
    assert again.encode("the cat") == tokenizer.encode("the cat")
    assert again.piece(5) == tokenizer.piece(5)


@pytest.mark.usefixtures("unchecked")
def test_errors(tmp_path):
    with pytest.raises(ArgumentError, match=r'`kind` must be what a token is; received "wrd"\. Did you mean word\?'):
        TextTokenizerConfig(kind="wrd")
    with pytest.raises(ArgumentError, match="`min_frequency` must be at least 1; received 0"):
        TextTokenizerConfig(min_frequency=0)
    with pytest.raises(ArgumentError, match="`vocabulary_size` must be above 4, the special tokens; received 4"):
        TextTokenizerConfig(vocabulary_size=4)
    with pytest.raises(DataError, match=r"must hold a tokenizer\.json; received a folder without"):
        TextTokenizer.load(tmp_path)
    with pytest.raises(DataError, match="A tokenizer of running text must be what regard wrote; received"):
        TextTokenizer.from_json("{}")
    for number in (3, 260, 9999):
        table = json.loads(made("byte").to_json()) | {"unseen": [5, number]}
        message = f"`unseen` must be tokens of the vocabulary, from 4 to 259; received {number}. Is this"
        with pytest.raises(DataError, match=message):
            TextTokenizer.from_json(json.dumps(table))
    with pytest.raises(DataError, match="`number` must be from 0 to 259; received 300"):
        made("byte").piece(300)


def test_a_stream_is_there_whole_or_not(tmp_path):
    tokens = made("space").encode_lines(LINES).values
    stream = TokenStream(tmp_path / "a.tokens")
    assert stream.open(mark="x") is None
    stream.write([tokens, tokens], mark="x")
    assert stream.open(mark="x").tolist() == [*tokens, *tokens]
    assert stream.open(mark="y") is None
    stream.path.write_bytes(stream.path.read_bytes()[:-4])
    assert stream.open(mark="x") is None


def test_the_smallest_vocabulary_that_spells_in_bytes():
    message = (
        "must be at least 260 for kind 'bpe', which spells what it does not know in bytes; received 10. Give a larger"
    )
    with pytest.raises(ArgumentError, match=message):
        TextTokenizerConfig(kind="bpe", vocabulary_size=10)
    assert TextTokenizerConfig(kind="character", vocabulary_size=10).vocabulary_size == 10


def test_unknown_words_are_listed_once():
    words = train_text_tokenizer(["to be or not"], TextTokenizerConfig(kind="word"))
    assert words.unknown("to zzz\nqq zzz") == ["zzz", "qq"]
    bytes_ = TextTokenizer("byte", unseen=[ord("z") + 4])
    assert bytes_.unknown("azbz") == ["z"]
