"""Tokens as people read them: no two of a vocabulary look alike."""

import pytest

from regard.data.text.spelling import spell
from regard.data.text.text_tokenizer import TextTokenizer, TextTokenizerConfig, train_text_tokenizer

TEXT = ["A a\tb \u23ce \u2423 \u2581 </p> <0x41> \u202e 0x41 é"] * 3


@pytest.mark.parametrize("kind", ["space", "character", "byte", "word", "bpe", "unigram"])
def test_no_two_tokens_look_alike(kind):
    tokenizer = train_text_tokenizer(TEXT, TextTokenizerConfig(kind=kind, vocabulary_size=300))
    shown = [spell(tokenizer.piece(number), kind=kind) for number in range(tokenizer.size)]
    assert len(set(shown)) == tokenizer.size
    assert all(one.isprintable() and " " not in one for one in shown)


def test_bytes_are_characters_only_where_all_tokens_are_bytes():
    assert spell("<0x41>", kind="byte") == "A"
    assert [spell("<0x41>", kind=kind) for kind in ("space", "bpe")] == ["<0x41>", "<0x41>"]


def test_a_line_break_and_the_end_of_a_line_differ():
    assert [spell(one, kind="character") for one in ("</s>", "\n", "⏎")] == ["⏎", "\\n", "\\u23ce"]
    assert spell("<0x0A>", kind="byte") == "<0x0A>"
    assert TextTokenizer("byte").piece(3) == "</s>"
