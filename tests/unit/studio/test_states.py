"""Hidden states for the page: those of the text first, the nearest are the nearest, and what has none says so."""

import pytest
import torch

from regard.inspection.readings.states import record_states
from regard.studio.views import states
from regard.studio.views.states import _read, write_states
from unit.studio.readers import make_readers
from unit.studio.seers import make_english, opened
from unit.studio.visiting import ask, visitor


@pytest.fixture(scope="module")
def english():
    return make_english()


@pytest.mark.parametrize("name", ["transformer", "attending", "structured"])
def test_classifiers(english, name, monkeypatch):
    monkeypatch.setattr(states, "OTHERS", 12)
    text = "A good book, though too long."
    answer = ask(visitor(opened({"one": english[name]})), "states/near", model="one", text=text)
    count = len(answer["nearest"])
    own = [point for point in answer["points"] if point["text"] == 0]
    assert answer["points"][:count] == own
    assert answer["texts"][0] == text
    assert len(set(answer["texts"])) == len(answer["texts"]) > 1
    assert all(item["point"] >= count for row in answer["nearest"] for item in row)
    assert answer["layer"] == len(answer["layers"]) - 1


def test_the_nearest_have_the_largest_cosine(english):
    thing = english["transformer"]
    models = opened({"one": thing})
    answer = ask(visitor(models), "states/near", model="one", text="A good book.", layer=1)
    rows = []
    for text in answer["texts"]:
        read = _read(thing, text)
        rows.append(list(record_states(thing.model, read.run, length=len(read.tokens)).values())[1])
    every = torch.cat(rows)
    own = len(answer["nearest"])
    cosines = torch.cosine_similarity(every[0], every[own:], dim=-1)
    best = answer["nearest"][0][0]
    assert best["cosine"] == pytest.approx(float(cosines.max()), abs=1e-5)
    assert float(cosines[best["point"] - own]) == pytest.approx(best["cosine"], abs=1e-5)


def test_translators(client):
    answer = ask(client, "states/near", model="recurrent", text="El libro está")
    assert answer["skipped"] == "" or "No other text" in answer["skipped"]


def test_language_models(tmp_path):
    models = make_readers(tmp_path)
    client = visitor(models)
    for item in models.all("language"):
        answer = ask(client, "states/near", model=item.name, text="the cat sat")
        assert answer["skipped"] or len(answer["nearest"]) > 0


def test_a_long_text_is_not_shown(english):
    models = opened({"one": english["attending"]})
    one = models.all()[0]
    answer = write_states(one.thing, one, states.StatesRequest(text="good " * 200))
    assert answer.skipped == "Not shown for more than 128 tokens; these are 200."
