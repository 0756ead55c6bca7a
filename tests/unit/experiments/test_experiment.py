"""What all experiments share: running from a seed, writing, training, drawing."""

import csv
import json
from itertools import pairwise

import pytest
import torch
from matplotlib.text import Text
from torch import nn

from regard.errors import ArgumentError, DataError
from regard.experiments import EXPERIMENTS, Experiment, Result, Settings, find, write
from regard.experiments.drawing import draw_bars, draw_lines
from regard.experiments.experiment import columns, fit
from regard.inspection.drawing.panels import panels


def result() -> Result:
    figure, [axes] = panels()
    draw_bars(axes, ["one", "two"], [1.0, 2.0], xlabel="count")
    rows = [{"layer": "rnn", "number": torch.rand(()).item()}, {"layer": "attention", "note": "é, b"}]
    return Result(tables={"first": rows, "second": [{"a": 1}]}, figure=figure, reading=("One.", "Two.", "Three."))


def test_names_are_told_apart_and_explained():
    names = [one.name for one in EXPERIMENTS]
    assert len(set(names)) == len(names) == 17
    assert all(one.shows and one.idea and len(one.shows) < 120 for one in EXPERIMENTS)
    assert find("scaling").name == "scaling"


def test_an_unknown_name_is_an_error():
    with pytest.raises(ArgumentError) as caught:
        find("scalign")
    assert str(caught.value) == (
        "`name` must be an experiment; received scalign. Did you mean scaling? `regard experiment --list` shows them."
    )


def test_a_run_starts_from_its_seed_and_leaves_the_callers_numbers_alone():
    experiment = Experiment(name="x", shows="x", idea="x", measure=lambda settings: result())
    before = torch.get_rng_state()
    first, again, other = (experiment.run(Settings(seed=seed)).tables["first"][0]["number"] for seed in (3, 3, 4))
    assert first == again != other
    assert torch.equal(torch.get_rng_state(), before)


def test_what_is_written_can_be_read_back(tmp_path):
    found = result()
    paths = write(found, tmp_path / "deep" / "x")
    assert [path.name for path in paths] == ["table.csv", "table_2.csv", "table.json", "figure.png", "figure.svg"]
    with paths[0].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[1] == {"layer": "attention", "number": "", "note": "é, b"}
    assert json.loads(paths[2].read_text(encoding="utf-8"))["reading"] == ["One.", "Two.", "Three."]
    assert paths[3].read_bytes().startswith(b"\x89PNG")
    svg = paths[4].read_bytes()
    write(found, tmp_path / "deep" / "x")
    assert paths[4].read_bytes() == svg


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"`--out` must be a folder that can be written; .*file.x: Not a directory\."):
        write(result(), tmp_path / "file" / "x")


def test_columns_come_in_the_order_of_their_first_row():
    assert columns([{"b": 1, "a": 2}, {"c": 3, "a": 4}]) == ["b", "a", "c"]


def test_fitting_lowers_the_loss_and_tells_how_far_it_is():
    model, told = nn.Linear(2, 1), []
    losses = fit(model, lambda: model(torch.ones(1, 2)).square().sum(), steps=50, learning_rate=0.05, watch=told.append)
    assert losses[-1] < 0.1 * losses[0] + 1e-3
    assert told == sorted(told)
    assert len(losses) == 50
    assert not model.training
    with pytest.raises(ArgumentError, match="`steps` must be at least 1; received 0"):
        fit(model, lambda: model(torch.ones(1, 2)).sum(), steps=0)


def test_names_of_lines_do_not_overlap():
    figure, [axes] = panels()
    lines = [("first", [1, 2], [1.0, 2.0]), ("second", [1, 2], [1.0, 2.0]), ("third", [1, 2], [9.0, 2.01])]
    draw_lines(axes, lines, xlabel="x", ylabel="y")
    figure.canvas.draw()
    boxes = sorted((Text.get_window_extent(text) for text in axes.texts), key=lambda box: box.y0)
    assert len(boxes) == 3
    assert all(below.y1 <= above.y0 + 1 for below, above in pairwise(boxes))
