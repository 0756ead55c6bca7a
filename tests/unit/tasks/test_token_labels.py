"""Unknown tokens are called what was written, in every kind of model and place."""

import pytest
import torch

import regard
from regard.config.classify import StructuredSpec
from regard.data.text.special import END
from regard.data.text.text_tokenizer import TextTokenizer, TextTokenizerConfig, train_text_tokenizer
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizer
from regard.models.classification import build_classifier
from regard.tasks.classification.model import Classifier
from regard.tasks.token_labels import name_tokens
from unit.tasks.translators import WORDS, make_folder, tokenizers

LINES = ["the dog saw the cat.", "the cat saw the dog."]


@pytest.mark.parametrize("lowercase", [False, True])
def test_unknown_words_of_a_sentence_are_as_written(lowercase):
    tokenizer = train_tokenizer(LINES, TokenizerConfig(kind="word", lowercase=lowercase))
    text = "the  xyzzy’s dog, ¿the Xyzzy?"
    ids = tokenizer.encode(text).ids
    last = "⟨xyzzy⟩" if lowercase else "⟨Xyzzy⟩"
    expected = ["the", "⟨xyzzy⟩", "⟨’s⟩", "dog", "⟨,⟩", "⟨¿⟩", "the", last, "⟨?⟩", "</s>"]
    assert name_tokens(tokenizer, text, [*ids, END]) == expected
    assert name_tokens(tokenizer, text, ids[:3]) == expected[:3]


def test_unknown_characters_are_as_written():
    tokenizer = train_tokenizer(LINES, TokenizerConfig(kind="character", byte_fallback=False))
    ids = tokenizer.encode("a ñ€").ids
    assert name_tokens(tokenizer, "a ñ€", ids) == ["▁", "a", "▁", "⟨ñ⟩", "⟨€⟩"]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("space", "the xyzzy dog\n<unk> cat", ["the", "⟨xyzzy⟩", "dog", "</s>", "<unk>", "cat"]),
        ("word", "the xyzzy!\ndog", ["the", "⟨xyzzy⟩", "⟨!⟩", "</s>", "dog"]),
        ("character", "aé\nd", ["a", "⟨é⟩", "</s>", "d"]),
    ],
)
def test_unknown_parts_of_running_text_are_as_written(kind, text, expected):
    tokenizer = train_text_tokenizer(LINES, TextTokenizerConfig(kind=kind))
    assert name_tokens(tokenizer, text, tokenizer.encode(text)) == expected


def test_what_is_known_is_as_the_vocabulary_has_it():
    tokenizer = TextTokenizer("byte")
    assert name_tokens(tokenizer, "é", tokenizer.encode("é")) == ["<0xC3>", "<0xA9>"]


def test_translators_and_classifiers_name_them_so(tmp_path):
    text, expected = "El xyzzy es plugh.", ("El", "⟨xyzzy⟩", "es", "⟨plugh⟩", ".")
    translator = regard.load(make_folder(tmp_path))
    found = translator.inspect(text, target="the xyzzy is")
    assert found.tokens == (*expected, "</s>")
    assert found.target_tokens == ("the", "⟨xyzzy⟩", "is", "</s>")
    assert list(found.words().labels[1])[:2] == ["El", "⟨xyzzy⟩"]
    assert [one.name for one in found.figure().maps] == ["decoder.attention"]  # of all steps
    torch.manual_seed(0)
    tokenizer, spec = tokenizers(WORDS).source, StructuredSpec(size=8, attention_size=4, num_hops=1)
    model = build_classifier(spec, vocabulary_size=tokenizer.size, num_labels=2)
    read = Classifier(model, tokenizer, ["good", "bad"], spec).inspect(text)
    assert read.tokens == expected
    assert tuple(read.call().key_labels) == expected
    assert read.figure().about[0] == ("Text", text)
