"""The view Step by step: every stage the page is told is the model's own."""

import json
import re
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from regard.cli.inspect_page import record_view, usual_view
from regard.errors import ArgumentError
from regard.studio.models import Models
from regard.studio.pages import can_take_apart, record_steps
from regard.studio.single_file import watch_nothing
from regard.studio.views.steps import MAX_TOKENS, count_tokens
from unit.studio.readers import RECURRENTS, TEXT, make_readers
from unit.studio.visiting import ask, refused, unpacked, visitor

SCORES = {
    "additive": "Additive",
    "location": "Location",
    "general": "Bilinear",
    "concat": "Additive",
    "local": "Bilinear",
    "gaussian": "Gaussian",
    "dot": "Dot",
    "transformer": "ScaledDot",
    "language": "ScaledDot",
    "attending": "ScaledDot",
    "classifier": "Dot",
    "average": "Gaussian",
}


TARGET = "the book is blue"
TRANSLATORS = [*RECURRENTS, "transformer"]


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    return make_readers(tmp_path_factory.mktemp("readers"))


@pytest.fixture
def client(readers):
    return visitor(readers)


def reading(client, name):
    """Let a model read; a translator says a short sentence."""
    target = TARGET if name in TRANSLATORS else None
    return ask(client, "steps/read", model=name, text=TEXT, target=target)


def apart(client, name, read, *, query=0, layer=None, head=0):
    body = {"model": name, "text": TEXT, "target": read["target"], "layer": layer or read["layer"], "head": head}
    return ask(client, "steps/apart", **body, query=query)


def compared(told):
    """Compute the scores once more, as the page does, from what it is told."""
    score, query, keys = told["score"], unpacked(told["query"]).double(), unpacked(told["keys"]).double()
    match score["kind"]:
        case "Dot":
            return keys @ query
        case "ScaledDot":
            return keys @ query * score["scale"]
        case "Bilinear":
            return keys @ unpacked(score["projected_query"]).double()
        case "Additive":
            return torch.tanh(query + keys) @ unpacked(score["vector"]).double()
        case "Gaussian":
            return (keys - query).square().sum(-1) / (-2 * score["bandwidth"] ** 2)
        case "Location":
            return unpacked(score["columns"]).double() @ query
    raise AssertionError(score["kind"])


@pytest.mark.parametrize("name", SCORES)
def test_every_stage_is_the_models_own(client, readers, name):
    read = reading(client, name)
    thing = next(one.thing for one in readers.all() if one.name == name)
    seen = thing.inspect(TEXT) if read["target"] is None else thing.inspect(TEXT, target=read["target"])
    for layer in read["layers"]:
        call = seen.call(layer["name"])
        assert layer["heads"] == call.weights.size(1)
        head, query = layer["heads"] - 1, len(layer["queries"]) - 1
        told = apart(client, name, read, layer=layer["name"], head=head, query=query)
        weights = call.weights[0, head, query]
        assert told["key_labels"] == layer["keys"][: len(told["key_labels"])]
        count = len(told["key_labels"])
        torch.testing.assert_close(unpacked(told["weights"]), weights[:count], atol=1e-6, rtol=1e-5)
        assert not weights[count:].any()
        torch.testing.assert_close(compared(told), unpacked(told["compared"]).double(), atol=1e-5, rtol=1e-4)
        values = unpacked(told["values"])
        torch.testing.assert_close(unpacked(told["weights"]) @ values, unpacked(told["output"]), atol=1e-5, rtol=1e-4)
    assert told["score"]["kind"] == SCORES[name]


def test_words_name_queries_and_keys(client):
    read = reading(client, "additive")
    told = apart(client, "additive", read, query=1)
    assert read["generates"]
    assert told["query_label"] == read["layers"][-1]["queries"][1]
    assert told["key_labels"][-1] == "</s>"
    read = reading(client, "classifier")
    told = apart(client, "classifier", read, query=2)
    assert (read["generates"], read["target"], told["query_label"]) == (False, None, "query 2")
    told = apart(client, "language", reading(client, "language"), query=2)
    assert told["mask"] is None or len(told["key_labels"]) == len(unpacked(told["mask"]))
    masked = unpacked(told["weights"])[3:]
    assert len(masked) > 0
    assert not masked.any()


def test_a_translator_says_what_it_finds_or_what_it_is_told(client, readers):
    thing = next(one.thing for one in readers.all() if one.name == "additive")
    found = ask(client, "steps/read", model="additive", text=TEXT)
    assert found["target"] == thing.translate([TEXT])[0]
    assert found["layers"][0]["queries"][-1] == "</s>"
    told = reading(client, "transformer")
    assert told["target"] == TARGET
    crossing = next(one for one in told["layers"] if "cross" in one["name"])
    assert crossing["queries"][-1] == "</s>"
    assert crossing["queries"][:-1] == ["the", "book", "is", "⟨blue⟩"]


def test_a_window_shows_what_it_multiplies_by(client):
    told = apart(client, "local", reading(client, "local"))
    assert told["position"] == "GaussianWindow"
    product = unpacked(told["normalized"]) * unpacked(told["factors"])
    torch.testing.assert_close(product, unpacked(told["weights"]))


@pytest.mark.parametrize("name", ["additive", "local", "transformer", "classifier", "language"])
def test_the_code_gives_the_numbers_shown(client, readers, name, monkeypatch):
    thing = next(one.thing for one in readers.all() if one.name == name)
    told = apart(client, name, reading(client, name), query=1)
    names: dict[str, object] = {}
    monkeypatch.setattr("regard.load", lambda folder: {name: thing}[Path(folder).name])
    for part in ("find", "again"):
        *lines, last = told["code"][part].rstrip("\n").split("\n")
        exec("\n".join(lines), names)
        names["given"] = eval(last, names)
        if part == "find":
            scores, weights, context = names["given"]
            first = len(weights) - len(told["key_labels"])
            assert torch.equal(weights[first:], unpacked(told["weights"]))
            assert torch.equal(scores[first:], unpacked(told["scores"]))
            assert torch.equal(context, unpacked(told["context"]))
    assert max(float(one) for one in names["given"]) < 1e-6


