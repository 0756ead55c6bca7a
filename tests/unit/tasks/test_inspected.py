"""Loaded models, inspected: what they said, and where every layer looked for it."""

import re
from dataclasses import replace

import pytest
import torch

import regard
from regard.config.classify import AverageSpec, StructuredSpec, TfIdfSpec, TransformerEncoderSpec
from regard.config.language import SavedLanguageModel
from regard.data.text.text_tokenizer import TextTokenizer
from regard.decoding.search import Search
from regard.errors import ArgumentError, ArgumentTypeError
from regard.inspection import intervene
from regard.inspection.readings.alignment import word_weights
from regard.models.classification import build_classifier
from regard.models.classification.tf_idf import TfIdfClassifier
from regard.models.embedding import TokenEmbedding
from regard.models.language.bag import BagModel
from regard.models.language.build import build_network
from regard.models.language.recurrent import RecurrentStack
from regard.models.language.recurrent_attention import AttendingLanguageModel
from regard.tasks.classification.model import Classifier
from regard.tasks.language.model import LanguageModel
from regard.tasks.translation.model import Translator
from regard.tasks.translation.presets import preset
from unit.tasks.translators import BYTES, LEARNED, RECURRENT, WORDS, make_folder, tokenizers

TRANSFORMER = replace(preset("transformer-tiny"), size=8, num_heads=2, feed_forward_size=8)
SOURCE, TARGET = "El libro es azul.", "the book is blue"
SEARCH = Search(beam=2, max_length=6)


@pytest.fixture(scope="module")
def translators(tmp_path_factory):
    specs = {"recurrent": RECURRENT, "transformer": TRANSFORMER}
    return {name: regard.load(make_folder(tmp_path_factory.mktemp(name), spec)) for name, spec in specs.items()}


@pytest.mark.parametrize("name", ["recurrent", "transformer"])
def test_a_translator_shows_where_it_looked_for_what_it_found(translators, name):
    translator = translators[name]
    found = translator.inspect(SOURCE, search=SEARCH)
    best = translator.search([SOURCE], SEARCH, weights=True)[0][0]
    assert (found.target, found.target_tokens) == (best.text, best.target_tokens)
    assert found.tokens == ("El", "libro", "es", "⟨azul⟩", ".", "</s>")
    assert best.source_tokens == found.tokens
    probabilities = torch.tensor(best.log_probabilities).exp().tolist()
    assert found.target_probabilities == pytest.approx(probabilities, rel=1e-4)
    crossing = [call for call in found.trace if call.key_labels == found.tokens and "encoder" not in call.layer]
    assert len(crossing) == len(best.weights)
    for call, weights in zip(crossing, best.weights, strict=True):
        torch.testing.assert_close(call.weights[0], weights)
        assert call.query_labels == best.target_tokens
    assert found.call() is crossing[max(len(crossing) - 2, 0)]
    torch.testing.assert_close(found.map().values, best.alignment_weights)


def test_every_layer_of_a_transformer_is_named(translators):
    found = regard.inspect(translators["transformer"], SOURCE, target=TARGET)
    assert found.target == TARGET
    assert found.target_tokens[-1] == "</s>"
    read = ["<s>", *found.target_tokens[:-1]]
    for call in found.trace:
        if call.layer.startswith("encoder"):
            assert call.query_labels == call.key_labels == found.tokens
        elif call.layer.endswith("self_attention"):
            assert call.query_labels == call.key_labels == read
            assert call.mask is None or torch.equal(call.mask[0, 0], torch.ones_like(call.mask[0, 0]).tril())
    assert len(found.trace) == len(found.trace.layers) == 3 * 4
    assert repr(found) == f"Inspection({SOURCE!r} → {TARGET!r}, 12 layers)"
    assert found.matrix(head=0)[-1].split()[0] == "</s>"
    described = found.to_json("decoder.0.cross_attention")
    assert described["layer"] == "decoder.0.cross_attention"
    assert described["layers"] == found.trace.layers
    assert torch.equal(torch.tensor(described["weights"]), found.call("decoder.0.cross_attention").weights[0])
    one = found.to_json(head=1)
    assert (one["heads"], len(one["weights"])) == ([1], 1)


