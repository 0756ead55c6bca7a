"""The table and figure of the language models: what is shown is what was measured, and can be told apart."""

import importlib
import math
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def table(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("language_table")


def row(model, **more):
    measured = {"test_perplexity": 50.0, "bits_per_word": 5.6, "valid_loss": 5.0, "valid_perplexity": math.exp(5.0)}
    cost = {"parameters": 10, "counts": model.endswith("gram"), "tokens": 100, "seconds": 60.0}
    return {"model": model, "tokenization": "space of 9", **measured, **cost, **more}


def test_validation_is_measured_as_the_test_is(table):
    shown = table.write_table([row("gru"), row("transformer", valid_loss_overlapping=4.0)]).splitlines()
    assert [line.split(" | ")[3] for line in shown[2:4]] == [f"{math.exp(5):.2f}", f"{math.exp(4):.2f}"]
    assert shown[-1].startswith("Test and validation of the Transformer: windows that overlap by three quarters")
    assert "overlap" not in table.write_table([row("gru")])


def test_the_minutes_asked_for_win(table):
    assert [table.minutes_of(name, None) for name in ("lstm-large", "gru")] == [8.0, 5.0]
    assert [table.minutes_of(name, 7.3) for name in ("lstm-large", "gru")] == [7.3, 7.3]


def test_the_figure_has_the_models_of_the_table_each_in_its_color(table, tmp_path, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure")
    kept = []
    monkeypatch.setattr(figure.Figure, "savefig", lambda self, *_, **__: kept.append(self))
    curves = [
        {"model": name, "event": "valid", "seconds": 60.0 * step, "loss": 5.0 - step / 10}
        for name in table.MODELS
        if name != "bag" and not name.endswith("gram")  # those count
        for step in (1, 2)
    ]
    rows = [row(name) for name in table.MODELS if name != "lstm-1"]
    table.draw(rows, curves, tmp_path / "a.png")
    axes = kept[0].axes[0]
    lines, names = axes.lines, [text.get_text() for text in axes.texts]
    assert "lstm-1" not in names
    assert len(names) == len(set(names)) == len(lines)
    assert len({line.get_color() for line in lines}) == len(lines)
    dashed = [name for name, line in zip(names, lines, strict=True) if line.get_linestyle() == "--"]
    assert dashed == ["2-gram", "5-gram"]