def test_bad_input_is_told_in_a_sentence(client):
    assert refused(client, "steps/read", text=" ") == "Type a text first."
    long = refused(client, "steps/read", model="additive", text="el " * 300)
    assert long == f"`text` must have at most {MAX_TOKENS} tokens to be taken apart; received 300. Shorten it."
    long = refused(client, "steps/read", model="additive", text="el", target="the " * 300)
    assert long == f"`target` must have at most {MAX_TOKENS} tokens to be taken apart; received 300. Shorten it."
    unknown = refused(client, "steps/read", model="aditive", text="el")
    assert unknown.startswith('`model` must be one that reads text; received "aditive". Did you mean additive?')
    body = {"model": "additive", "text": "el", "target": "the"}
    assert "decoder.attention" in refused(client, "steps/apart", **body, layer="decoder.atention")
    assert re.match(
        r"`query` must be from 0 to \d; received 99\.", refused(client, "steps/apart", **body, layer="*", query=99)
    )
    assert refused(client, "steps/apart", **body, layer="*", head=-1) == "`head` must be from 0 to 0; received -1."
    assert refused(client, "steps/read", text="a" * 50_001) == "text: at most 50,000, of letters or entries."
    none = visitor(Models())
    assert refused(none, "steps/read", text="el") == (
        "`model` must be one that reads text; received none: no such model is open. Start the studio with one: "
        "regard studio FOLDER."
    )


def test_every_recurrent_preset_is_here():
    assert set(RECURRENTS) <= set(SCORES)


def test_a_recording_holds_what_the_view_asks(readers, monkeypatch):
    thing = next(one.thing for one in readers.all() if one.name == "transformer")
    found = record_steps(thing, TEXT, target=TARGET)
    read = found.answers[0]
    looks = [one for one in found.answers if one.verb == "steps/apart"]
    assert sorted({one.body["head"] for one in found.answers if one.verb == "steps/maps"}) == [0, 1]
    assert (read.verb, found.view, read.answer["target"]) == ("steps/read", "steps", TARGET)
    layer = next(one for one in read.answer["layers"] if one["name"] == read.answer["layer"])
    places = [(one.body["head"], one.body["query"]) for one in looks]
    assert sorted(places) == [(head, query) for head in range(2) for query in range(len(layer["queries"]))]
    monkeypatch.setattr(import_module("regard.studio.views.keep"), "MAX_QUESTIONS", 3)
    assert len(record_steps(thing, TEXT, target=TARGET).answers) == 6  # three that are shown, three more


def test_each_side_is_counted_in_its_own_tokens(readers):
    thing = readers.find("additive", object).thing
    sides = thing.tokenizers
    monkey = SimpleNamespace(source=SimpleNamespace(encode=list), target=SimpleNamespace(encode=str.split))
    thing.tokenizers = monkey
    try:
        assert count_tokens(thing, "one two", side="text") == 7
        assert count_tokens(thing, "one two", side="target") == 2
    finally:
        thing.tokenizers = sides


def test_there_is_a_page_where_a_model_attends(readers):
    things = {one.name: one.thing for one in readers.all()}
    assert can_take_apart(things["language"], TEXT)
    assert can_take_apart(things["classifier"], TEXT)
    assert not can_take_apart(things["language"], " ")
    assert not can_take_apart(things["language"], "E" * (MAX_TOKENS + 1))
    assert not can_take_apart(things["language"], TEXT, "E" * (MAX_TOKENS + 1))


@pytest.mark.parametrize(("name", "view"), [("language", None), ("classifier", "steps")])
def test_inspecting_makes_this_page(readers, name, view):
    thing = next(one.thing for one in readers.all() if one.name == name)
    recorded = record_view(view or usual_view(thing, TEXT, None), thing, TEXT, watch=watch_nothing)
    assert {one.verb for one in recorded.answers} >= {"steps/read", "steps/apart", "steps/maps"}
    assert usual_view(thing, TEXT, None) == ("steps" if name == "language" else "classify")


def test_a_file_holds_looks_as_far_as_there_is_room(readers, monkeypatch):
    thing = next(one.thing for one in readers.all() if one.name == "classifier")
    whole = record_steps(thing, TEXT)
    more = len(whole.answers) - 3  # beside the text, the first query and its maps
    assert (more > 1, whole.left_out) == (True, 0)
    with monkeypatch.context() as small:
        small.setattr(import_module("regard.studio.views.keep"), "MAX_QUESTIONS", 1)
        cut = record_steps(thing, TEXT)
    assert (len(cut.answers), cut.left_out) == (4, more - 1)
    shown = sum(len(json.dumps(one.answer)) for one in whole.answers[:3])
    monkeypatch.setattr(import_module("regard.studio.views.keep"), "MAX_BYTES", shown)
    cut = record_steps(thing, TEXT)
    assert (len(cut.answers), cut.left_out) == (4, more - 1)


def test_a_text_too_long_for_the_studio_is_refused(readers):
    thing = next(one.thing for one in readers.all() if one.name == "language")
    for given in ({"text": "a" * 50_001}, {"text": TEXT, "target": "a" * 50_001}):
        name = list(given)[-1]
        with pytest.raises(ArgumentError, match=rf"`{name}` must have at most 50,000 letters; received 50,001\. Short"):
            record_steps(thing, **given)
