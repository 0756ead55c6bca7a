"""Which word a token is part of, whichever way words are counted."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizer
from regard.data.text.word_spans import compose, divide, token_words, word_spans

TEXTS = ["A dog isn't running; Ana's dogs are.", "¿Qué hace el perro? ¡Corre mucho!", "3.5 well-known dogs (all)."] * 4
KINDS = ["word", "character", "byte", "bpe", "unigram"]
TOKENIZERS = {
    kind: train_tokenizer(TEXTS, TokenizerConfig(kind=kind, vocabulary_size=400, lowercase=kind == "bpe"))
    for kind in KINDS
}


def test_files_count_what_stands_between_spaces():
    text = "  Ana's dogs ,\t 3.5 kg. "
    assert divide(text, "whitespace") == ["Ana's", "dogs", ",", "3.5", "kg."]
    assert divide(text, "marks") == ["Ana", "'s", "dogs", ",", "3", ".", "5", "kg", "."]
    assert [text[start:end] for start, end in word_spans(text, "whitespace")] == divide(text, "whitespace")


def test_letters_in_two_characters_are_composed_before_marks_are_told_apart():
    assert divide("perro\u0301n", "marks") == ["perrón"]
    assert compose("o\u0301") == "ó"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by", ["whitespace", "marks"])
def test_the_tokens_of_a_word_spell_it(kind, by):
    tokenizer, text = TOKENIZERS[kind], "Ana's dogs aren't  3.5 well-known, ¿qué?"
    numbers = token_words(tokenizer, text, word_spans(text, by))
    ids = tokenizer.encode(text).ids
    assert len(numbers) == len(ids)
    for number, word in enumerate(divide(text, by)):
        spelled = tokenizer.decode([one for one, place in zip(ids, numbers, strict=True) if place == number])
        if kind != "word":
            assert spelled.strip() == (word.lower() if kind == "bpe" else word)
        else:
            assert spelled


@pytest.mark.parametrize("kind", KINDS)
def test_marks_are_counted_as_the_tokenizer_itself_counts_them(kind):
    for text in TEXTS:
        spans = word_spans(text, "marks")
        assert token_words(TOKENIZERS[kind], text, spans) == TOKENIZERS[kind].encode(text).words


@given(st.text(alphabet=" \u00a0\u2003\tabÅé\u0301日😀.,'▁\x1c", max_size=12), st.sampled_from(KINDS))
@example("İ ▁ ", "bpe")
@example("", "unigram")
@example("▁", "character")
def test_every_token_has_a_word_and_they_come_in_order(text, kind):
    text = compose(text)
    spans = word_spans(text, "whitespace")
    numbers = token_words(TOKENIZERS[kind], text, spans)
    assert len(numbers) == len(TOKENIZERS[kind].encode(text).ids)
    assert numbers == sorted(numbers)
    assert all(0 <= number < max(len(spans), 1) for number in numbers)
