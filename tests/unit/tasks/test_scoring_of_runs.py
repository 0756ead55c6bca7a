"""A run scores its validations in the way that suits its text, says so once, and signs its figures."""

import logging
from pathlib import Path

import pytest

import regard
from regard.data.corpora.pair import Pair
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizers
from regard.tasks.recipe import read_recipe
from regard.tasks.task import find_task
from regard.tasks.translation.job import scoring_for
from regard.tasks.translation.settings import TranslationTrain
from unit.tasks.word_pairs import make_pairs, write_pairs

SMALL = {
    "model.embedding_size": 8,
    "model.hidden_size": 8,
    "train.validate_every": 1,
    "train.log_every": 1,
    "train.valid_sentences": 4,
    "train.threads": 1,
}


def test_tokenized_text_is_noted_once_and_its_figures_are_signed(tmp_path, caplog):
    pairs = [Pair(source=f"{pair.source} .", target=f"{pair.target} .") for pair in make_pairs(160)]
    files = write_pairs(tmp_path / "data", pairs)
    with caplog.at_level(logging.INFO):
        regard.train("translate", **files, out=tmp_path / "run", preset="bahdanau", steps=3, settings=SMALL)
    noted = [record.getMessage() for record in caplog.records]
    assert sum("references are tokenized" in text for text in noted) == 1
    assert sum("has no upper case" in text for text in noted) == 1
    assert not any("tokenized period" in text for text in noted)  # sacrebleu's own, at every validation
    signature = "nrefs:1|case:lc|eff:no|tok:none|smooth:exp"
    assert signature in (tmp_path / "run/model/README.md").read_text().replace("\\|", "|")
    assert signature in (tmp_path / "run/report.html").read_text()
    assert signature in str(regard.evaluate(tmp_path / "run").measures["BLEU"].signature)
    plain = regard.evaluate(tmp_path / "run", settings={"tokenize": "13a", "case": "mixed"})
    assert "case:mixed|eff:no|tok:13a" in plain.measures["BLEU"].signature


@pytest.mark.parametrize(
    ("texts", "settings", "wanted"),
    [
        (["A dog."], {}, ("13a", False)),
        (["a dog ."], {}, ("none", True)),
        (["a dog ."], {"tokenize": "13a", "case": "mixed"}, ("13a", False)),
        (["A dog ."], {"case": "lower"}, ("none", True)),
    ],
)
def test_scoring_follows_from_references_vocabulary_and_settings(texts, settings, wanted):
    pairs = [Pair(source=text, target=text) for text in texts] * 3
    tokenizers = train_tokenizers(pairs, TokenizerConfig(vocabulary_size=280))
    scoring = scoring_for(pairs, tokenizers, TranslationTrain(**settings))
    assert (scoring.tokenize, scoring.lowercase) == wanted


@pytest.mark.parametrize(
    ("texts", "config", "lowercases"),
    [
        (["ein Hund"], {}, False),
        (["ein hund"], {}, True),
        (["ein Hund"], {"lowercase": True}, True),
        (["ein Hund"], {"kind": "word"}, False),
        (["ein Hund"], {"kind": "byte", "lowercase": True}, True),
        (["ein hund"], {"kind": "byte"}, False),  # bytes may spell anything
        (["一只狗"], {}, False),  # without case
    ],
)
def test_a_vocabulary_without_upper_case_is_known(texts, config, lowercases):
    pairs = [Pair(source=text, target=text) for text in texts] * 3
    tokenizers = train_tokenizers(pairs, TokenizerConfig(**({"vocabulary_size": 300} | config)))
    assert tokenizers.target.lowercases is lowercases


def test_the_recipe_of_the_published_figure_is_scored_as_published():
    recipe = read_recipe(Path(__file__).parents[3] / "recipes/multi30k-en-de.toml")
    config = find_task("translate").compose(recipe.settings, find_task("translate").typical, recipe.preset)
    assert (config.train.tokenize, config.train.case) == ("none", "lower")
