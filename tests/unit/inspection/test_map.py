"""Maps: the numbers of one example, with their words, to be shown and taken away."""

import json
import math

import pytest
import torch

from regard import Causal
from regard.errors import ArgumentError
from regard.inspection import Call, Map, weights_of


def call() -> Call:
    mask = Causal().dense((2, 2, 3, 3)).expand(2, 2, 3, 3)
    weights = torch.randn(2, 2, 3, 3).masked_fill(~mask, -torch.inf).softmax(-1)
    made = Call(layer="a.b", step=0, scores=weights, weights=weights, value_norms=weights[..., 0, :], mask=mask)
    made.label(query=[["x", "y", "z"], ["w"]], key=[["x", "y", "z"], ["w"]])
    return made


def test_takes_one_head_or_the_mean_of_one_example() -> None:
    one = call()
    map = weights_of(one, head=1)
    assert torch.equal(map.values, one.weights[0, 1])
    assert map.labels == (("x", "y", "z"), ("x", "y", "z"))
    assert map.name == "a.b, head 1"
    assert map.mask is not None
    assert torch.equal(map.mask, torch.ones(3, 3).tril().bool())
    assert map.caveat == "Weights say what a layer attended to, not what mattered."
    mean = weights_of(one, example=1)
    assert torch.equal(mean.values, one.weights[1].mean(0)[:1, :1])
    assert mean.name == "a.b, mean of 2 heads"
    assert mean.caveat.endswith("A mean over heads can hide what each does.")
    assert repr(mean) == "Map('a.b, mean of 2 heads': 1 query × 1 key)"
    with pytest.raises(ArgumentError, match="`head` must be from 0 to 1; received 2"):
        weights_of(one, head=2)
    with pytest.raises(ArgumentError, match="`example` must be from 0 to 1; received 5"):
        weights_of(one, example=5)


def test_labels_must_fit() -> None:
    with pytest.raises(
        ArgumentError, match=r"`labels` must name the positions of \('key',\) = \(2,\); received \(1,\)"
    ):
        Map(name="x", values=torch.ones(2), axes=("key",), labels=(("a",),), caveat="")


def test_gives_exact_numbers_as_json_and_csv() -> None:
    one = call()
    map = weights_of(one, head=0)
    read = json.loads(json.dumps(map.to_json(), allow_nan=False))
    assert torch.equal(torch.tensor(read["values"]), map.values)
    assert read["mask"][0] == [True, False, False]
    rows = [line.split(",") for line in map.to_csv().splitlines()]
    assert rows[0] == ["query", "x", "y", "z"]
    assert rows[1][2:] == ["", ""]
    assert torch.equal(torch.tensor([float(cell) for cell in rows[3][1:]]), map.values[2])
    assert (map.to_numpy() == map.values.numpy()).all()


def test_one_axis_quotes_and_what_is_no_number() -> None:
    values = torch.tensor([0.5, math.nan])
    map = Map(name="m, n", values=values, axes=("query",), labels=(('say "a"', "b\n"),), caveat="")
    assert map.to_csv() == 'query,"m, n"\n"say ""a""",0.5\n"b\n",\n'
    assert json.loads(json.dumps(map.to_json(), allow_nan=False))["values"] == [0.5, None]


def test_draws_itself() -> None:
    one = call()
    map = weights_of(one, head=0)
    picture = map.figure()
    assert picture.maps[0].labels == map.labels
    assert picture.caveat == map.caveat
    assert "what a layer attended to" in map._repr_html_()
    assert map._repr_png_().startswith(b"\x89PNG")
    single = Map(name="m", values=torch.tensor([0.5]), axes=("key",), labels=(("a",),), caveat="Not all.")
    assert single.figure().maps[0].axes == ("key",)
