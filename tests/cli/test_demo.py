"""The demonstration, at a size at which nothing is learned: every part runs, and the page shows what was measured."""

import json
from dataclasses import replace

import pytest

from regard.cli.demo import demo as run
from regard.data.corpora.pair import Pair
from regard.errors import ArgumentError
from regard.tasks import demo
from regard.tasks.demo import FAST, FULL, SYSTEMS, draw_pairs, training_command

SMALL = replace(
    FAST,
    pairs=((60, 7), (60, 14)),
    each=4,
    settings=dict.fromkeys(
        SYSTEMS, ("model.hidden_size=16", "model.embedding_size=16", "train.steps=10", "train.batch_tokens=512")
    ),
)


@pytest.mark.slow
def test_from_sentences_to_a_report(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "FAST", SMALL)
    run(out=tmp_path, fast=True)
    told = capsys.readouterr().out
    for expected in (
        "Yo soy de Canada\n    read: Canada as Canadá",
        "¿Me puedes traer un tenedor?",
        "IBM Model 1",
        "diagonal",
        "11+",
    ):
        assert expected in told
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count('<table class="weights">') == 5
    assert "<svg" in page
    assert "<script" not in page
    for system in SYSTEMS:
        figures = json.loads((tmp_path / system / "model" / "figures.json").read_text())
        assert figures["steps"] == 10
    run(out=tmp_path, fast=True)  # finished runs are not trained again
    assert _results(capsys.readouterr().out) == _results(told)


def _results(text: str) -> str:
    return text[: text.index("Done in")]


def test_pairs_have_all_lengths_and_training_sees_no_test_pair():
    data = draw_pairs(SMALL)
    assert {pair.source for pair in data.train}.isdisjoint(pair.source for pair in [*data.valid, *data.test])
    assert len(data.test) == SMALL.each * (len(SMALL.edges) + 1)
    assert all(isinstance(pair, Pair) and pair.links for pair in data.test)


@pytest.mark.parametrize("plan", [FULL, FAST], ids=["full", "fast"])
def test_the_command_is_one_that_a_user_could_type(plan, tmp_path):
    command = training_command("bahdanau", plan, tmp_path)
    assert command[1:5] == ["-m", "regard", "train", "--preset"]
    assert "model.dropout=0" in command


def test_a_file_in_the_way_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match=r"`--out` must be a folder; received the file .*file\."):
        run(out=tmp_path / "file", fast=False)
