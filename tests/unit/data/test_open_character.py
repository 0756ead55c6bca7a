"""Bytes that make up characters: what may follow is what Python's own decoder takes."""

import numpy as np
import pytest

from regard.data.text.open_character import OpenCharacter
from regard.data.text.special import END
from regard.data.text.text_tokenizer import TextTokenizer, TextTokenizerConfig, train_text_tokenizer

FIRST = 4
"""The number of the byte zero."""


def after(*values):
    character = OpenCharacter(TextTokenizer("byte"))
    for value in values:
        character.read(value + FIRST)
    return character


def allowed(*values):
    """Give the bytes that may follow, as their first and last, run by run."""
    found = after(*values).allowed()[FIRST:].nonzero()[0]
    runs = np.split(found, (np.diff(found) > 1).nonzero()[0] + 1)
    return [(int(run[0]), int(run[-1])) for run in runs]


@pytest.mark.parametrize(
    ("begun", "runs"),
    [
        ((), [(0x00, 0x7F), (0xC2, 0xF4)]),
        ((0x41,), [(0x00, 0x7F), (0xC2, 0xF4)]),
        ((0xC3,), [(0x80, 0xBF)]),
        ((0xE0,), [(0xA0, 0xBF)]),  # no longer than need be
        ((0xED,), [(0x80, 0x9F)]),  # no surrogates
        ((0xF0,), [(0x90, 0xBF)]),
        ((0xF4,), [(0x80, 0x8F)]),  # nothing above U+10FFFF
        ((0xE6, 0x97), [(0x80, 0xBF)]),
        ((0xE6, 0x97, 0xA5), [(0x00, 0x7F), (0xC2, 0xF4)]),
    ],
)
def test_unicode_says_which_bytes_may_follow(begun, runs):
    """The Unicode Standard, table 3-7."""
    assert allowed(*begun) == runs


def test_every_character_can_be_written_and_nothing_else_within_one():
    for text in "aé€日😀\U0010ffff":
        character = OpenCharacter(TextTokenizer("byte"))
        for value in text.encode():
            assert character.allowed()[value + FIRST]
            assert character.allowed()[:FIRST].tolist() == [not character.begun] * FIRST
            character.read(value + FIRST)
        assert character.begun == b""


def test_what_no_character_has_is_passed_over():
    assert after(0xC3, 0x41).begun == b""
    assert after(0xFF).begun == b""
    assert after(0x80, 0xE6, 0x97).begun == b"\xe6\x97"
    assert after(0xE6, 3 - FIRST).begun == b""  # the end of a line


def test_pieces_may_be_bytes_too():
    tokenizer = train_text_tokenizer(["to be or not to be"] * 3, TextTokenizerConfig(kind="bpe", vocabulary_size=290))
    character = OpenCharacter(tokenizer)
    tokens = tokenizer.encode("be €")
    assert [int(tokenizer.byte_values[token]) for token in tokens[-3:]] == list("€".encode())
    begun = []
    for token in tokens:
        assert character.allowed()[token]
        character.read(token)
        begun.append(len(character.begun))
    assert begun[-3:] == [1, 2, 0]
    assert not any(begun[:-3])
    assert (TextTokenizer("character", ["a"]).byte_values == -1).all()
    assert OpenCharacter(tokenizer)._bytes is character._bytes  # asked of the vocabulary once


def test_what_may_be_said_is_known_and_may_follow():
    tokenizer = TextTokenizer("byte").with_counts(np.bincount(TextTokenizer("byte").encode("aé"), minlength=260))
    assert OpenCharacter(tokenizer).next_producible().nonzero()[0].tolist() == [END, 0x61 + FIRST, 0xC3 + FIRST]
    assert OpenCharacter(tokenizer, [0xC3 + FIRST]).next_producible().nonzero()[0].tolist() == [0xA9 + FIRST]


def test_a_character_that_cannot_go_on_is_given_up():
    tokenizer = TextTokenizer("byte").with_counts(np.bincount(TextTokenizer("byte").encode("aé"), minlength=260))
    character = OpenCharacter(tokenizer, [0xED + FIRST])
    assert not (character.allowed() & tokenizer.producible).any()  # 0x80 to 0x9F would go on there
    assert character.next_producible().nonzero()[0].tolist() == [END, 0x61 + FIRST, 0xC3 + FIRST]
    character.read(0xC3 + FIRST)
    assert character.begun == b"\xc3"
