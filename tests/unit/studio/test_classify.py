"""What Classify answers: the classifier's own numbers, three ways."""

import pytest
import torch

from regard.inspection.trace.intervene import intervene
from regard.studio.models import Models
from regard.studio.views.classify import MAX_MAPPED, MAX_REMOVED
from unit.studio.seers import REVIEW, make_english, opened
from unit.studio.visiting import ask, refused, unpacked, visitor

HOSTILE = "<img src=x onerror=alert(1)> \u202eabc\u0007 good"


@pytest.fixture(scope="module")
def things():
    return make_english()


@pytest.fixture
def client(things):
    return visitor(opened(things))


@pytest.mark.parametrize("name", ["transformer", "structured", "attending", "last", "average"])
def test_shares_are_the_classifiers(client, things, name):
    told = ask(client, "classify/read", model=name, text=REVIEW)
    for by in ("model", "gradient", "removal"):
        [found] = things[name].classify([REVIEW], by=by)
        assert told["shares"][by] == list(found.weights)
        assert sum(told["shares"][by]) == pytest.approx(1.0)
    assert told["words"] == list(found.words) == ["A", "good", "book", ",", "though", "too", "long", "."]
    assert told["label"] == found.label
    assert {one["name"]: one["probability"] for one in told["probabilities"]} == found.probabilities
    assert told["weighs"] == (name != "last")
    assert (told["uniform"] is None) == (name == "last")


def test_uniform_looks_are_forced(client, things):
    told = ask(client, "classify/read", model="structured", text=REVIEW)
    model = things["structured"].model
    ids = torch.tensor([things["structured"].encode([REVIEW])[0].tolist()])
    with intervene(model, weights={"*": torch.full((1, 1, 1, 1), 1 / 8)}), torch.no_grad():
        chances = model(ids, torch.tensor([8])).logits[0].double().softmax(-1)
    assert told["uniform"] == pytest.approx(float(chances[["good", "<b>bad"].index(told["label"])]), abs=1e-6)


def test_the_same_with_another_seed_is_told(client, things):
    told = ask(client, "classify/read", model="attending", text=REVIEW)
    [found] = things["attending-2"].classify([REVIEW])
    assert told["others"] == [{"name": "attending-2", "label": found.label, "shares": list(found.weights)}]
    assert ask(client, "classify/read", model="structured", text=REVIEW)["others"] == []


@pytest.mark.parametrize(
    ("name", "layers"), [("transformer", 3), ("structured", 1), ("attending", 1), ("average", 1), ("last", 0)]
)
def test_maps_are_those_of_every_layer(client, things, name, layers):
    told = ask(client, "classify/maps", model=name, text=REVIEW)
    assert len(told["maps"]) == layers
    if not layers:
        assert told["skipped"] == "This model has no attention: there is no map of it."
        return
    calls = things[name].inspect(REVIEW).trace
    for one, call in zip(told["maps"], calls, strict=True):
        assert one["layer"] == call.layer
        assert torch.equal(unpacked(one["weights"]), call.weights[0])
        assert len(one["keys"]) == 8
    assert [one["map"] for one in told["maps"]] == ["text"] * (layers - 1) + ["pooling"]


def test_long_texts_are_cut_and_not_all_is_measured(client):
    text = "good book " * 1000
    told = ask(client, "classify/read", model="structured", text=text)
    assert told["cut"] == 1600
    assert len(told["words"]) == 400
    assert told["shares"]["removal"] is None
    assert told["skipped"] == f"Not measured for more than {MAX_REMOVED} words."
    maps = ask(client, "classify/maps", model="structured", text=text)
    assert maps == {"maps": [], "skipped": f"Not drawn for more than {MAX_MAPPED} tokens; these are 400."}


def test_hostile_texts_are_words_like_others(client):
    told = ask(client, "classify/read", model="structured", text=HOSTILE)
    assert "img" in told["words"]
    assert refused(client, "classify/read", model="structured", text=" \n ") == (
        "The model reads no token of this text. Type words of its language."
    )
    assert "reads no token" in refused(client, "classify/maps", model="structured", text="")
    assert refused(client, "classify/read", text="x" * 50_001) == "text: at most 50,000, of letters or entries."
    assert refused(client, "classify/read", model="spaced", text=REVIEW).startswith("`model` must be one that is open")
    assert refused(visitor(Models()), "classify/read", text=REVIEW).startswith("`model` must be a Classifier; received")