def test_pictures_show_the_map(translators):
    found = translators["transformer"].inspect(SOURCE, target=TARGET)
    grid, single, lines = found.figure(), found.figure(head=1), found.lines("encoder.1.attention")
    assert [tuple(map.values.shape) for map in grid.maps] == [found.call().weights.shape[2:]] * 2
    torch.testing.assert_close(single.maps[0].values, found.call().weights[0, 1].double(), check_dtype=False)
    assert lines.maps[0].labels == (found.tokens, found.tokens)


def test_words_are_merged_as_alignments_merge_them(tmp_path):
    translator = regard.load(make_folder(tmp_path, LEARNED, BYTES))
    forced = translator.force(["El libro es azul."], ["the book is blue"], weights=True)[0]
    counts = (max(forced.source_words) + 1, max(forced.target_words) + 1)
    expected = word_weights(forced.weights, forced.source_words, forced.target_words, num_words=counts)
    found = translator.inspect("El libro es azul.", target="the book is blue")
    crossing = [call.layer for call in found.trace if call.layer.endswith("cross_attention")]
    assert len(crossing) == len(expected)
    for layer, weights in zip(crossing, expected, strict=True):
        shown = found.words(layer, head=0)
        assert shown.labels == (("the", "book", "is", "blue", "</s>"), ("El", "libro", "es", "azul", ".", "</s>"))
        torch.testing.assert_close(shown.values[:-1], weights[0])
    assert found.words("decoder.0.self_attention").labels[0] == ("<s>", "the", "book", "is", "blue")


def test_changes_are_seen(translators):
    translator = translators["transformer"]
    with intervene(translator.model, weights={"decoder.2.cross_attention": lambda weights: weights.flip(-1)}):
        changed = translator.inspect(SOURCE, target=TARGET)
    plain = translator.inspect(SOURCE, target=TARGET)
    torch.testing.assert_close(changed.call().weights, plain.call().weights.flip(-1))
    assert changed.target_probabilities != plain.target_probabilities


def test_translators_that_cannot_be_inspected_say_so(translators):
    one = translators["recurrent"]
    both = Translator([one.model, one.model], tokenizers(WORDS))
    for translator, text, message in [
        (both, SOURCE, "`model` must be one model to be inspected; received 2 that translate together. Inspect each "
         "alone."),
        (one, " ", "`text` must be text with at least one word; received ' '."),
    ]:  # fmt: skip
        with pytest.raises(ArgumentError) as caught:
            translator.inspect(text)
        assert str(caught.value) == message
    message = (
        "`model` must be a Hugging Face model, or have a method `inspect`, as what regard.load gives; received int."
    )
    with pytest.raises(ArgumentTypeError, match=re.escape(message)):
        regard.inspect(3, SOURCE)


CHARACTERS = TextTokenizer("character", ["a", "b", "c", " "])


def language_model(network):
    from regard.config.language import TransformerLanguageSpec

    config = SavedLanguageModel(
        version="0", task="language", model=TransformerLanguageSpec(), vocabulary_size=CHARACTERS.size, length=8
    )
    return LanguageModel(network, CHARACTERS, config)


def transformer_language():
    from regard.config.language import TransformerLanguageSpec

    spec = TransformerLanguageSpec(size=8, num_layers=2, num_heads=2, feed_forward_size=8, context=8, dropout=0.0)
    return build_network(spec, vocabulary_size=CHARACTERS.size).eval()


def attending_language():
    embedding, stack = TokenEmbedding(CHARACTERS.size, 4), RecurrentStack("gru", (4, 4))
    return AttendingLanguageModel(embedding, stack, span=3, num_heads=2).eval()


