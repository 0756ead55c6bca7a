"""Experiments on a text of the user's: models trained once, some at a time, and what is read off them."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from regard.config.read import merge, parse_assignments
from regard.errors import ArgumentError, DataError, TrainingError
from regard.experiments import Settings, find, length_curves, luong_table
from regard.experiments.text_models import Model, TextRuns, bahdanau, train_models
from regard.experiments.text_worker import Measured
from regard.tasks.recipe import OnText, read_recipe
from unit.tasks.word_pairs import make_pairs, write_pairs

SMALL = {"train": {"steps": 3, "validate_every": 3, "valid_sentences": 4, "batch_tokens": 400, "threads": 1}}


@pytest.fixture
def text(tmp_path):
    folder = tmp_path / "data"
    files = write_pairs(folder, make_pairs(80))
    held = write_pairs(folder, make_pairs(12, seed=1), "test")
    valid = write_pairs(folder, make_pairs(12, seed=2), "valid")
    sides = {"test_source": held["source"], "test_target": held["target"]}
    sides |= {"valid_source": valid["source"], "valid_target": valid["target"]}
    pairs = list(make_pairs(12, seed=1))
    links = [" ".join(f"{n}-{n}" for n in range(len(pair.source.split()))) for pair in pairs]
    (folder / "gold").write_text("".join(f"{line}\n" for line in links))
    gold = {"gold_source": held["source"], "gold_target": held["target"], "gold_links": str(folder / "gold")}
    tokenizer = {"kind": "word", "joint": False, "vocabulary_size": 10}
    settings = {"data": {**files, **sides}, "tokenizer": tokenizer, **SMALL}
    return TextRuns(folder=tmp_path / "out", settings=settings, on_text=OnText(size=8, pairs=60, beam=2, **gold))


def models(*names):
    return [Model(name=name, preset=name, settings=bahdanau(8)) for name in names]


def stamp(text):
    return {path: path.stat().st_mtime_ns for path in sorted(text.folder.glob("*/*/model/model.safetensors"))}


def test_models_are_trained_measured_and_not_trained_again(text):
    told = []
    found = train_models(
        models("bahdanau", "fixed"), text, seed=0, watch=lambda share, doing: told.append((share, doing))
    )
    assert set(found) == {"bahdanau", "fixed"}
    assert found["bahdanau"].error is not None
    assert found["fixed"].error is None  # it attends to nothing
    assert (found["bahdanau"].steps, found["bahdanau"].signature[:22]) == (3, "nrefs:1|case:lc|eff:no")
    assert sum(found["fixed"].sentences.values()) == 12
    assert found["bahdanau"].parameters > found["fixed"].parameters
    assert (text.folder / "data/train-60.source").read_text().count("\n") == 60
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert {doing for _, doing in told} == {"training bahdanau", "training fixed"}
    before = stamp(text)
    assert len(before) == 2
    again = train_models(models("bahdanau", "fixed"), text, seed=0, watch=lambda share, doing: None)
    assert again == found
    assert stamp(text) == before
    fewer = train_models(
        models("fixed"), replace(text, on_text=replace(text.on_text, tested=5)), seed=0, watch=lambda share, doing: None
    )
    assert sum(fewer["fixed"].sentences.values()) == 5  # measured again, by the same model
    assert stamp(text) == before


@pytest.mark.slow
def test_several_at_a_time_give_what_one_after_the_other_does(text, tmp_path):
    one = train_models(models("bahdanau", "dot"), text, seed=0, watch=lambda share, doing: None)
    several = replace(text, folder=tmp_path / "several", jobs=2)
    two = train_models(models("bahdanau", "dot"), several, seed=0, watch=lambda share, doing: None)
    assert {name: replace(item, seconds=0.0) for name, item in two.items()} == {
        name: replace(item, seconds=0.0) for name, item in one.items()
    }


@pytest.mark.slow
def test_a_process_that_fails_is_named_with_what_it_wrote(text):
    bad = [Model(name=name, preset="bahdanau", settings={"model": {"hidden_size": -1}}) for name in ("bad", "worse")]
    said = (
        r"bad must be trained .* ended with 1: .*`hidden_size` must be at least 1.* worse failed too\. The same command"
    )
    with pytest.raises(TrainingError, match=said):
        train_models([bad[0], *models("fixed"), bad[1]], replace(text, jobs=3), seed=0, watch=lambda share, doing: None)
    assert [path.name for path in (text.folder / "measured").iterdir()] == ["fixed.json"]  # the others finish


@pytest.mark.parametrize("pairs", [0, 60])
def test_settings_of_the_command_line_have_the_types_of_their_keys(text, pairs):
    below = parse_assignments(["data.clean.max_words=9", "train.steps=2"])
    chosen = replace(text, settings=merge(text.settings, below), on_text=replace(text.on_text, pairs=pairs))
    train_models(models("fixed"), chosen, seed=0, watch=lambda share, doing: None)
    request = json.loads((text.folder / "requests/fixed.json").read_text())["settings"]
    assert (request["data"]["clean"]["max_words"], request["train"]["steps"]) == (9, 2)
    assert request["data"]["source"].endswith("train-60.source" if pairs else "a.source")


def test_what_cannot_be_measured_is_refused(text):
    with pytest.raises(ArgumentError, match="`jobs` must be at least 1; received 0"):
        train_models(models("fixed"), replace(text, jobs=0), seed=0, watch=lambda share, doing: None)
    data = {name: value for name, value in text.settings["data"].items() if not name.startswith("test")}
    with pytest.raises(ArgumentError, match=r"data.test_source: must name the test pairs of an experiment"):
        train_models(models("fixed"), replace(text, settings={"data": data}), seed=0, watch=lambda share, doing: None)
    with pytest.raises(ArgumentError, match="`gold_source`, `gold_target` and `gold_links` must be given together"):
        OnText(gold_source="a")


def test_a_recipe_names_gold_links_that_must_be_there(text, tmp_path):
    path = tmp_path / "r.toml"
    path.write_text(
        '[recipe]\nfiles = "At example.org."\n[experiment]\ngold_source = "x"\ngold_target = "y"\ngold_links = "z"\n'
    )
    recipe = read_recipe(path)
    with pytest.raises(
        DataError, match=r"experiment.gold_source: must be a file that r.toml reads, .* At example.org\."
    ):
        train_models(
            models("fixed"), replace(text, recipe=recipe, on_text=recipe.on_text), seed=0, watch=lambda *told: None
        )


def measured(bleu, *, lengths=(30.0, 20.0), error=0.3, replaced=0.5, **others):
    bins = dict(zip(["0–9", "50+"], lengths, strict=True))
    return Measured(
        bleu=bleu,
        replaced=bleu + replaced,
        perplexity=9.0,
        by_length=bins,
        sentences=dict.fromkeys(bins, 40),
        error=error,
        **others,
    )


def test_the_figure_is_read_whichever_way_it_falls():
    scores = dict(zip(length_curves.RANKED, (26.8, 21.5, 17.8, 13.9), strict=True))
    found = {name: measured(bleu, lengths=(30, 28 if "attention" in name else 5)) for name, bleu in scores.items()}
    found["transformer-50"] = measured(28.0, lengths=(31, 30))
    first, second, third = length_curves._read(found)
    assert first.endswith(
        "goes from 30.0 to 5.0 BLEU and attention from 30.0 to 28.0: that the fixed vector loses the "
        "larger share, as in the paper, holds here."
    )
    assert second.endswith("the paper's, attention-50, attention-30, fixed-50, fixed-30, holds.")
    assert third.endswith("it is ahead in so short a training.")
    worse = found | {"attention-30": measured(10.0, lengths=(30, 1)), "attention-50": measured(27.0, lengths=(30, 1))}
    first, second, _ = length_curves._read(worse)
    assert first.endswith("as in the paper, does not hold here.")
    assert second.endswith("does not hold for attention-30 over fixed-50.")
    assert sorted(length_curves.KINDS) == sorted(item.name for item in length_curves.models(8))


def test_the_table_is_read_whichever_way_it_falls():
    names = [item.name for item in luong_table.models(8)]
    found = {name: measured(luong_table.PAPER.get(name, 15.0)) for name in names}
    found["local-p"] = replace(found["local-p"], error=0.2, perplexity=5.9)
    first, second, third = luong_table._read(found)
    assert "; 9 of the paper's 9 orders hold." in first
    assert "that it helps every model, as in the paper, holds here" in second
    assert "The lowest perplexity is that of local-p, 5.90" in third
    assert "aligns better, as in the paper, holds here." in third
    other = found | {"general": measured(30.0, replaced=-0.1), "local-p": measured(19.0, error=None)}
    other |= {"local-m": measured(18.6, error=0.9)}
    first, second, third = luong_table._read(other)
    wrong = ", ".join(f"{name} over general" for name in ("location", "dot", "local-m", "local-p"))
    assert f"5 of the paper's 9 orders hold, not {wrong}." in first
    assert "by -0.10 (general) to +0.50" in second
    assert "does not hold here" in second
    assert third.endswith("that local attention aligns better, as in the paper, does not hold here.")
    early = luong_table._read({name: measured(0.01) for name in names})[0]
    assert early.endswith(", which means nothing yet, since no model reaches 2 BLEU.")
    assert "alignments are not measured" in luong_table._read({name: measured(1.0, error=None) for name in names})[2]


def test_every_order_of_the_papers_is_of_a_model_that_is_trained():
    assert set(luong_table.PAPER) < {item.name for item in luong_table.models(8)}
    assert all(one in length_curves.KINDS for pair in pairwise(length_curves.RANKED) for one in pair)


@pytest.mark.slow
def test_the_experiments_run_on_a_text(text):
    curves = find("four-curves").run(Settings(text=replace(text, folder=text.folder / "curves")))
    assert [row["model"] for row in next(iter(curves.tables.values()))].count("attention") == 2
    table = find("luong-table").run(Settings(text=replace(text, folder=text.folder / "table")))
    assert len(next(iter(table.tables.values()))) == 8
    assert json.loads(Path(text.folder / "table/measured/dot.json").read_text())["figures"]["steps"] == 3
