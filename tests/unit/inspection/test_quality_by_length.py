"""The figure of quality by length: nothing overlaps, nothing is cut off, and it says what it shows."""

import io
from itertools import combinations, pairwise

import pytest
from matplotlib.text import Text

from regard.errors import ArgumentError
from regard.inspection.drawing.quality_by_length import Curve, quality_by_length, spread


def make_curve(name, *values):
    return Curve(name=name, values=values, low=tuple(v - 2 for v in values), high=tuple(v + 2 for v in values))


CURVES = [
    make_curve("fixed", 30.0, 10.0, 4.0),
    make_curve("a", 50.0, 48.0, 41.0),
    make_curve("b $x$", 50.5, 48.5, 41.2),
]
BINS, SENTENCES = ["0–9", "10–19", "20+"], [120, 1200, 7]


def drawn(curves=CURVES, bins=BINS, sentences=SENTENCES, **more):
    figure = quality_by_length(curves, bins=bins, sentences=sentences, **more)
    figure.savefig(io.BytesIO(), format="png")
    return figure, figure.axes[0]


def test_it_shows_the_numbers_it_was_given():
    _, axes = drawn(title="a test set")
    lines = [line for line in axes.lines if len(line.get_xdata()) == 3]
    assert [list(line.get_ydata()) for line in lines] == [list(curve.values) for curve in CURVES]
    assert [text.get_text() for text in axes.get_xticklabels()] == [
        "0–9\nn = 120",
        "10–19\nn = 1,200",
        "20+\nn = 7 *",
    ]
    assert axes.get_ylim() == (0, 60)
    assert "fewer than 10 sentences" in axes.get_xlabel()
    assert axes.get_ylabel() == "BLEU, with 95 % confidence"
    assert axes.get_title() == "a test set"
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert [line.get_xdata()[0] for line in hollow] == [2, 2, 2]


def test_names_stand_beside_their_lines_apart_and_inside_the_figure():
    many = [make_curve(f"a model with the long name {n}", 50.0, 40.0, 30.0 + n / 10) for n in range(9)]
    figure, axes = drawn(many)
    boxes = [Text.get_window_extent(text) for text in axes.texts]  # without the lines that lead to them
    assert len(boxes) == 9
    assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]
    assert all(box.x1 <= figure.bbox.x1 and box.y0 >= 0 and box.y1 <= figure.bbox.y1 for box in boxes)
    assert len({(line.get_color(), line.get_linestyle()) for line in axes.lines if len(line.get_xdata()) == 3}) == 9


def test_a_single_bin_still_shows_its_confidence():
    _, axes = drawn([make_curve("one", 0.4)], ["10–19"], [50])
    assert axes.collections
    assert axes.get_ylim() == (0, 2.5)
    assert "fewer" not in axes.get_xlabel()


def test_spreading_keeps_the_order_and_the_middle():
    moved = spread([5.0, 5.2, 5.1, 40.0], apart=3.0)
    assert moved == pytest.approx([2.1, 8.1, 5.1, 40.0])
    assert all(second - first >= 3 - 1e-9 for first, second in pairwise(sorted(moved)))


@pytest.mark.parametrize(
    ("curves", "bins", "sentences", "message"),
    [
        ([], BINS, SENTENCES, "received 0 curves, 3 bins and 3 counts"),
        (CURVES, BINS, [1, 2], "received 3 curves, 3 bins and 2 counts"),
        ([make_curve("x", 1.0)], BINS, SENTENCES, "for each of the 3 bins; received 1, 1 and 1 for x"),
    ],
)
def test_mistakes(curves, bins, sentences, message):
    with pytest.raises(ArgumentError, match=message):
        quality_by_length(curves, bins=bins, sentences=sentences)
