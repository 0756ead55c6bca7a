"""Evaluating language models on texts: units, windows, and the text that a run held out."""

import json

import pytest

import regard
from regard.errors import ArgumentError, DataError
from regard.tasks.evaluation.texts import evaluate_texts, find_run_text
from regard.tasks.language.data import Text, gather_text
from regard.tasks.language.train import train_language_model
from regard.training.run import Run
from regard.training.run_folder import RunFolder
from unit.tasks.texts import settings, write_text

A, B = Text(lines=("the dog barks",)), Text(lines=("a bird sings", "é"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of counts and one of a Transformer, on the same text."""
    folder = tmp_path_factory.mktemp("runs")
    text = write_text(folder / "a.txt")
    for name in ("ngram", "transformer"):
        config = settings(text, name, steps=5, samples=0)
        run, corpus = RunFolder(folder / name), gather_text(config.data)
        run.begin(config, corpus.fingerprint)
        train_language_model(config, corpus, Run(folder=run))
    return folder


@pytest.mark.usefixtures("unchecked")
def test_texts_are_measured_alone_and_together(runs):
    model, told = regard.load(runs / "ngram"), []
    found = evaluate_texts(model, {"a": A, "b": B}, name="n", watch=lambda *one: told.append(one))
    assert (found.total.tokens, found.total.characters, found.total.bytes, found.total.unknown) == (29, 29, 30, 1)
    assert found.total.nats == pytest.approx(sum(model.measure(one).nats for one in (A, B)))
    assert told == [("measuring, tokens", 14, 14), ("measuring, tokens", 15, 15)]
    assert found.signature.startswith("task:language|model:ngram|order:5|tokens:character of 22|texts:a+b|version:")
    assert (found.parameters, found.reading) == (None, "each text from beginning to end")
    table = json.loads(json.dumps(found.table()))
    assert table["texts"]["a"]["tokens"] == 14
    assert table["perplexity"] == found.total.perplexity
    with pytest.raises(ArgumentError, match="`texts` must name at least one text; received none"):
        evaluate_texts(model, {})
    with pytest.raises(DataError, match="b must have at least one line; received an empty text"):
        evaluate_texts(model, {"a": A, "b": Text()})
    with pytest.raises(ArgumentError, match=r"`stride` must be 0 for a model of kind ngram, .* received 4"):
        evaluate_texts(model, {"a": A}, stride=4)


@pytest.mark.usefixtures("unchecked")
def test_windows_are_told(runs):
    model = regard.load(runs / "transformer")
    whole, overlapping = (evaluate_texts(model, {"a": A}, stride=stride) for stride in (0, 8))
    assert whole.reading == "in windows of 32 tokens that do not overlap"
    assert overlapping.reading.startswith("in windows of 32 tokens, each 8 after the one before")
    assert "|window:32|stride:8|" in overlapping.signature
    assert overlapping.parameters == sum(one.numel() for one in model.model.parameters())


@pytest.mark.usefixtures("unchecked")
def test_a_run_knows_what_it_held_out(runs):
    name, text = find_run_text(runs / "ngram")
    assert name == f"valid text of {runs / 'ngram'}"
    figures = json.loads((runs / "ngram" / "model" / "figures.json").read_text())["figures"]
    assert regard.load(runs / "ngram").measure(text).loss == pytest.approx(figures["valid_loss"])
    assert len([*text, *find_run_text(runs / "ngram" / "model", "train")[1]]) == 400
    with pytest.raises(
        ArgumentError, match=r"`split` must be one of test, valid, train .* received vlid. Did you mean"
    ):
        find_run_text(runs / "ngram", "vlid")
    with pytest.raises(DataError, match=r"must have a text to test with; received none \(data.test\)"):
        find_run_text(runs / "ngram", "test")
    with pytest.raises(ArgumentError, match=r"The text must be named for a model without its run"):
        find_run_text(runs)


@pytest.mark.usefixtures("unchecked")
def test_the_text_of_a_run_must_be_there_and_the_same(tmp_path):
    config = settings(write_text(tmp_path / "a.txt"), "bag")
    run, corpus = RunFolder(tmp_path / "run"), gather_text(config.data)
    run.begin(config, corpus.fingerprint)
    write_text(tmp_path / "a.txt", lines=300)
    with pytest.raises(DataError, match="must be what it was trained on; it has changed since"):
        find_run_text(tmp_path / "run")
    (tmp_path / "a.txt").unlink()
    with pytest.raises(DataError, match=r"must be there again to measure on what was held out; received: .*a.txt"):
        find_run_text(tmp_path / "run")
    run.config.write_text("x = 1")
    with pytest.raises(DataError, match=r"config.toml must be what `regard train` wrote; received: x: unknown key"):
        find_run_text(tmp_path / "run")