@pytest.mark.parametrize("make", [transformer_language, attending_language])
def test_a_language_model_shows_what_each_token_looks_back_at(make):
    loaded = language_model(make())
    found = loaded.inspect("ab c", target="ba")
    assert found.tokens == ("</s>", "a", "b", " ", "c", "b", "a")
    assert found.target_tokens == ("b", "a")
    following = loaded.next("ab cba")
    assert found.likely[0].text == following.tokens[0].text
    assert found.likely[0].probability == pytest.approx(following.tokens[0].probability, rel=1e-4)
    first = {one.text: one.probability for one in loaded.next("ab c").tokens}
    assert found.target_probabilities[0] == pytest.approx(first["b"], rel=1e-4)
    last = found.map().values[-1].tolist()
    assert last == pytest.approx([weight for _, weight in following.attended_to][-7:], abs=1e-5)
    for call in found.trace:
        assert call.weights.shape[2:] == (7, 7)
        assert not call.weights[0].triu(1).any()
        assert call.query_labels == call.key_labels == list(found.tokens)


def test_what_may_follow_is_what_may_be_said():
    from regard.config.language import TransformerLanguageSpec

    tokenizer = TextTokenizer("byte", unseen=range(4 + 0x20, 4 + 0x80))
    spec = TransformerLanguageSpec(size=8, num_layers=1, num_heads=2, feed_forward_size=8, context=8, dropout=0.0)
    config = SavedLanguageModel(version="0", task="language", model=spec, vocabulary_size=260, length=8)
    loaded = LanguageModel(build_network(spec, vocabulary_size=260).eval(), tokenizer, config)
    likely, following = loaded.inspect("é").likely, loaded.next("é").tokens
    assert [one.text for one in likely] == [one.text for one in following]
    said = {"</s>", *(f"<0x{value:02X}>" for value in (*range(0x20), *range(0xC2, 0xF5)))}
    assert {one.text for one in likely} <= said
    assert {one.text for one in loaded.next("é", k=300).tokens} == said


def test_language_models_that_cannot_be_inspected_say_so():
    with pytest.raises(ArgumentError) as caught:
        language_model(transformer_language()).inspect("ab ab ab a")
    message = "`text` must have at most 7 tokens, with the target; received 10. Shorten it."
    assert str(caught.value) == message
    counts = torch.ones(CHARACTERS.size, dtype=torch.long).numpy()
    loaded = language_model(BagModel(counts, smoothing=1.0))
    with pytest.raises(
        ArgumentError, match=re.escape(f"`model` must attend to be inspected; received {loaded}, which")
    ):
        loaded.inspect("ab")


def classifier(spec):
    tokenizer = tokenizers(WORDS).source
    model = build_classifier(spec, vocabulary_size=tokenizer.size, num_labels=2)
    return Classifier(model, tokenizer, ["good", "bad"], spec)


def test_a_classifier_shows_how_it_reads_and_sums_up():
    loaded = classifier(StructuredSpec(size=8, attention_size=4, num_hops=3))
    found = regard.inspect(loaded, SOURCE)
    decision = loaded.classify([SOURCE])[0]
    assert found.likely[0].text == decision.label
    assert found.likely[0].probability == pytest.approx(decision.probability)
    assert found.call().query_labels == ["query 0", "query 1", "query 2"]
    assert found.map().labels[1] == found.tokens
    whole = classifier(TransformerEncoderSpec(size=8, num_heads=2, num_layers=2)).inspect(SOURCE)
    assert all(call.key_labels == list(whole.tokens) for call in whole.trace)
    assert {call.weights.shape[2] for call in whole.trace} >= {len(whole.tokens)}
    assert classifier(AverageSpec(size=8)).inspect(SOURCE).map().labels[0] == ("text",)


def test_classifiers_that_cannot_be_inspected_say_so():
    loaded = classifier(AverageSpec(size=8))
    message = "`target` must go with a model that says something; received Classifier, which only reads. Leave it out."
    with pytest.raises(ArgumentError, match=re.escape(message)):
        regard.inspect(loaded, SOURCE, target="good")
    vocabulary = loaded.tokenizer.size
    counting = Classifier(TfIdfClassifier(vocabulary, 2), loaded.tokenizer, ["good", "bad"], TfIdfSpec())
    with pytest.raises(
        ArgumentError,
        match=r"received a tf-idf model, which has no attention\. Train one that has: `regard train --preset ",
    ):
        counting.inspect(SOURCE)
